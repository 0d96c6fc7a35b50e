#!/usr/bin/env python3
"""Measures how well the memory account explains what coordinator and workers really hold, and what they keep.

A run of the demo's model and one of a large synthetic model, each with two workers. At every sample of a process's
resident memory of at least 64 MiB (the kernel's VmRSS) the owners as last recorded are added up, without the row that
stands for the rest: what they leave unexplained, or explain twice, is the error. The bar is for the samples with which
owners were recorded; between two such looks memory moves on, which is shown apart. Exits 1 where the bar is missed.
"""

import argparse
import pathlib
import re
import sqlite3
import subprocess
import sys
import tempfile

import results_section

ROOT = pathlib.Path(__file__).resolve().parent.parent
BAR = 0.03
LEAST_BYTES = 64 << 20
THE_REST = "the rest"
HELD = re.compile(r"\[(coordinator|worker \d+)\] held after the run: ([\d.]+) MiB resident: (.*)")
MIB = 1 << 20


def runs(options):
    """(name, configuration, settings) of each run."""
    synthetic = {"model.synthetic_params": options.params, "model.synthetic_step_ms": 100, "round.rounds": 12,
                 "round.snapshot_every": 4}
    return [("ViT of the demo", "fashion_mnist.toml", {"round.rounds": 8}),
            ("synthetic, %d M parameters" % (options.params // 1_000_000), "synthetic.toml", synthetic)]


def run(program, config, settings, directory):
    """What each process said in its log that it held after the run."""
    chosen = [word for pair in settings.items() for word in ("--set", "%s=%s" % pair)]
    subprocess.run([program, "run", "--workers", "2", "--config", ROOT / "examples" / config, *chosen, "--dir",
                    directory], check=True, stdout=sys.stderr)
    logs = "".join(path.read_text() for path in sorted((directory / "logs").iterdir()))
    return {name: (mib, owners) for name, mib, owners in HELD.findall(logs)}


class Memory:
    """Of one process: [(resident bytes, {owner: bytes}, whether owners were recorded with it)], a sample each."""

    def __init__(self, database, recorded_by):
        self.process = "coordinator" if recorded_by < 0 else "worker %d" % recorded_by
        records = {}
        for at_ns, owner, size in database.execute(
                "SELECT at_ns, owner, bytes FROM memory WHERE recorded_by = ? ORDER BY id", (recorded_by,)):
            records.setdefault(at_ns, {})[owner] = size
        self.samples, owners = [], {}
        for at_ns, rss in database.execute(
                "SELECT at_ns, rss_bytes FROM process_samples WHERE recorded_by = ? ORDER BY at_ns", (recorded_by,)):
            owners = {**owners, **records.get(at_ns, {})}
            self.samples.append((rss, owners, at_ns in records))

    def errors(self, looked):
        """What the owners do not explain, as shares of the resident memory, the least first."""
        return sorted(abs(rss - sum(size for owner, size in owners.items() if owner != THE_REST)) / rss
                      for rss, owners, with_owners in self.samples if rss >= LEAST_BYTES and with_owners == looked)

    def peak(self, count=4):
        """The most resident memory, in MiB, and who owned it then."""
        rss, owners, _ = max(self.samples, key=lambda sample: sample[0])
        largest = sorted(((size, owner) for owner, size in owners.items() if size >= MIB), reverse=True)[:count]
        return "%.0f" % (rss / MIB), ", ".join("%s %.0f" % (owner, size / MIB) for size, owner in largest)


def read_memory(directory):
    database = sqlite3.connect(directory / "run.db")
    processes = database.execute("SELECT DISTINCT recorded_by FROM process_samples ORDER BY recorded_by").fetchall()
    return [Memory(database, recorded_by) for recorded_by, in processes]


def percent(share):
    return "%.1f %%" % (100 * share)


def row(name, memory, held):
    found, between = memory.errors(True), memory.errors(False)
    mib, owners = held.get(memory.process, ("–", ""))
    kept = re.findall(r"(.*?) ([\d.]+)(?:, |$)", owners)[:2]
    return [name, memory.process, str(len(found)), *([percent(found[len(found) // 2]), percent(found[-1])] if found
                                                     else ["–", "–"]),
            percent(between[-1]) if between else "–", *memory.peak(), mib, ", ".join(map(" ".join, kept))]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--binaries", type=lambda path: pathlib.Path(path).resolve(), default="build/release/bin")
    parser.add_argument("--params", type=int, default=100_000_000, help="of the synthetic model")
    parser.add_argument("--write", help="the page whose section is replaced")
    options = parser.parse_args()
    head = ["run", "process", "looks", "unexplained, median", "most", "most between looks", "most resident, MiB",
            "its owners then", "held after the run, MiB", "its owners"]
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    found = []
    with tempfile.TemporaryDirectory(prefix="interlude-memory-") as scratch:
        for number, (name, config, settings) in enumerate(runs(options)):
            directory = pathlib.Path(scratch) / str(number)
            held = run(options.binaries / "interlude", config, settings, directory)
            for memory in read_memory(directory):
                lines.append("| " + " | ".join(row(name, memory, held)) + " |")
                found += memory.errors(True)
    within = sum(error <= BAR for error in found)
    text = "\n".join(lines) + "\n\n%d of %d looks explain the resident memory within %.0f %%." % (
        within, len(found), 100 * BAR)
    print(text)
    if options.write:
        results_section.replace(options.write, "memory", text)
    return 0 if found and within == len(found) else 1


if __name__ == "__main__":
    sys.exit(main())
