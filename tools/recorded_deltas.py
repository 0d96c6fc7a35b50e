"""What fit_codebook.py --deltas shows: the errors of code books on the deltas of real runs, which
tools/collect_deltas.py has recorded, by run, by kind of tensor and added up over rounds."""

import dataclasses
import sys

import numpy as np

import codebook

MOST_BLOCKS = 4096  # of a recorded vector that are looked at, evenly spread
MOST_ROUNDS = 9  # of a run, likewise
LONG_RUN = "vit-h20"  # every round of it is recorded, so that errors can be added up
KINDS = ("weight", "bias", "norm", "embedding")
SHARES = (0.0, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3)
TOLERANCE = 1.003  # of the least error on recorded deltas, for more safety on heavy tails


@dataclasses.dataclass
class Run:
    name: str
    deltas: np.ndarray  # [rounds, slots, params]; the last slot is the sync update
    kinds: np.ndarray  # [blocks, 64], index into KINDS, or -1 past the end
    vectors: list  # of [blocks, 64]: those of some rounds, some blocks of each
    vector_kinds: np.ndarray  # the same blocks of `kinds`
    histogram: np.ndarray  # of the vectors, each with the same weight


def kind_of(name):
    if "norm" in name:
        return KINDS.index("norm")
    if name.endswith("bias"):
        return KINDS.index("bias")
    return KINDS.index("embedding" if "embeddings" in name and "projection" not in name else "weight")


def in_blocks(values, filler=0):
    return np.append(values, np.full(-len(values) % codebook.BLOCK, filler, values.dtype)).reshape(-1, codebook.BLOCK)


def evenly(count, most):
    return np.unique(np.linspace(0, count - 1, min(count, most)).astype(int))


def load_run(path):
    with np.load(path) as file:
        deltas, names, ends = file["deltas"], file["names"], file["ends"]
    counts = np.diff(ends, prepend=0)
    kinds = in_blocks(np.repeat(np.array([kind_of(str(name)) for name in names], np.int8), counts), -1)
    chosen = evenly(len(kinds), MOST_BLOCKS)
    vectors = [in_blocks(values)[chosen] for number in evenly(len(deltas), MOST_ROUNDS) for values in deltas[number]]
    histogram = sum(codebook.histogram(blocks) for blocks in vectors) / len(vectors)
    return Run(path.stem, deltas, kinds, vectors, kinds[chosen], histogram)


def load(directory):
    paths = sorted(directory.glob("*.npz"))
    if len(paths) < 2:
        sys.exit(f"{directory} holds {len(paths)} recorded runs, at least two are needed: tools/collect_deltas.py")
    return [load_run(path) for path in paths]


def mean_error(run, book, maximum=codebook.signed_maximum):
    return np.sqrt(np.mean([codebook.relative_l2(book, v, maximum) ** 2 for v in run.vectors]))


def errors_by_kind(run, book, maximum):
    """[vectors, KINDS], NaN where the run has no such tensor."""
    rows = []
    for v in run.vectors:
        lost = (v - codebook.through_book(book, v, maximum)).astype(np.float64) ** 2
        sums = [(lost[run.vector_kinds == k].sum(), (v[run.vector_kinds == k].astype(np.float64) ** 2).sum())
                for k in range(len(KINDS))]
        rows.append([np.sqrt(a / b) if b > 0 else np.nan for a, b in sums])
    return np.array(rows)


def held_out_book(runs, run):
    """Fitted to all runs but this one."""
    return codebook.lloyd_max(sum(other.histogram for other in runs if other is not run))


def print_by_run(runs, books):
    print(f"\n| code book | {' | '.join(run.name for run in runs)} | mean |\n|{'---|' * (len(runs) + 2)}")
    rows = [(name, [mean_error(run, book, maximum) for run in runs]) for name, book, maximum in books]
    rows.append(("Lloyd-Max on the other runs' deltas", [mean_error(run, held_out_book(runs, run)) for run in runs]))
    for name, errors in rows:
        print(f"| {name} | " + " | ".join(f"{e:.4f}" for e in errors + [np.mean(errors)]) + " |")


def print_by_kind(runs, books):
    print(f"\n| code book | {' | '.join(KINDS)} |\n|{'---|' * (len(KINDS) + 1)}")
    for name, book, maximum in books:
        errors = np.nanmean(np.concatenate([errors_by_kind(run, book, maximum) for run in runs]), axis=0)
        print(f"| {name} | " + " | ".join(f"{e:.4f}" for e in errors) + " |")


def accumulated_error(vectors, book, feedback):
    """Of the sum of `vectors`, sent one after the other."""
    lost, residual, total = 0.0, np.zeros_like(vectors[0]), 0.0
    for v in vectors:
        wanted = v + residual if feedback else v
        sent = codebook.through_book(book, wanted)
        residual = wanted - sent
        lost, total = lost + (v.astype(np.float64) - sent), total + v.astype(np.float64)
    return np.sqrt((lost**2).sum() / (total**2).sum())


def print_feedback(runs, books):
    for run in (run for run in runs if run.name == LONG_RUN):
        rounds = len(run.deltas)
        print(f"\n| {run.name}, {rounds} rounds added up | a worker's deltas | with feedback | sync updates "
              "| with feedback |\n|---|---|---|---|---|")
        for name, book, maximum in books:
            if maximum is not codebook.signed_maximum:
                continue
            errors = [accumulated_error([in_blocks(d[slot]) for d in run.deltas], book, feedback)
                      for slot in (0, -1) for feedback in (False, True)]
            print(f"| {name} | " + " | ".join(f"{e:.2g}" for e in errors) + " |")


def print_tables(runs, books):
    print_by_run(runs, books)
    print_by_kind(runs, books[-3:])
    print_feedback(runs, books[-3:])


def choose_share(runs, fit, student):
    """The largest share of Student-t3 that costs next to nothing on the recorded deltas."""
    print("\n| share of Student-t3 in the fit | recorded deltas, mean | Student-t3 |\n|---|---|---|")
    means = {}
    for share in SHARES:
        book = fit(share)
        means[share] = np.mean([mean_error(run, book) for run in runs])
        print(f"| {share:.2f} | {means[share]:.5f} | {codebook.relative_l2(book, student):.4f} |")
    return max(share for share in SHARES if means[share] <= TOLERANCE * min(means.values()))
