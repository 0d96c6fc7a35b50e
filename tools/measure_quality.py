#!/usr/bin/env python3
"""Measures what low-communication training costs in accuracy, and writes the table into docs/results.md.

Trains the demo's model in four ways on the same number of samples, several seeds each, with the release build
(./run build), and compares the test accuracies. `./run results` calls it.

Usage: tools/measure_quality.py [--seeds 3] [--set key=value ...] [--write docs/results.md]
"""
import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile

import results_section

ROOT = pathlib.Path(__file__).resolve().parent.parent
PROGRAM = ROOT / "build/release/bin/interlude"
CONFIG = ROOT / "examples/fashion_mnist.toml"
ROUNDS, STEPS, BATCH = 36, 20, 128

# Plain averaging: the base becomes the mean of the workers' parameters.
PLAIN_MEAN = ["outer.merge=mean", "outer.optimizer=sgd", "outer.learning_rate=1.0", "round.codec=fp32"]
WAYS = [
    ("q4 both ways, H = 20 (the default)", 2, []),
    ("fp32 both ways, H = 20", 2, ["round.codec=fp32"]),
    ("exchange after every step (H = 1, plain mean, fp32)", 2,
     PLAIN_MEAN + [f"round.local_steps=1", f"round.rounds={ROUNDS * STEPS}"]),
    ("one worker alone, twice the steps", 1, PLAIN_MEAN + [f"round.rounds={2 * ROUNDS}"]),
]


def run_once(workers, seed, settings):
    with tempfile.TemporaryDirectory() as directory:
        run = f"{directory}/run"
        command = [PROGRAM, "run", "--workers", str(workers), "--config", CONFIG, "--dir", run, "--quiet",
                   "--threads", "1"]
        fixed = [f"seed={seed}", f"round.rounds={ROUNDS}", f"round.local_steps={STEPS}", f"train.batch={BATCH}",
                 "round.evaluate_every=0"]
        for setting in fixed + settings:
            command += ["--set", setting]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        report = subprocess.run([PROGRAM, "report", run, "--json"], check=True, capture_output=True, text=True)
    total = json.loads(report.stdout)["total"]
    if not total["hashes_agree"] or total["workers_left"]:
        sys.exit(f"the run with seed {seed} and {settings} was not clean")
    return total


def measure(seeds, extra):
    rows = []
    for name, workers, settings in WAYS:
        totals = []
        for seed in seeds:
            totals.append(run_once(workers, seed, settings + extra))
            print(f"{name}, seed {seed}: {100 * totals[-1]['final_accuracy']:.2f} %", file=sys.stderr, flush=True)
        rows.append((name, workers, totals))
    return rows


def format_table(rows, seeds):
    lines = [f"| how | workers | test accuracy, seeds {', '.join(map(str, seeds))} | mean | samples | sent by all |",
             "|---|---|---|---|---|---|"]
    for name, workers, totals in rows:
        each = " / ".join(f"{100 * t['final_accuracy']:.2f}" for t in totals)
        mean = 100 * statistics.mean(t["final_accuracy"] for t in totals)
        megabytes = (totals[0]["upload_bytes"] + totals[0]["download_bytes"]) / 1e6
        sent = "(to itself)" if workers == 1 else f"{megabytes:,.1f} MB"
        lines.append(f"| {name} | {workers} | {each} % | {mean:.2f} % | {totals[0]['samples']:,} | {sent} |")
    means = [100 * statistics.mean(t["final_accuracy"] for t in totals) for _, _, totals in rows]
    lines += ["", f"q4 against fp32: {means[0] - means[1]:+.2f} points (the bar: within 0.5)."]
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--set", action="append", default=[], dest="settings", metavar="key=value")
    parser.add_argument("--write", type=pathlib.Path)
    options = parser.parse_args()
    if not PROGRAM.exists():
        sys.exit(f"{PROGRAM} is not built: ./run build")
    seeds = list(range(1, options.seeds + 1))
    table = format_table(measure(seeds, options.settings), seeds)
    print(table)
    if options.write:
        results_section.replace(options.write, "quality", table)


main()
