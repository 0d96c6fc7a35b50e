#!/usr/bin/python3
"""Scores a finished run's model.safetensors with PyTorch's own modules and compares with what run.db says, and
with what `interlude predict` says of the first pictures, written as files.

Independent of interlude: it reads the file format by hand, builds the ViT from torch.nn, and takes names and
shapes from the file alone. Exit 0: the same accuracy and probabilities; 1: others; 77: torch is not installed.

Usage: score_vit.py RUN_DIRECTORY HEADS TEST_SAMPLES PATH_OF_INTERLUDE
"""
import gzip
import json
import os
import sqlite3
import struct
import subprocess
import sys
import tempfile
import zlib

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
PREDICTED = 200
TOLERATED_DIFFERENCE = 1e-5


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


def png(pixels):
    """A gray picture as a PNG file."""
    height, width = pixels.shape
    rows = b"".join(b"\0" + pixels[y].tobytes() for y in range(height))

    def part(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + part(b"IHDR", header) + part(b"IDAT", zlib.compress(rows)) + part(b"IEND", b"")


def predicted(program, model, pixels):
    """What `interlude predict` says: the probability of each class of each picture."""
    with tempfile.TemporaryDirectory() as folder:
        names = [os.path.join(folder, f"{i:05}.png") for i in range(len(pixels))]
        for name, picture in zip(names, pixels):
            with open(name, "wb") as file:
                file.write(png(picture))
        lines = subprocess.run([program, "predict", "--json", "--top", "1000", model, folder], check=True,
                               stdout=subprocess.PIPE).stdout.splitlines()
    said = [json.loads(line) for line in lines]
    assert [one["file"] for one in said] == names
    for one in said:
        order = [entry["probability"] for entry in one["top"]]
        assert order == sorted(order, reverse=True)
    by_label = [sorted(one["top"], key=lambda entry: entry["label"]) for one in said]
    return torch.tensor([[entry["probability"] for entry in one] for one in by_label], dtype=torch.float64)


def main():
    directory, heads, limit, program = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
    torch.set_num_threads(1)
    tensors = read_safetensors(directory + "/model.safetensors")
    model = Vit(tensors, heads).eval()
    load(model, tensors)
    pixels = read_idx(DATA + "/t10k-images-idx3-ubyte.gz", 16).reshape(-1, 1, 28, 28)[:limit]
    labels = torch.from_numpy(read_idx(DATA + "/t10k-labels-idx1-ubyte.gz", 8)[:limit].astype(np.int64))
    images = (torch.from_numpy(pixels.astype(np.float32)) / 255 - MEAN) / DEVIATION
    with torch.no_grad():
        logits = torch.cat([model(part) for part in images.split(500)])
    guesses = logits.argmax(1)
    correct = int((guesses == labels).sum())

    database = sqlite3.connect(f"file:{directory}/run.db?mode=ro", uri=True)
    recorded, samples = database.execute(
        "SELECT correct, samples FROM evaluations ORDER BY after_rounds DESC LIMIT 1").fetchone()
    print(f"PyTorch: {correct} of {len(labels)} right; run.db: {recorded} of {samples}")
    if samples != len(labels) or abs(correct - recorded) > TOLERATED_FLIPS:
        sys.exit("the accuracies differ")

    ours = predicted(program, directory + "/model.safetensors", pixels[:PREDICTED, 0])
    difference = float((ours - logits[:PREDICTED].double().softmax(1)).abs().max())
    print(f"predictions of {len(ours)} files: no probability differs by more than {difference:.2g}")
    if difference > TOLERATED_DIFFERENCE:
        sys.exit("the probabilities differ")


if __name__ == "__main__":
    main()
