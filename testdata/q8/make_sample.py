#!/usr/bin/env python3
"""Writes testdata/q8/v1 and prints the hex example of docs/formats/q8.md.

A second implementation of the format, in numpy and from the text of docs/formats/q8.md alone, so that the
sample tests the C++ code instead of repeating it. Scales are made as q4's are, and the inputs are those of
testdata/q4/v2. The files of a version that was released stay as they are.
"""

import importlib.util
import pathlib

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
F = np.float32


def load_q4():
    spec = importlib.util.spec_from_file_location("q4_sample", HERE.parent / "q4" / "make_sample.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


q4 = load_q4()


def encode(deltas):
    """(payload bytes, decoded values)"""
    codes_bytes, scales_bytes, values = b"", b"", []
    for begin in range(0, len(deltas), 64):
        block = deltas[begin : begin + 64]
        scale_bits = q4.scale_of(block)
        scale = np.array([scale_bits << 16], np.uint32).view(F)[0]
        inverse = F(1) / scale if scale_bits else F(0)
        # numpy's rint takes the even one of two whole numbers that are equally near.
        steps = [int(min(max(np.rint(F(d * inverse) * F(128)), -127), 128)) for d in block]
        values += [F(scale * F(k / 128)) for k in steps]
        codes_bytes += bytes(k + 127 for k in steps + [0] * (64 - len(steps)))
        scales_bytes += np.array([scale_bits], "<u2").tobytes()
    return codes_bytes + scales_bytes, np.array(values, F)


def hex_example():
    payload, _ = encode(np.array([((29 * j) % 70 - 35) / 1024 for j in range(70)], F))
    for at in range(0, len(payload), 16):
        print(f"{at:04x}  " + payload[at : at + 16].hex(" "))


def main():
    params, base, residual = q4.sample_inputs()
    deltas = (params - base) + residual
    payload, values = encode(deltas)
    files = {
        "payload.q8": payload,
        "residual_after.f32": (deltas - values).tobytes(),
        "base_after.f32": (base + values).tobytes(),
    }
    for name, content in files.items():
        (HERE / "v1" / name).write_bytes(content)
    hex_example()


if __name__ == "__main__":
    main()
