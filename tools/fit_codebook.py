#!/usr/bin/env python3
"""Fits the 16-entry code book of the q4 format and shows what it gains.

Prints the fitted entries as they stand in src/codec/q4_book.h, and the table of docs/formats/q4.md:
the relative L2 error of several code books on Gaussian, Laplace and Student-t3 values.
Exit status 1 when the header holds other entries than the fit gives. Needs numpy only.
"""

import argparse
import pathlib
import re
import statistics
import sys

import numpy as np

BLOCK = 64
ENTRIES = 16
ZERO = 7  # the code of zero: seven entries below it, eight above it
STUDENT_SHARE = 0.3  # of the energy the fit sees; the rest is Gaussian
FIT_BLOCKS = 60_000
TEST_BLOCKS = 100_000
HEADER = pathlib.Path(__file__).resolve().parent.parent / "src/codec/q4_book.h"


def sample(kind, blocks, seed):
    rng = np.random.default_rng(seed)
    shape = (blocks, BLOCK)
    draw = {
        "Gaussian": lambda: rng.standard_normal(shape),
        "Laplace": lambda: rng.laplace(size=shape),
        "Student-t3": lambda: rng.standard_t(3, size=shape),
    }[kind]
    return draw().astype(np.float32)


def round_to_bf16(values):
    bits = np.asarray(values, np.float32).view(np.uint32)
    rounded = bits + np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1))
    return (rounded & np.uint32(0xFFFF0000)).view(np.float32)


def round_to_fp16(values):
    return np.asarray(values, np.float32).astype(np.float16).astype(np.float32)


def round_to_8_bits(values):
    mantissa, exponent = np.frexp(values)
    return np.ldexp(np.round(mantissa * 256) / 256, exponent).astype(np.float32)


def signed_maximum(deltas):
    high, low = deltas.max(axis=1), deltas.min(axis=1)
    return np.where(high >= -low, high, low)


def absolute_maximum(deltas):
    return np.abs(deltas).max(axis=1)


def relative_l2(book, deltas, maximum, round_scale=round_to_bf16):
    """Error of `book` (sorted, multiples of the scale), the scale being the rounded maximum / book's end."""
    book = np.asarray(book, np.float32)
    scale = round_scale(maximum(deltas))[:, None]
    inverse = np.divide(np.float32(1), scale, out=np.zeros_like(scale), where=scale != 0)
    thresholds = (book[1:] + book[:-1]) / np.float32(2)
    decoded = book[np.searchsorted(thresholds, deltas * inverse, side="right")] * scale
    lost = (deltas - decoded).astype(np.float64)
    return np.sqrt((lost**2).sum() / (deltas.astype(np.float64) ** 2).sum())


def fit(student_share):
    """Lloyd-Max on the values over their block's signed maximum, each weighted by the square of the scale."""
    edges = np.linspace(-1.01, 1.01, 8193)
    centers = (edges[1:] + edges[:-1]) / 2
    weight, moment = np.zeros(centers.size), np.zeros(centers.size)
    for kind, share, seed in (("Gaussian", 1 - student_share, 1), ("Student-t3", student_share, 2)):
        deltas = sample(kind, FIT_BLOCKS, seed)
        scale = round_to_bf16(signed_maximum(deltas))[:, None]
        ratio = deltas / scale
        energy = np.broadcast_to(scale.astype(np.float64) ** 2, deltas.shape)
        energy = energy * share / (deltas.astype(np.float64) ** 2).sum()
        weight += np.histogram(ratio, edges, weights=energy)[0]
        moment += np.histogram(ratio, edges, weights=energy * ratio)[0]
    book = np.concatenate([np.linspace(-0.9, -0.1, ZERO), [0], np.linspace(0.1, 1, ENTRIES - 1 - ZERO)])
    for _ in range(400):
        code = np.searchsorted((book[1:] + book[:-1]) / 2, centers, side="right")
        book = np.bincount(code, moment, ENTRIES) / np.bincount(code, weight, ENTRIES)
        book[ZERO], book[-1] = 0, 1  # zero and the maximum itself are exact
    return round_to_8_bits(book)


def normal_float_book():
    """NF4: quantiles of the normal distribution, zero exact (Dettmers et al. 2023, arXiv:2305.14314)."""
    quantile, offset = statistics.NormalDist().inv_cdf, 0.9677083
    positive = [quantile(p) for p in np.linspace(offset, 0.5, 9)[:-1]]
    negative = [-quantile(p) for p in np.linspace(offset, 0.5, 8)[:-1]]
    book = np.sort(np.array(positive + [0.0] + negative))
    return book / book.max()


def header_book():
    body = re.search(r"kQ4Book\s*=\s*\{([^}]*)\}", HEADER.read_text())
    if body is None:
        sys.exit(f"{HEADER}: no kQ4Book = {{...}} in it")
    return np.array([float(x) for x in re.findall(r"-?\d+\.\d+", body.group(1))], np.float32)


def print_book(book):
    print("entries, as multiples of the scale:")
    for row in range(0, ENTRIES, 4):
        print("    " + " ".join(f"{float(x)!r}f," for x in book[row : row + 4]))


def print_table(fitted):
    powers = 2.0 ** np.arange(-6, 1)
    rows = [
        ("integers -7..7", np.arange(-7, 8) / 7, absolute_maximum),
        ("integers -8..7, signed maximum is -8", np.arange(-7, 9) / 8, signed_maximum),
        ("powers of two (E3M0)", np.concatenate([-powers[::-1], [0], powers]), absolute_maximum),
        ("NF4 (normal quantiles)", normal_float_book(), absolute_maximum),
        ("Lloyd-Max on Gaussian alone", fit(0.0), signed_maximum),
        ("**q4**: Lloyd-Max on the mix", fitted, signed_maximum),
    ]
    kinds = ("Gaussian", "Laplace", "Student-t3")
    print(f"| code book | {' | '.join(kinds)} |\n|---|---|---|---|")
    samples = [sample(kind, TEST_BLOCKS, 7) for kind in kinds]
    for name, book, maximum in rows:
        print(f"| {name} | " + " | ".join(f"{relative_l2(book, s, maximum):.4f}" for s in samples) + " |")
    print("\n| Gaussian deltas of size | bf16 scale | fp16 scale |\n|---|---|---|")
    for size in (1e-3, 1e-6, 1e-7, 1e-8, 1e-20):
        small = samples[0] * np.float32(size)
        errors = [relative_l2(fitted, small, signed_maximum, r) for r in (round_to_bf16, round_to_fp16)]
        print(f"| {size:.0e} | {errors[0]:.4f} | {errors[1]:.4f} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--no-table", action="store_true", help="only fit, print and compare with the header")
    arguments = parser.parse_args()
    fitted = fit(STUDENT_SHARE)
    print_book(fitted)
    if not arguments.no_table:
        print()
        print_table(fitted)
    if not np.array_equal(fitted, header_book()):
        sys.exit(f"\n{HEADER} holds other entries than the fit")
    print(f"\n{HEADER.name} holds these entries")


if __name__ == "__main__":
    main()
