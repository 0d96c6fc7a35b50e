#!/usr/bin/env python3
"""Makes one worker of real runs slow in known ways and holds the report's culprits and causes against the truth.

Needs root, two cores that nobody else uses, cgroups of version 1, and for the link kinds network namespaces and TUN
devices; kinds that the machine refuses are named and left out. A kind that fails is named too, and the others go on.
Exits 1 where the bars are missed or a kind failed, 77 (skipped) where nothing could be tried.
"""

import argparse
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

import results_section
from inject import experiment, kinds, machine, verdict

SKIPPED = 77


def try_kind(options, scratch, failed, kind, blocks, injected, clean):
    """The tally of one run, or None where the machine does not allow it or it fails, which is noted in `failed`."""
    try:
        one = experiment.Experiment(options.binaries, scratch, kind, blocks, injected, clean, kinds.STEPS)
        labels = one.run()
        report = one.report()
    except machine.Missing as missing:
        print("left out: %s: %s" % (kind.name, missing), flush=True)
        return None
    except (OSError, RuntimeError, subprocess.SubprocessError) as error:
        print("failed: %s: %s" % (kind.name, error), flush=True)
        failed.append(kind.name)
        return None
    if not any(entry.get("path") for entry in report["rounds"]):
        print("left out: %s: the report names no causes" % kind.name, flush=True)
        return None
    tally = verdict.Tally(kind.name, kind.cause)
    tally.add(report, labels, experiment.VICTIM)
    print("%s: %s" % (kind.name, verdict.summary([tally])), flush=True)
    if options.verbose:
        print("\n".join("  " + line for line in experiment.lines_of(report, experiment.VICTIM)), flush=True)
    return tally


def plan(options):
    """(kind, blocks, injected, clean) of each run."""
    if options.quick:
        return [(kinds.Quota, 1, 3, 3)]
    chosen = [kind for kind in kinds.INJECTED if options.only is None or options.only in kind.name]
    runs = [(kind, options.blocks, 6, 4) for kind in chosen]
    return runs + ([(kinds.Clean, 1, 0, options.clean)] if options.only is None else [])


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--binaries", type=lambda path: pathlib.Path(path).resolve(), default="build/release/bin")
    parser.add_argument("--blocks", type=int, default=5, help="of 6 injected rounds and 4 others, a kind")
    parser.add_argument("--clean", type=int, default=100, help="rounds of the run without injection")
    parser.add_argument("--only", help="words of a kind's name")
    parser.add_argument("--quick", action="store_true", help="one short run, for the tests")
    parser.add_argument("--verbose", action="store_true", help="the victim's cause of each round")
    parser.add_argument("--keep", action="store_true", help="leave the runs' directories")
    parser.add_argument("--write", help="the page whose section is replaced")
    options = parser.parse_args()
    if os.geteuid() != 0:
        print("skipped: it needs root")
        return SKIPPED
    scratch = pathlib.Path(tempfile.mkdtemp(prefix="interlude-inject-"))
    failed = []
    try:
        tallies = [tally for run in plan(options) if (tally := try_kind(options, scratch, failed, *run)) is not None]
    finally:
        if options.keep:
            print("kept: %s" % scratch)
        else:
            shutil.rmtree(scratch, ignore_errors=True)
    if not tallies:
        return 1 if failed else SKIPPED
    text = verdict.table(tallies) + "\n\n" + verdict.summary(tallies) + "."
    if failed:
        text += " Not measured, for its run failed: %s." % ", ".join(failed)
    print("\n" + text)
    if options.write:
        results_section.replace(options.write, "causes", text)
    met = verdict.meets_the_bars(tallies) if not options.quick else verdict.mostly_right(tallies)
    return 0 if met and not failed else 1


if __name__ == "__main__":
    sys.exit(main())
