#!/usr/bin/env python3
"""Measures what keeping a run's account costs the run, and writes the table into docs/results.md.

Whole runs with the account and without (INTERLUDE_WITHOUT_ACCOUNT), in the order ABBA..., same seed: a coordinator and
two workers whose steps take five seconds a round, 4.5 s of it on a CPU. The differences of the pairs, with a 95 %
interval, say what a run can tell; beside them stands the sum of what can be counted: the records of a run times what
each costs (ledger_bench record), what the samplers say that they took, and what the coordinator's spans of `ledger`
say that storing took, scaled up to all rounds (the last one's is not recorded). `./run ledger` calls it.

Usage: tools/measure_account.py [--pairs 3] [--rounds 20] [--build build/release] [--write docs/results.md]
"""
import argparse
import json
import os
import pathlib
import re
import resource
import sqlite3
import statistics
import subprocess
import sys
import tempfile

import results_section

ROOT = pathlib.Path(__file__).resolve().parent.parent
BAR = 0.001
SWITCH = "INTERLUDE_WITHOUT_ACCOUNT"
SAMPLES_TOOK = re.compile(r"samples took ([\d.]+) ms of CPU")
# Of Student's t, two-sided, 95 %, by degrees of freedom; beyond the table that of many.
QUANTILES = [12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26, 2.23, 2.20, 2.18, 2.16, 2.14, 2.13]


def rows(directory, sql):
    with sqlite3.connect(f"file:{directory}/run.db?mode=ro", uri=True) as database:
        return database.execute(sql).fetchall()


def run(options, directory, with_account):
    """(CPU seconds of all its processes, seconds that its rounds took)."""
    settings = {"round.rounds": options.rounds, "round.local_steps": 100, "model.synthetic_step_ms": 50,
                "model.synthetic_cpu_ms": 45, "model.synthetic_params": 20_000_000}
    command = [options.build / "bin/interlude", "run", "--workers", "2", "--threads", "1", "--quiet", "--config",
               ROOT / "examples/synthetic.toml", "--dir", directory]
    command += [word for pair in settings.items() for word in ("--set", "%s=%s" % pair)]
    environment = {name: value for name, value in os.environ.items() if name != SWITCH}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                   env=environment if with_account else {**environment, SWITCH: "1"})
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    (wall,), = rows(directory, "SELECT (max(end_ns) - min(begin_ns)) / 1e9 FROM rounds")
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, wall


def stamps_in(blob):
    """How many; docs/run-database.md says how they are written."""
    count = at = 0

    def number():
        nonlocal at
        first = blob[at]
        while blob[at] >= 128:
            at += 1
        at += 1
        return first

    while at < len(blob):
        for _ in range(2 if number() & 2 else 1):
            number()
        count += 1
    return count


def counted(options, directory):
    """[(what, how often, CPU seconds)] of a run with its account."""
    costs = json.loads(subprocess.run([options.build / "bench/ledger_bench", "record", directory], check=True,
                                      stdout=subprocess.PIPE, text=True).stdout)
    stamps = sum(stamps_in(blob) for blob, in rows(directory, "SELECT stamps FROM chunk_stamps"))
    (spans,), = rows(directory, "SELECT count(*) FROM spans")
    (samples,), = rows(directory, "SELECT count(*) FROM process_samples")
    stored, storing = rows(directory, "SELECT count(*), total(cpu_ns) / 1e9 FROM spans WHERE phase = 'ledger'")[0]
    (rounds,), = rows(directory, "SELECT count(*) FROM rounds")
    if not 0 < stored <= rounds:
        sys.exit(f"{stored} spans of ledger in {rounds} rounds")
    took = [float(ms) for path in (pathlib.Path(directory) / "logs").iterdir()
            for ms in SAMPLES_TOOK.findall(path.read_text())]
    if len(took) != 3:
        sys.exit(f"{len(took)} of 3 processes say what their samples took")
    return [("chunk stamps: taken, sent", stamps, stamps * costs["stamp_ns"] / 1e9),
            ("spans: taken", spans, spans * costs["span_ns"] / 1e9),
            ("samples of processes and their memory", samples, sum(took) / 1e3),
            ("storing of rounds and accounts", rounds, storing * rounds / stored)]


def interval(differences):
    """(mean, half the 95 % interval)."""
    degrees = len(differences) - 1
    quantile = QUANTILES[degrees - 1] if degrees <= len(QUANTILES) else 2.1
    return statistics.mean(differences), quantile * statistics.stdev(differences) / len(differences) ** 0.5


def percent(share):
    return f"{100 * share:.3f} %"


def compared(name, on, off):
    base = statistics.mean(off)
    mean, half = interval([with_ - without for with_, without in zip(on, off)])
    low, high = (mean - half) / base, (mean + half) / base
    verdict = "met" if high <= BAR else "**not met**" if low > BAR else "open: the interval holds it"
    return (f"| {name} | {statistics.mean(on):.3f} | {base:.3f} | {percent(mean / base)} | {percent(low)} to "
            f"{percent(high)} | {verdict} |")


def table(options, runs, counts):
    on, off = runs[True], runs[False]
    cpu = statistics.mean(cpu for cpu, _ in on)
    total = sum(seconds for *_, seconds in counts)
    lines = [f"{options.pairs} pairs of runs of {options.rounds} rounds; means over the runs, differences in pairs.", "",
             "| of a run | with, s | without, s | difference | 95 % interval | at most 0.1 % |", "|---|---|---|---|---|---|",
             compared("CPU of all processes", [cpu for cpu, _ in on], [cpu for cpu, _ in off]),
             compared("time of its rounds", [wall for _, wall in on], [wall for _, wall in off]), "",
             f"| of one run, against {cpu:.3f} s of CPU | how many | CPU, ms | share |", "|---|---|---|---|"]
    lines += [f"| {what} | {count} | {1e3 * seconds:.3f} | {percent(seconds / cpu)} |" for what, count, seconds in counts]
    lines.append(f"| together | | {1e3 * total:.3f} | {percent(total / cpu)}, "
                 f"{'met' if total <= BAR * cpu else '**not met**'} |")
    return lines


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", type=int, default=3)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--build", type=lambda path: pathlib.Path(path).resolve(), default=ROOT / "build/release")
    parser.add_argument("--write", type=pathlib.Path)
    options = parser.parse_args()
    if options.pairs < 2:
        parser.error("--pairs: an interval needs two")
    runs, counts = {True: [], False: []}, []
    with tempfile.TemporaryDirectory(prefix="interlude-account-") as scratch:
        for number in range(2 * options.pairs):
            with_account = number % 4 in (0, 3)
            directory = f"{scratch}/{number}"
            runs[with_account].append(run(options, directory, with_account))
            print("with   " if with_account else "without", "%.3f s CPU, %.3f s" % runs[with_account][-1], file=sys.stderr)
            if with_account:
                counts = counted(options, directory)
    text = "\n".join(table(options, runs, counts))
    print(text)
    if options.write:
        results_section.replace(options.write, "account-cost", text)


main()
