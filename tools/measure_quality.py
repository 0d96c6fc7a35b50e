#!/usr/bin/env python3
"""Measures what low-communication training costs in accuracy, and writes the tables into docs/results.md.

Trains on the same number of samples in every way: one process, synchronous averaging after every step, and rounds of
5, 20 and 100 local steps with each codec, for 2, 4 and 8 workers and several seeds; on Fashion-MNIST, and on cats and
dogs of the Oxford pets where ../shared/data has them. Finished runs are kept in docs/quality-runs.json: started
again, the measurement goes on where it was (quality_runs.py). `./run results` calls it.

Usage: tools/measure_quality.py [--seeds 3] [--only fashion|pets] [--so-far] [--fresh] [--write docs/results.md]
"""
import argparse
import dataclasses
import pathlib
import statistics
import sys

import quality_runs
import results_section

ROOT = quality_runs.ROOT
DEMO = ROOT / "examples/fashion_mnist.toml"
PETS = ROOT.parent / "shared/data/oxford-pets"
WORKERS = (2, 4, 8)
JUDGED_WORKERS = 4  # the bars are for so many at most


@dataclasses.dataclass(frozen=True)
class Way:
    """One row of a table: how training is done, whatever the number of workers."""
    name: str
    local_steps: int
    settings: tuple


def interlude(codec, local_steps, **more):
    name = f"{codec}{' with error feedback' if more else ''}, H = {local_steps}"
    feedback = ("round.error_feedback=true",) if more else ()
    return Way(name, local_steps, (f"round.codec={codec}", *feedback))


# Plain averaging: the base becomes the mean of the workers' parameters.
PLAIN_MEAN = ("outer.merge=mean", "outer.optimizer=sgd", "outer.learning_rate=1.0", "round.codec=fp32")
ALONE = Way("one process", 20, PLAIN_MEAN)
SYNCHRONOUS = Way("synchronous: fp32, plain mean, H = 1", 1, PLAIN_MEAN)
Q4, FP32 = interlude("q4", 20), interlude("fp32", 20)
WAYS = [SYNCHRONOUS, Q4, FP32, interlude("q8", 20), interlude("q4", 20, error_feedback=True), interlude("q4", 5), interlude("fp32", 5),
        interlude("q4", 100), interlude("fp32", 100)]
BARRIER = Way("q4, H = 20, barrier", 20, ("round.codec=q4", "round.exchange=barrier"))


@dataclasses.dataclass(frozen=True)
class Subject:
    """A data set, what is trained on it, and for how many local steps of all workers together."""
    mark: str
    steps: int
    epoch_samples: int
    settings: tuple
    ways: tuple
    workers: tuple
    judged: bool

    def job(self, way, workers, seed):
        steps, rest = divmod(self.steps, workers * way.local_steps)
        if rest:
            sys.exit(f"{self.steps} steps are no whole rounds of {workers} x {way.local_steps}")
        # Nobody is left behind for being late, so that a busy machine changes no bit.
        settings = (f"seed={seed}", f"round.rounds={steps}", f"round.local_steps={way.local_steps}",
                    "round.evaluate_every=0", "round.patience=0") + self.settings + way.settings
        return quality_runs.Job(f"{self.mark}, {way.name}, {workers} workers, seed {seed}", workers,
                                DEMO, settings)

    def jobs(self, seeds):
        """Every run, in order of what the verdicts need first."""
        jobs = [self.job(way, n, seed) for seed in seeds for n in self.workers if n <= JUDGED_WORKERS
                for way in (SYNCHRONOUS, Q4, FP32)]
        jobs += [self.job(ALONE, 1, seed) for seed in seeds]
        jobs += [self.job(way, n, seed) for way in self.ways for n in self.workers for seed in seeds]
        return jobs + ([self.job(BARRIER, n, seeds[0]) for n in self.workers] if self.judged else [])


FASHION = Subject("fashion", 2400, 60000, (), tuple(WAYS), WORKERS, True)


def pets():
    """Cats against dogs: with 482 photographs of 37 breeds nothing else is learnt from nothing."""
    folder = ROOT / "build/quality/pets"
    folder.mkdir(parents=True, exist_ok=True)
    count = 0
    for part, name in (("trainval", "train.csv"), ("test", "test.csv")):
        lines = [line.split() for line in (PETS / f"annotations/{part}.txt").read_text().splitlines()]
        rows = [f"{PETS}/images/{fields[0]}.jpg,{'cat' if fields[2] == '1' else 'dog'}" for fields in lines]
        (folder / name).write_text("\n".join(rows) + "\n")
        count = count or len(rows)
    settings = ("data.name=csv", f"data.directory={folder.relative_to(ROOT)}", "model.image_size=64", "model.channels=3",
                "model.patch_size=8", "model.classes=2", "train.batch=16", "train.learning_rate=1e-3",
                "augment.random_crop=true", "augment.scale_min=0.5", "augment.flip=0.5")
    return Subject("pets", 1200, count, settings, (SYNCHRONOUS, Q4, FP32), (2, 4), False)


