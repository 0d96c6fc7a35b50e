#!/usr/bin/env python3
"""Records the raw deltas and sync updates of training runs, for tools/fit_codebook.py.

Trains with codec fp32, whose payloads are the values themselves, and copies them from the run's journal
(docs/formats/journal.md) while the run goes on: the journal keeps two rounds, so a round can be read until the
one after it is over. Writes NAME.npz for each run: `deltas` [rounds, slots, params] fp32, the slots being those of
the workers in the order of their ids and then the sync update; `rounds` [rounds]; and the tensors' `names` and
`ends` in the flat order. Uses the release build (./run build) and numpy. Needs 260 MB on disk.

Usage: tools/collect_deltas.py DIRECTORY [NAME ...]      all runs of RUNS without a name
"""

import argparse
import json
import pathlib
import struct
import subprocess
import sys
import tempfile
import time

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parent.parent
PROGRAM = ROOT / "build/release/bin/interlude"
CONFIG = ROOT / "examples/fashion_mnist.toml"

CONVNET = ["model.kind=convnet", "train.learning_rate=1e-3"]
SGD = ["train.optimizer=sgd", "train.learning_rate=0.05"]
BIG_VIT = ["model.hidden_size=192", "model.layers=6", "model.mlp_size=768", "train.learning_rate=5e-4",
           "train.batch=32"]
# name: workers, local steps, rounds of the run, rounds that are kept, what differs from the demo's configuration
RUNS = {
    "vit-h20": (2, 20, 36, range(1, 37), []),
    "vit-h5": (2, 5, 100, (1, 2, 5, 10, 30, 60, 100), []),
    "vit-h100": (2, 100, 12, (1, 2, 3, 6, 9, 12), []),
    "vit-4-workers": (4, 20, 16, (1, 2, 4, 8, 12, 16), []),
    "vit-sgd": (2, 20, 24, (1, 2, 4, 8, 16, 24), SGD),
    "vit-big": (2, 20, 8, (1, 2, 4, 8), BIG_VIT),
    "convnet-h20": (2, 20, 24, (1, 2, 4, 8, 16, 24), CONVNET),
    "convnet-h100": (2, 100, 6, (1, 2, 4, 6), CONVNET),
    "convnet-sgd": (2, 20, 12, (1, 2, 4, 8, 12), ["model.kind=convnet"] + SGD),
}


def read_tensors(path):
    """Names and ends (in values) of the tensors of a model file, in layout order."""
    with open(path, "rb") as file:
        (length,) = struct.unpack("<Q", file.read(8))
        header = json.loads(file.read(length))
    tensors = [(entry["data_offsets"][1] // 4, name) for name, entry in header.items() if name != "__metadata__"]
    tensors.sort()
    return [name for _, name in tensors], [end for end, _ in tensors]


def read_round(path):
    """(round, values [slots, params]) of a journal file, or None while a chunk of its round is missing."""
    data = path.read_bytes()
    if len(data) < 128 or data[:8] != b"ILJOURNL":
        return None
    version, slots, chunks, _, _, number = struct.unpack_from("<6I", data, 8)
    if version != 1:
        sys.exit(f"{path}: a journal of version {version}; this tool reads version 1")
    index_offset, data_offset, slot_bytes = struct.unpack_from("<3Q", data, 32)
    for seal in range(slots * chunks):
        if struct.unpack_from("<I4s", data, index_offset + 32 * seal + 16) != (number, b"SEAL"):
            return None
    sizes = np.frombuffer(data, "<u8", chunks, 128)
    starts = np.concatenate([[0], np.cumsum((sizes + 63) // 64 * 64)]).astype(np.uint64)
    values = [np.concatenate([np.frombuffer(data, "<f4", int(size) // 4, int(data_offset + slot * slot_bytes + start))
                              for size, start in zip(sizes, starts)]) for slot in range(slots)]
    with open(path, "rb") as file:  # a round that began meanwhile has written its number first
        if struct.unpack_from("<I", file.read(32), 28)[0] != number:
            return None
    return number, np.stack(values)


def follow(process, journal, wanted):
    """The wanted rounds of a running process, by number."""
    found = {}
    while True:
        running = process.poll() is None  # asked first: the last round may end between the two
        for path in journal.glob("ring-*.journal"):
            result = read_round(path)
            if result is not None and result[0] in wanted and result[0] not in found:
                found[result[0]] = result[1]
        if not running:
            return found
        time.sleep(0.01)


def collect(name, directory):
    workers, steps, rounds, wanted, settings = RUNS[name]
    with tempfile.TemporaryDirectory() as scratch:
        run = pathlib.Path(scratch) / "run"
        command = [PROGRAM, "run", "--workers", str(workers), "--config", CONFIG, "--dir", run, "--quiet",
                   "--threads", "1"]
        for setting in ["round.codec=fp32", f"round.local_steps={steps}", f"round.rounds={rounds}",
                        "round.evaluate_every=0"] + settings:
            command += ["--set", setting]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        found = follow(process, run / "journal", set(wanted))
        if process.returncode != 0:
            sys.exit(f"{name}: the run ended with status {process.returncode}")
        missing = sorted(set(wanted) - found.keys())
        if missing:
            sys.exit(f"{name}: rounds {missing} were over before they were read; try again on an idler machine")
        names, ends = read_tensors(run / "model.safetensors")
    kept = sorted(found)
    deltas = np.stack([found[number] for number in kept])
    np.savez(directory / f"{name}.npz", deltas=deltas, rounds=kept, names=names, ends=ends)
    print(f"{name}: {len(kept)} rounds, {workers} workers and the sync update, {deltas.shape[2]:,} parameters",
          flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory", type=pathlib.Path)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(RUNS))
    options = parser.parse_args()
    unknown = set(options.names) - RUNS.keys()
    if unknown:
        sys.exit(f"no run is called {', '.join(sorted(unknown))}; the runs are {', '.join(RUNS)}")
    if not PROGRAM.exists():
        sys.exit(f"{PROGRAM} is not built: ./run build")
    options.directory.mkdir(parents=True, exist_ok=True)
    for name in options.names or RUNS:
        collect(name, options.directory)


if __name__ == "__main__":
    main()
