#!/usr/bin/env python3
"""How the defaults of [outer] were found: the demo's model on pictures and seeds that no other table uses.

Trains on the first 50,000 training pictures of Fashion-MNIST and scores with the other 10,000, so that the test set,
with which docs/results.md judges, has no part in the choice. Each run sees 256,000 samples (5.1 epochs). Finished runs
are kept (quality_runs.py).

Usage: tools/study_outer.py [--seeds 2] [--so-far] [--write docs/results.md]
"""
import argparse
import gzip
import pathlib
import statistics
import struct

import measure_quality
import quality_runs
import results_section

FASHION = pathlib.Path("/usr/share/datasets/fashion-mnist")
HELD_OUT = quality_runs.ROOT / "build/quality/held-out"
TRAINED, ALL, PIXELS = 50000, 60000, 28 * 28
STEPS, FIRST_SEED = 2000, 11
COLUMNS = ((2, 20), (4, 20))  # workers, local steps


def nesterov(learning_rate, momentum):
    return (f"nesterov, {learning_rate}, momentum {momentum}",
            ("outer.optimizer=nesterov", f"outer.learning_rate={learning_rate}", f"outer.momentum={momentum}"))


PLAIN = ("plain averaging (sgd, 1.0)", ("outer.optimizer=sgd", "outer.learning_rate=1.0"))
CANDIDATES = [PLAIN, nesterov(1.0, 0.3), nesterov(0.7, 0.5), nesterov(0.7, 0.7), nesterov(0.7, 0.9)]


def split_training_set():
    """Two idx pairs of the training set's: its first part to train on, the rest to score with."""
    HELD_OUT.mkdir(parents=True, exist_ok=True)
    images = gzip.decompress((FASHION / "train-images-idx3-ubyte.gz").read_bytes())
    labels = gzip.decompress((FASHION / "train-labels-idx1-ubyte.gz").read_bytes())
    for part, first, end in (("train", 0, TRAINED), ("t10k", TRAINED, ALL)):
        count = struct.pack(">I", end - first)
        (HELD_OUT / f"{part}-images-idx3-ubyte").write_bytes(
            images[:4] + count + images[8:16] + images[16 + first * PIXELS:16 + end * PIXELS])
        (HELD_OUT / f"{part}-labels-idx1-ubyte").write_bytes(labels[:4] + count + labels[8 + first:8 + end])


def job(name, workers, local_steps, seed, settings):
    fixed = (f"data.directory={HELD_OUT.relative_to(quality_runs.ROOT)}", f"seed={seed}",
             f"round.local_steps={local_steps}", f"round.rounds={STEPS // (workers * local_steps)}",
             "round.evaluate_every=0", "round.patience=0")
    return quality_runs.Job(f"{name}, {workers} workers, H = {local_steps}, seed {seed}", workers,
                            measure_quality.DEMO, fixed + tuple(settings))


def rows(seeds):
    """What each row is called, and for each column its runs."""
    yield ("synchronous averaging (fp32, H = 1)",
           [[job("synchronous", n, 1, seed, measure_quality.PLAIN_MEAN) for seed in seeds] for n, _ in COLUMNS])
    for name, settings in CANDIDATES:
        yield f"q4, {name}", [[job(name, n, steps, seed, settings) for seed in seeds] for n, steps in COLUMNS]


def cell(runs, jobs):
    values = [100 * result["final_accuracy"] for result in map(runs.result, jobs) if result]
    return f"{statistics.mean(values):.2f} %" if len(values) == len(jobs) else "–"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--so-far", action="store_true", help="make no run, only the table of what is there")
    parser.add_argument("--write", type=pathlib.Path)
    options = parser.parse_args()
    split_training_set()
    runs = quality_runs.Runs()
    of_rows = list(rows(range(FIRST_SEED, FIRST_SEED + options.seeds)))
    if not options.so_far:
        by_seed = [[jobs[i] for _, columns in of_rows for jobs in columns] for i in range(options.seeds)]
        runs.make_all([each for jobs in by_seed for each in jobs])
    columns = " | ".join(f"{n} workers, H = {steps}" for n, steps in COLUMNS)
    lines = [f"| outer optimizer | {columns} |", "|" + "---|" * (len(COLUMNS) + 1)]
    lines += [f"| {name} | {' | '.join(cell(runs, jobs) for jobs in columns)} |" for name, columns in of_rows]
    seeds = f"seeds {FIRST_SEED} to {FIRST_SEED + options.seeds - 1}" if options.seeds > 1 else f"one seed, {FIRST_SEED}"
    text = f"Mean of {seeds}:\n\n" + "\n".join(lines)
    print(text)
    if options.write:
        results_section.replace(options.write, "outer", text)


if __name__ == "__main__":
    main()
