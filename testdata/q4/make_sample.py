#!/usr/bin/env python3
"""Writes testdata/q4/v2 and prints the hex example of docs/formats/q4.md.

A second implementation of the format, in numpy and from the text of docs/formats/q4.md alone, so that the
sample tests the C++ code instead of repeating it. The files of a version that was released stay as they are.
"""

import pathlib
import sys

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent.parent / "tools"))
from codebook import header_book  # noqa: E402

F = np.float32
BOOK = header_book()
THRESHOLDS = (BOOK[1:] + BOOK[:-1]) * F(0.5)


def scale_of(deltas):
    """bf16 bits of the signed maximum, +m before -m, below 2^-100 as zero, never Inf."""
    maximum = deltas.max() if deltas.max() >= -deltas.min() else deltas.min()
    if abs(maximum) < F(2) ** F(-100):
        return 0
    bits = int(np.array([maximum], F).view(np.uint32)[0])
    magnitude = bits & 0x7FFFFFFF
    kept, rest = magnitude >> 16, magnitude & 0xFFFF
    kept += rest > 0x8000 or (rest == 0x8000 and kept % 2 == 1)
    return min(kept, 0x7F7F) | (bits >> 31) << 15


def encode(deltas):
    """(payload bytes, decoded values)"""
    codes_bytes, scales_bytes, values = b"", b"", []
    for begin in range(0, len(deltas), 64):
        block = deltas[begin : begin + 64]
        scale_bits = scale_of(block)
        scale = np.array([scale_bits << 16], np.uint32).view(F)[0]
        inverse = F(1) / scale if scale_bits else F(0)
        codes = [int((THRESHOLDS <= F(d * inverse)).sum()) for d in block]
        values += [F(scale * BOOK[c]) for c in codes]
        codes += [7] * (64 - len(codes))
        lanes = [sum(codes[8 * n + lane] << 4 * n for n in range(8)) for lane in range(8)]
        codes_bytes += np.array(lanes, "<u4").tobytes()
        scales_bytes += np.array([scale_bits], "<u2").tobytes()
    return codes_bytes + scales_bytes, np.array(values, F)


def sample_inputs():
    """200 values: an ordinary block, one with a tie and heavy tails, one that counts as zero, a short one."""
    rng = np.random.default_rng(20)
    base = rng.standard_normal(200).astype(F)
    base[128:] = 0
    delta = np.concatenate([
        rng.standard_normal(64) * 1e-3,
        rng.standard_t(3, 64) * 1e-2,
        rng.standard_normal(64) * 2.0**-104,
        [-3e38, 1e38, 0.0, -0.0, 1e-40, 2.5e38, -1e30, 1.0],
    ]).astype(F)
    params = (base + delta).astype(F)
    residual = (rng.standard_normal(200) * 1e-4).astype(F)
    residual[128:192] = 0
    base[70], params[70], residual[70] = 0, -4, 0
    base[100], params[100], residual[100] = 0, 4, 0
    return params, base, residual


def hex_example():
    payload, _ = encode(np.array([((29 * j) % 70 - 35) / 1024 for j in range(70)], F))
    for at in range(0, len(payload), 16):
        print(f"{at:04x}  " + payload[at : at + 16].hex(" "))


def main():
    params, base, residual = sample_inputs()
    deltas = (params - base) + residual
    payload, values = encode(deltas)
    files = {
        "params.f32": params.tobytes(),
        "base.f32": base.tobytes(),
        "residual.f32": residual.tobytes(),
        "payload.q4": payload,
        "residual_after.f32": (deltas - values).tobytes(),
        "base_after.f32": (base + values).tobytes(),
    }
    for name, content in files.items():
        (HERE / "v2" / name).write_bytes(content)
    hex_example()


if __name__ == "__main__":
    main()
