"""The arithmetic of 4-bit code books, for the tools beside this file: what a block of 64 values becomes under a
book, how far that is off, and the Lloyd-Max fit. The rules are those of docs/formats/q4.md. Needs numpy only."""

import pathlib
import re
import statistics
import sys

import numpy as np

BLOCK = 64
ENTRIES = 16
ZERO = 7  # the code of zero: seven entries below it, eight above it
EDGES = np.linspace(-1.01, 1.01, 8193)  # of the histograms that a fit sees
HEADER = pathlib.Path(__file__).resolve().parent.parent / "src/codec/q4_book.h"


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


def through_book(book, deltas, maximum=signed_maximum, round_scale=round_to_bf16):
    """What `deltas` [blocks, 64] become under `book` (sorted), the scale being the rounded maximum."""
    book = np.asarray(book, np.float32)
    scale = round_scale(maximum(deltas))[:, None]
    inverse = np.divide(np.float32(1), scale, out=np.zeros_like(scale), where=scale != 0)
    thresholds = (book[1:] + book[:-1]) / np.float32(2)
    return book[np.searchsorted(thresholds, deltas * inverse, side="right")] * scale


def relative_l2(book, deltas, maximum=signed_maximum, round_scale=round_to_bf16):
    lost = (deltas - through_book(book, deltas, maximum, round_scale)).astype(np.float64)
    return np.sqrt((lost**2).sum() / (deltas.astype(np.float64) ** 2).sum())


def histogram(deltas):
    """What a fit needs of `deltas`: [2, bins], the weight and the first moment of values over their block's signed
    maximum. A value weighs the square of its scale, because that is what its error costs; the deltas' whole energy
    is 1, so that histograms of small and of large deltas can be added."""
    scale = round_to_bf16(signed_maximum(deltas))[:, None]
    ratio = np.divide(deltas, scale, out=np.zeros_like(deltas), where=scale != 0)
    energy = np.broadcast_to(scale.astype(np.float64) ** 2, deltas.shape) / (deltas.astype(np.float64) ** 2).sum()
    return np.stack([np.histogram(ratio, EDGES, weights=energy)[0],
                     np.histogram(ratio, EDGES, weights=energy * ratio)[0]])


def lloyd_max(histograms):
    """The book of least error: each entry moves to the mean of the values that take its code, until none moves."""
    weight, moment = histograms
    centers = (EDGES[1:] + EDGES[:-1]) / 2
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


def iq4_nl_book():
    """The book of ggml's IQ4_NL, mirrored so that the signed maximum is 1, and its entry next to zero made zero."""
    book = [-113, -89, -69, -53, -38, -25, -13, 0, 10, 22, 35, 49, 65, 83, 104, 127]
    return np.array(book) / 127


def header_book():
    body = re.search(r"kQ4Book\s*=\s*\{([^}]*)\}", HEADER.read_text())
    if body is None:
        sys.exit(f"{HEADER}: no kQ4Book = {{...}} in it")
    return np.array([float(x) for x in re.findall(r"-?\d+\.\d+", body.group(1))], np.float32)
