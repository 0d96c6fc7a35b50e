#!/usr/bin/python3
"""Trains a TorchScript file in a run, and lets PyTorch score what comes of it.

The file has a batch norm, whose statistics are no part of the run: PyTorch makes them anew, as interlude's
evaluation does, of other training pictures. Exit 0: the accuracy is the run's, but for that; 77: torch is not
installed.

Usage: own_model.py PATH_OF_INTERLUDE
"""
import json
import pathlib
import subprocess
import sys
import tempfile

try:
    import torch
    from torch import nn
except ImportError as error:
    print(f"skipped: {error}; install python3-torch and python3-numpy")
    sys.exit(77)

from score_vit import DATA, DEVIATION, MEAN, read_idx

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
TRAIN, TEST = 4000, 1000
CLOSE = 0.02  # the statistics are of other pictures

RUN = """
[model]
kind = "torchscript"
file = "{file}"
[data]
train_limit = {train}
test_limit = {test}
[train]
batch = 64
learning_rate = 0.003
warmup_steps = 2
[round]
rounds = 2
local_steps = 25
"""


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.filters = nn.Conv2d(1, 8, 5, stride=2)
        self.norm = nn.BatchNorm2d(8)
        self.head = nn.Linear(8 * 12 * 12, 10)

    def forward(self, x):
        return self.head(torch.relu(self.norm(self.filters(x))).flatten(1))


def pictures(part, count):
    pixels = read_idx(f"{DATA}/{part}-images-idx3-ubyte.gz", 16).reshape(-1, 1, 28, 28)[:count]
    return (torch.from_numpy(pixels.copy()).float() / 255 - MEAN) / DEVIATION


def score(trained):
    model = torch.jit.load(trained)
    with torch.no_grad():
        model.train()
        for batch in pictures("train", TRAIN).split(100):
            model(batch)
        model.eval()
        predicted = model(pictures("t10k", TEST)).argmax(1)
    labels = torch.from_numpy(read_idx(f"{DATA}/t10k-labels-idx1-ubyte.gz", 8)[:TEST].copy())
    return (predicted == labels).float().mean().item()


def main():
    interlude = sys.argv[1]
    torch.manual_seed(1)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        net, run, trained = folder / "net.pt", folder / "run", folder / "trained.pt"
        torch.jit.script(Net()).save(str(net))
        (folder / "run.toml").write_text(RUN.format(file=net, train=TRAIN, test=TEST))
        subprocess.run([interlude, "run", "--workers", "2", "--config", folder / "run.toml", "--dir", run, "--quiet"],
                       check=True)
        evaluated = subprocess.run([interlude, "evaluate", run / "model.safetensors", "--json"], check=True,
                                   capture_output=True, text=True).stdout
        subprocess.run(["/usr/bin/python3", ROOT / "examples/own_model/to_pytorch.py", net, run / "model.safetensors",
                        trained], check=True)
        counted = json.loads(evaluated)
        ours, theirs = counted["correct"] / counted["samples"], score(str(trained))
    print(f"accuracy: interlude evaluate {ours:.4f}, PyTorch {theirs:.4f}")
    return 0 if ours > 0.5 and abs(ours - theirs) <= CLOSE else 1


if __name__ == "__main__":
    sys.exit(main())
