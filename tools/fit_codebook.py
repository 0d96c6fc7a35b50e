#!/usr/bin/env python3
"""Fits the 16-entry code book of the q4 format and shows what it gains.

Prints the fitted entries as they stand in src/codec/q4_book.h, and the tables of docs/formats/q4.md: the relative
L2 error of several code books on Gaussian, Laplace and Student-t3 values and, with --deltas, on those that
tools/collect_deltas.py has recorded. Exit status 1 when the header holds other entries than the fit gives, or when
recorded deltas ask for another STUDENT_SHARE. Needs numpy only.
"""

import argparse
import pathlib
import sys

import numpy as np

import codebook
import recorded_deltas
from codebook import absolute_maximum, signed_maximum

STUDENT_SHARE = 0.05  # of the energy that the fit sees; the rest is Gaussian. Chosen on recorded deltas
FIT_BLOCKS = 60_000
TEST_BLOCKS = 100_000
KINDS = ("Gaussian", "Laplace", "Student-t3")


def sample(kind, blocks, seed):
    rng = np.random.default_rng(seed)
    shape = (blocks, codebook.BLOCK)
    draw = {
        "Gaussian": lambda: rng.standard_normal(shape),
        "Laplace": lambda: rng.laplace(size=shape),
        "Student-t3": lambda: rng.standard_t(3, size=shape),
    }[kind]
    return draw().astype(np.float32)


def fit(student_share):
    gaussian = codebook.histogram(sample("Gaussian", FIT_BLOCKS, 1))
    student = codebook.histogram(sample("Student-t3", FIT_BLOCKS, 2))
    return codebook.lloyd_max((1 - student_share) * gaussian + student_share * student)


def candidates(fitted):
    """(name, book, what the scale is) of the books that the tables compare."""
    powers = 2.0 ** np.arange(-6, 1)
    return [
        ("integers -7..7", np.arange(-7, 8) / 7, absolute_maximum),
        ("integers -8..7, signed maximum is -8", np.arange(-7, 9) / 8, signed_maximum),
        ("powers of two (E3M0)", np.concatenate([-powers[::-1], [0], powers]), absolute_maximum),
        ("NF4 (normal quantiles)", codebook.normal_float_book(), absolute_maximum),
        ("IQ4_NL (ggml), zero exact", codebook.iq4_nl_book(), signed_maximum),
        ("Lloyd-Max, 30 % Student-t3 (version 1)", fit(0.3), signed_maximum),
        ("Lloyd-Max, Gaussian alone", fit(0.0), signed_maximum),
        (f"**q4**: Lloyd-Max, {100 * STUDENT_SHARE:.0f} % Student-t3", fitted, signed_maximum),
    ]


def print_book(book):
    print("entries, as multiples of the scale:")
    for row in range(0, codebook.ENTRIES, 4):
        print("    " + " ".join(f"{float(x)!r}f," for x in book[row : row + 4]))


def print_synthetic(books, samples, fitted):
    print(f"\n| code book | {' | '.join(KINDS)} |\n|---|---|---|---|")
    for name, book, maximum in books:
        print(f"| {name} | " + " | ".join(f"{codebook.relative_l2(book, s, maximum):.4f}" for s in samples) + " |")
    print("\n| Gaussian deltas of size | bf16 scale | fp16 scale |\n|---|---|---|")
    for size in (1e-3, 1e-6, 1e-7, 1e-8, 1e-20):
        small = samples[0] * np.float32(size)
        errors = [codebook.relative_l2(fitted, small, signed_maximum, rounding)
                  for rounding in (codebook.round_to_bf16, codebook.round_to_fp16)]
        print(f"| {size:.0e} | {errors[0]:.4f} | {errors[1]:.4f} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--no-table", action="store_true", help="only fit, print and compare with the header")
    parser.add_argument("--deltas", type=pathlib.Path, metavar="DIRECTORY", help="of tools/collect_deltas.py")
    options = parser.parse_args()
    fitted = fit(STUDENT_SHARE)
    print_book(fitted)
    books = candidates(fitted)
    samples = [sample(kind, TEST_BLOCKS, 7) for kind in KINDS]
    if not options.no_table:
        print_synthetic(books, samples, fitted)
    if not np.array_equal(fitted, codebook.header_book()):
        sys.exit(f"\n{codebook.HEADER} holds other entries than the fit")
    print(f"\n{codebook.HEADER.name} holds these entries")
    if options.deltas is not None:
        runs = recorded_deltas.load(options.deltas)
        recorded_deltas.print_tables(runs, books)
        share = recorded_deltas.choose_share(runs, fit, samples[-1])
        if share != STUDENT_SHARE:
            sys.exit(f"\nthese deltas ask for a Student-t3 share of {share}, the fit has {STUDENT_SHARE}")


if __name__ == "__main__":
    main()
