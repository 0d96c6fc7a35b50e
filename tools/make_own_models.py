#!/usr/bin/env python3
"""Writes what src/train/own_model_test.cc needs: TorchScript files, and what training them in PyTorch comes to.

Usage: make_own_models.py FOLDER

Of each model NAME there are NAME.pt as it begins, and, after STEPS steps of SGD, NAME.parameters (those that
are trained, in named_parameters order, one after the other), NAME.losses (of each step), NAME.statistics (the
buffers that are floats) and NAME.logits (of the last batch, as it is scored): fp32 values without a header.
pictures and labels (int64) are the batches of all steps. The other .pt files are there to be refused.
"""

import copy
import pathlib
import sys

import torch
from torch import nn

STEPS, BATCH, SIDE, CLASSES = 8, 12, 8, 10
RATE, MOMENTUM, DECAY = 0.05, 0.9, 0.01


class Cnn(nn.Module):
    """With a batch norm, a filter whose memory is not in the order of its shape, and a frozen parameter."""

    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.tensor(1.5), requires_grad=False)
        self.first = nn.Conv2d(1, 6, 3, padding=1, bias=False)
        self.norm = nn.BatchNorm2d(6)
        self.second = nn.Conv2d(6, 8, 3).to(memory_format=torch.channels_last)
        self.head = nn.Linear(8, CLASSES)

    def forward(self, x):
        x = torch.relu(self.norm(self.first(x * self.scale)))
        return self.head(torch.relu(self.second(x)).mean(dim=[2, 3]))


class Mlp(nn.Module):
    """With a batch norm, and two layers that share their weights."""

    def __init__(self):
        super().__init__()
        self.first = nn.Linear(SIDE * SIDE, 16)
        self.norm = nn.BatchNorm1d(16)
        self.second = nn.Linear(16, 16)
        self.third = nn.Linear(16, 16)
        self.third.weight = self.second.weight
        self.head = nn.Linear(16, CLASSES)

    def forward(self, x):
        x = torch.relu(self.norm(self.first(x.flatten(1))))
        return self.head(torch.relu(self.third(torch.relu(self.second(x)))))


class Dropping(nn.Module):
    def __init__(self):
        super().__init__()
        self.drop = nn.Dropout(0.5)
        self.head = nn.Linear(SIDE * SIDE, CLASSES)

    def forward(self, x):
        return self.head(self.drop(x.flatten(1)))


class Plain(nn.Module):
    def __init__(self, classes=CLASSES):
        super().__init__()
        self.head = nn.Linear(SIDE * SIDE, classes)

    def forward(self, x):
        return self.head(x.flatten(1))


class Failing(Plain):
    def forward(self, x):
        if x.size(0) > 0:
            raise ValueError("this model has no use for pictures")
        return self.head(x.flatten(1))


class Pair(Plain):
    def forward(self, x):
        return self.head(x.flatten(1)), x


def write(path, tensors):
    path.write_bytes(b"".join(t.detach().contiguous().numpy().tobytes() for t in tensors))


def export(folder, name, model):
    torch.jit.script(model).save(str(folder / f"{name}.pt"))


def train(folder, name, model, pictures, labels):
    trained = [p for p in model.parameters() if p.requires_grad]
    groups = [{"params": [p for p in trained if p.dim() >= 2], "weight_decay": DECAY},
              {"params": [p for p in trained if p.dim() < 2], "weight_decay": 0.0}]
    optimizer = torch.optim.SGD(groups, lr=RATE, momentum=MOMENTUM)
    losses = []
    model.train()
    for step in range(STEPS):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(pictures[step]), labels[step])
        loss.backward()
        optimizer.step()
        losses.append(loss)
    write(folder / f"{name}.parameters", trained)
    write(folder / f"{name}.losses", losses)
    write(folder / f"{name}.statistics", [b for b in model.buffers() if b.is_floating_point()])
    model.eval()
    write(folder / f"{name}.logits", [model(pictures[-1])])


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    torch.set_num_threads(1)
    torch.manual_seed(1)
    pictures = torch.randn(STEPS, BATCH, 1, SIDE, SIDE)
    labels = torch.randint(CLASSES, (STEPS, BATCH))
    write(folder / "pictures", [pictures])
    write(folder / "labels", [labels])
    cnn, mlp = Cnn(), Mlp()
    export(folder, "cnn", cnn)
    export(folder, "mlp", mlp)
    # A copy, since a batch norm moves its statistics while it is traced.
    traced = torch.jit.trace(copy.deepcopy(cnn), pictures[0], check_trace=False)
    traced.load_state_dict(cnn.state_dict())
    traced.save(str(folder / "cnn-traced.pt"))
    train(folder, "cnn", cnn, pictures, labels)
    train(folder, "mlp", mlp, pictures, labels)

    export(folder, "dropping", Dropping())
    (folder / "text.pt").write_text("weights\n")
    export(folder, "eleven", Plain(11))
    export(folder, "failing", Failing())
    export(folder, "pair", Pair())
    export(folder, "double", Plain().double())
    frozen = Plain()
    frozen.requires_grad_(False)
    export(folder, "frozen", frozen)


if __name__ == "__main__":
    main()
