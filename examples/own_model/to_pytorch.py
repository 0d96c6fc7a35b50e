#!/usr/bin/env python3
"""Puts the weights that a run has trained back into the TorchScript file that it trained.

Usage: to_pytorch.py NET.pt MODEL.safetensors TRAINED.pt

What the run does not exchange keeps NET.pt's value, and is named: parameters that require no gradient, and
buffers. The running statistics of batch norms must be made anew of training pictures before the model is used in
eval mode: torch.optim.swa_utils.update_bn does that.
"""
import json
import struct
import sys

import torch


def read_safetensors(path):
    with open(path, "rb") as file:
        (size,) = struct.unpack("<Q", file.read(8))
        header = json.loads(file.read(size))
        data = bytearray(file.read())
    header.pop("__metadata__", None)
    tensors = {}
    for name, entry in header.items():
        begin, end = entry["data_offsets"]
        tensors[name] = torch.frombuffer(data[begin:end], dtype=torch.float32).reshape(entry["shape"])
    return tensors


def main():
    net, model, trained = sys.argv[1:]
    module = torch.jit.load(net)
    missing, unexpected = module.load_state_dict(read_safetensors(model), strict=False)
    if unexpected:
        sys.exit(f"{model} is of another model: {net} has no {unexpected[0]}")
    for name in missing:
        print(f"as in {net}: {name}")
    module.save(trained)


if __name__ == "__main__":
    main()