def spread(results):
    """The mean of the accuracies, and the least and the greatest."""
    values = [100 * result["final_accuracy"] for result in results]
    return f"{statistics.mean(values):.2f} % ({min(values):.2f} to {max(values):.2f})"


def sent(result):
    return f"{(result['upload_bytes'] + result['download_bytes']) / 1e6:,.1f}"


class Tables:
    def __init__(self, subject, runs, seeds):
        self.subject, self.runs, self.seeds = subject, runs, seeds

    def results(self, way, workers):
        """One for each seed, or none where not all have been made."""
        each = [self.runs.result(self.subject.job(way, workers, seed)) for seed in self.seeds]
        return each if all(each) else []

    def row(self, way, workers_of):
        results = [self.results(way, workers_of(n)) for n in self.subject.workers]
        cells = [spread(each) if each else "not measured" for each in results]
        bytes_sent = "" if way is ALONE else " / ".join(sent(each[0]) if each else "–" for each in results)
        return f"| {way.name} | {' | '.join(cells)} | {bytes_sent} |"

    def table(self):
        columns = [f"{n} workers" for n in self.subject.workers]
        lines = [f"| {' | '.join(['', *columns, 'sent by all, MB'])} |", "|" + "---|" * (len(columns) + 2)]
        lines.append(self.row(ALONE, lambda n: 1))
        return "\n".join(lines + [self.row(way, lambda n: n) for way in self.subject.ways])

    def difference(self, a, b, workers):
        """Mean over the seeds, and its standard error; None where runs are missing."""
        pairs = list(zip(self.results(a, workers), self.results(b, workers)))
        points = [100 * (x["final_accuracy"] - y["final_accuracy"]) for x, y in pairs]
        if not points:
            return None
        error = statistics.stdev(points) / len(points) ** 0.5 if len(points) > 1 else float("nan")
        return statistics.mean(points), error

    def verdict(self, workers, other, name, bar):
        found = self.difference(Q4, other, workers)
        if found is None:
            return f"| q4, H = 20, {workers} workers against {name} | not measured | {bar} | |"
        met = "met" if found[0] >= -bar else "**not met**"
        return (f"| q4, H = 20, {workers} workers against {name} | {found[0]:+.2f} ± {found[1]:.2f} points | "
                f"at most {bar} less | {met} |")

    def verdicts(self):
        lines = ["| what | difference of the means ± standard error | bar | |", "|---|---|---|---|"]
        for workers in self.subject.workers:
            judged = workers <= JUDGED_WORKERS
            for other, name, bar in ((SYNCHRONOUS, "synchronous averaging", 0.5), (FP32, "the fp32 exchange", 0.2)):
                line = self.verdict(workers, other, name, bar)
                lines.append(line if judged else " | ".join(line.split(" | ")[:2]) + " | | |")
        return "\n".join(lines)

    def barrier(self):
        pairs = [(self.runs.result(self.subject.job(way, n, self.seeds[0])) for way in (BARRIER, Q4))
                 for n in self.subject.workers]
        hashes = [[result and result["final_root_hash"] for result in pair] for pair in pairs]
        if any(None in pair for pair in hashes):
            return "Pipelined against barrier: not measured."
        same = sum(a == b for a, b in hashes)
        return (f"All rows are pipelined. The barrier exchange (q4, H = 20, seed {self.seeds[0]}) ended with the very "
                f"bits of the pipelined one in {same} of {len(hashes)} runs.")

    def text(self):
        samples = self.subject.steps * (16 if self.subject.mark == "pets" else 128)
        intro = (f"{samples:,} samples in every run ({samples / self.subject.epoch_samples:.1f} epochs); test accuracy, "
                 f"mean of the seeds {', '.join(map(str, self.seeds))} (least to greatest):")
        parts = [intro, self.table()]
        if self.subject.judged:
            parts += [self.verdicts(), self.barrier()]
        return "\n\n".join(parts)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--only", choices=["fashion", "pets"])
    parser.add_argument("--so-far", action="store_true", help="make no run, only the tables of what is there")
    parser.add_argument("--fresh", action="store_true", help="forget the runs that were kept")
    parser.add_argument("--write", type=pathlib.Path)
    options = parser.parse_args()
    runs = quality_runs.Runs(fresh=options.fresh)
    seeds = list(range(1, options.seeds + 1))
    subjects = [FASHION] if options.only != "pets" else []
    if options.only != "fashion" and PETS.is_dir():
        subjects.append(pets())
    for subject in subjects:
        if not options.so_far:
            runs.make_all(subject.jobs(seeds))
        text = Tables(subject, runs, seeds).text()
        print(text)
        if options.write:
            results_section.replace(options.write, f"quality-{subject.mark}", text)


if __name__ == "__main__":
    main()
