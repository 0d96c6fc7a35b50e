#!/usr/bin/python3
"""Writes src/train/batch_loss_golden.inc: losses and gradients by torch, the oracle of batch_loss_test.

Run with Debian's python3-torch:  tools/make_batch_loss_golden.py > src/train/batch_loss_golden.inc
The labels are soft: shares of classes, written out one by one here, so that neither PyTorch's label smoothing nor
a sum of two cross entropies has a part in it. All in float64.
"""
import torch

SIZE, CLASSES = 6, 5
CASES = [("Plain", False, 0.0), ("Smoothed", False, 0.1), ("Mixed", True, 0.0), ("MixedAndSmoothed", True, 0.3)]


def soft_labels(labels, partners, shares, smoothing):
    rows = torch.full((SIZE, CLASSES), smoothing / CLASSES, dtype=torch.float64)
    for i in range(SIZE):
        rows[i, labels[i]] += (1 - smoothing) * shares[i]
        rows[i, labels[partners[i]]] += (1 - smoothing) * (1 - shares[i])
    return rows


def numbers(values, suffix=""):
    return "{" + ", ".join(f"{v}{suffix}" for v in values) + "}"


def main():
    generator = torch.Generator().manual_seed(6)
    logits = (torch.randn(SIZE, CLASSES, generator=generator) * 3).double()
    labels = torch.randint(CLASSES, (SIZE,), generator=generator)
    partners = torch.tensor([5, 4, 3, 2, 1, 0])
    shares = torch.tensor([1.0, 0.75, 0.5, 0.25, 0.0, 0.625], dtype=torch.float64)
    print(f"// Made by tools/make_batch_loss_golden.py with torch {torch.__version__.split('+')[0]}; not to be edited.")
    print(f"constexpr int64_t kSize = {SIZE};\nconstexpr int64_t kClasses = {CLASSES};")
    print(f"constexpr float kLogits[] = {numbers(logits.flatten().tolist(), 'f')};")
    print(f"constexpr int64_t kLabels[] = {numbers(labels.tolist())};")
    print(f"constexpr int64_t kPartners[] = {numbers(partners.tolist())};")
    print(f"constexpr float kShares[] = {numbers(shares.tolist(), 'f')};")
    print("constexpr Golden kGoldens[] = {")
    for name, mixed, smoothing in CASES:
        leaf = logits.clone().requires_grad_(True)
        target = soft_labels(labels, partners, shares if mixed else torch.ones(SIZE), smoothing)
        loss = -(target * torch.log_softmax(leaf, 1)).sum(1).mean()
        loss.backward()
        print(f'    {{"{name}", {"true" if mixed else "false"}, {smoothing}, {loss.item()!r},')
        print(f"     {numbers(leaf.grad.flatten().tolist())}}},")
    print("};")


main()
