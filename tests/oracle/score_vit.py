#!/usr/bin/python3
"""Scores a finished run's model.safetensors with PyTorch's own modules and compares with what run.db says.

Independent of interlude: it reads the file format by hand, builds the ViT from torch.nn, and takes names and
shapes from the file alone. Exit 0: the same accuracy; 1: another one; 77: torch is not installed.

Usage: score_vit.py RUN_DIRECTORY HEADS [TEST_SAMPLES]
"""
import gzip
import json
import sqlite3
import struct
import sys

try:
    import numpy as np
    import torch
    from torch import nn
except ImportError as error:
    print(f"skipped: {error}; install python3-torch and python3-numpy")
    sys.exit(77)

DATA = "/usr/share/datasets/fashion-mnist"
MEAN, DEVIATION = 0.2860, 0.3530
# Sums in another order round differently; a sample whose two best classes are that near may flip.
TOLERATED_FLIPS = 1


def read_safetensors(path):
    with open(path, "rb") as file:
        (size,) = struct.unpack("<Q", file.read(8))
        header = json.loads(file.read(size))
        data = file.read()
    header.pop("__metadata__", None)
    tensors = {}
    for name, entry in header.items():
        assert entry["dtype"] == "F32", name
        begin, end = entry["data_offsets"]
        values = np.frombuffer(data[begin:end], dtype="<f4").reshape(entry["shape"])
        tensors[name] = torch.from_numpy(values.copy())
    return tensors


def read_idx(path, offset):
    with gzip.open(path, "rb") as file:
        return np.frombuffer(file.read(), dtype=np.uint8, offset=offset)


class Layer(nn.Module):
    def __init__(self, hidden, heads, mlp):
        super().__init__()
        self.before = nn.LayerNorm(hidden, eps=1e-12)
        self.attention = nn.MultiheadAttention(hidden, heads, batch_first=True)
        self.after = nn.LayerNorm(hidden, eps=1e-12)
        self.mlp = nn.Sequential(nn.Linear(hidden, mlp), nn.GELU(), nn.Linear(mlp, hidden))

    def forward(self, x):
        normed = self.before(x)
        x = x + self.attention(normed, normed, normed, need_weights=False)[0]
        return x + self.mlp(self.after(x))


class Vit(nn.Module):
    def __init__(self, tensors, heads):
        super().__init__()
        projection = tensors["vit.embeddings.patch_embeddings.projection.weight"]
        hidden, channels, patch, _ = projection.shape
        mlp = tensors["vit.encoder.layer.0.intermediate.dense.weight"].shape[0]
        count = len([n for n in tensors if n.endswith("layernorm_before.weight")])
        self.cls = nn.Parameter(tensors["vit.embeddings.cls_token"])
        self.positions = nn.Parameter(tensors["vit.embeddings.position_embeddings"])
        self.patches = nn.Conv2d(channels, hidden, patch, stride=patch)
        self.layers = nn.ModuleList(Layer(hidden, heads, mlp) for _ in range(count))
        self.norm = nn.LayerNorm(hidden, eps=1e-12)
        self.classifier = nn.Linear(hidden, tensors["classifier.weight"].shape[0])

    def forward(self, images):
        x = self.patches(images).flatten(2).transpose(1, 2)
        x = torch.cat([self.cls.expand(len(images), -1, -1), x], 1) + self.positions
        for layer in self.layers:
            x = layer(x)
        return self.classifier(self.norm(x[:, 0]))


def load(model, tensors):
    used = set()

    def take(name):
        used.add(name)
        return tensors[name]

    def fill(module, name):
        module.weight.data.copy_(take(name + ".weight"))
        module.bias.data.copy_(take(name + ".bias"))

    used.update(["vit.embeddings.cls_token", "vit.embeddings.position_embeddings"])
    fill(model.patches, "vit.embeddings.patch_embeddings.projection")
    for i, layer in enumerate(model.layers):
        prefix = f"vit.encoder.layer.{i}."
        fill(layer.before, prefix + "layernorm_before")
        fill(layer.after, prefix + "layernorm_after")
        fill(layer.mlp[0], prefix + "intermediate.dense")
        fill(layer.mlp[2], prefix + "output.dense")
        fill(layer.attention.out_proj, prefix + "attention.output.dense")
        parts = [prefix + "attention.attention." + part for part in ("query", "key", "value")]
        layer.attention.in_proj_weight.data.copy_(torch.cat([take(p + ".weight") for p in parts]))
        layer.attention.in_proj_bias.data.copy_(torch.cat([take(p + ".bias") for p in parts]))
    fill(model.norm, "vit.layernorm")
    fill(model.classifier, "classifier")
    assert used == set(tensors), f"tensors that Hugging Face's ViT does not have: {set(tensors) - used}"


def main():
    directory, heads = sys.argv[1], int(sys.argv[2])
    limit = int(sys.argv[3]) if len(sys.argv) > 3 else 10000
    torch.set_num_threads(1)
    tensors = read_safetensors(directory + "/model.safetensors")
    model = Vit(tensors, heads).eval()
    load(model, tensors)
    pixels = read_idx(DATA + "/t10k-images-idx3-ubyte.gz", 16).reshape(-1, 1, 28, 28)[:limit]
    labels = torch.from_numpy(read_idx(DATA + "/t10k-labels-idx1-ubyte.gz", 8)[:limit].astype(np.int64))
    images = (torch.from_numpy(pixels.astype(np.float32)) / 255 - MEAN) / DEVIATION
    with torch.no_grad():
        guesses = torch.cat([model(part).argmax(1) for part in images.split(500)])
    correct = int((guesses == labels).sum())

    database = sqlite3.connect(f"file:{directory}/run.db?mode=ro", uri=True)
    recorded, samples = database.execute(
        "SELECT correct, samples FROM evaluations ORDER BY after_rounds DESC LIMIT 1").fetchone()
    print(f"PyTorch: {correct} of {len(labels)} right; run.db: {recorded} of {samples}")
    if samples != len(labels) or abs(correct - recorded) > TOLERATED_FLIPS:
        sys.exit("the accuracies differ")


main()
