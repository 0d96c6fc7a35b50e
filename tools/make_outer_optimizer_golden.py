#!/usr/bin/env python3
"""Writes src/optim/outer_optimizer_golden.inc: updates by torch.optim, the oracle of outer_optimizer_test.

Run with Debian's python3-torch:  python3 tools/make_outer_optimizer_golden.py > src/optim/outer_optimizer_golden.inc
A torch optimizer steps a parameter that is set back to zero before each step, with minus the delta as its
gradient: what the parameter then holds is the update, without a rounding of its own.
"""
import torch

PARAMS, STEPS = 12, 6


def fp32(value):
    """The options are fp32 values; with 0.9 itself 1 - beta would already differ by 2e-7."""
    return torch.tensor(value, dtype=torch.float32).item()


CASES = [
    ("kSgd", lambda p: torch.optim.SGD(p, lr=fp32(0.7))),
    ("kNesterov", lambda p: torch.optim.SGD(p, lr=fp32(0.7), momentum=fp32(0.9), nesterov=True)),
    ("kAdam", lambda p: torch.optim.Adam(p, lr=fp32(0.01), betas=(fp32(0.9), fp32(0.95)), eps=fp32(1e-8))),
]


def make_deltas():
    """Magnitudes from 1e-9 to 10, both signs, and zeros: one tensor for each step."""
    generator = torch.Generator().manual_seed(20)
    scale = 10.0 ** torch.linspace(-9, 1, PARAMS, dtype=torch.float64)
    deltas = [(torch.randn(PARAMS, generator=generator, dtype=torch.float64) * scale).float() for _ in range(STEPS)]
    deltas[0][3] = 0.0
    for delta in deltas:
        delta[5] = 0.0
    return deltas


def run(make_optimizer, deltas):
    parameter = torch.zeros(PARAMS, dtype=torch.float32, requires_grad=True)
    optimizer = make_optimizer([parameter])
    updates = []
    for delta in deltas:
        with torch.no_grad():
            parameter.zero_()
        parameter.grad = -delta
        optimizer.step()
        updates.append(parameter.detach().clone())
    return updates


def literal(value):
    """The exact value, short."""
    mantissa, exponent = float(value).hex().split("p")
    return mantissa.rstrip("0").rstrip(".") + "p" + exponent + "f" if value else "0.0f"


def rows(tensors):
    return "\n".join("    {" + ", ".join(f"{literal(x)}" for x in t) + "}," for t in tensors)


def main():
    deltas = make_deltas()
    print(f"// Made by tools/make_outer_optimizer_golden.py with torch {torch.__version__.split('+')[0]}; not to be edited.")
    print(f"constexpr size_t kGoldenParams = {PARAMS};")
    print(f"constexpr size_t kGoldenSteps = {STEPS};")
    print(f"constexpr float kGoldenDeltas[kGoldenSteps][kGoldenParams] = {{\n{rows(deltas)}\n}};")
    for name, make_optimizer in CASES:
        print(f"constexpr float {name}Golden[kGoldenSteps][kGoldenParams] = {{\n{rows(run(make_optimizer, deltas))}\n}};")


main()
