#!/usr/bin/env python3
"""Runs real coordinators and workers, breaks them on purpose, and prints what it cost.

Without --soak one kind of fault after the other: a row of the table says how often it was injected, how many
committed rounds were lost, how many runs ended with wrong bits, how long until the others went on and how long until
the victim was back. With --soak a few long runs that meet all kinds in an order drawn from a seed.
"""

import argparse
import pathlib
import shutil
import sys
import tempfile
import time

import results_section
from faults import matrix, soak


def table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    lines += ["| " + " | ".join(row.cells()) + " |" for row in rows]
    return "\n".join(lines)


def make(parts, only):
    """The rows of (name, function) pairs, each told when it is there."""
    rows = []
    for name, function in parts:
        if only and only not in name:
            continue
        begin = time.monotonic()
        rows.append(function())
        print("%s (%.0f s)" % (rows[-1].line(), time.monotonic() - begin), flush=True)
    return rows


def parse():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--binaries", type=lambda path: pathlib.Path(path).resolve(), default="build/release/bin")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--times", type=int, default=40, help="scale of the full matrix")
    parser.add_argument("--soak", action="store_true", help="long runs with all kinds of faults, drawn from the seed")
    parser.add_argument("--rounds", type=int, help="of each run of the soak (500; quick: 20)")
    parser.add_argument("--quick", action="store_true", help="a small form, for the tests")
    parser.add_argument("--only", help="a word in the row's name")
    parser.add_argument("--keep", action="store_true", help="keep the directories, also where all is well")
    parser.add_argument("--write", help="the page whose section is replaced")
    return parser.parse_args()


def main():
    options = parse()
    scratch = pathlib.Path(tempfile.mkdtemp(prefix="interlude-faults-"))
    kind = soak if options.soak else matrix
    rows = make(kind.rows(options, scratch), options.only)
    text = table(kind.HEAD, rows)
    print("\n%s\n\n%s; %d faults injected" % (text, kind.NOTE, sum(row.injected for row in rows)))
    if options.write:
        results_section.replace(options.write, "soak" if options.soak else "faults", text)
    good = all(row.good() for row in rows)
    if good and not options.keep:
        shutil.rmtree(scratch)
    else:
        print("seed %d; kept: %s" % (options.seed, scratch), file=sys.stderr)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
