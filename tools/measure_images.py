#!/usr/bin/env python3
"""Measures how many pictures a core decodes, beside libvips' own command line on the same files in the same run.

Both scale the shorter side to the same length, one after the other, several times. vipsthumbnail writes what it has
scaled as plain pixels into memory (/dev/shm), the nearest that it has to a picture handed over in memory. What counts
is each process's CPU time, all threads and the start together, so that a busy machine does not matter; from ours goes
what it spends on the row below, the floats to train on. Pictures: those of --pictures, else the pets of
../shared/data, else generated ones.

Then it trains ViT-Ti/16 at 224 pixels on the same files with one and with two workers, no decoded picture kept, so that
each is decoded whenever it is needed, and asks run.db for how long training stood still for pictures: the query that
docs/data.md names. Beside it stands the CPU time that preparing them took, of all that the worker used while it
trained: on a CPU it is taken from training, wait or not. Exits 1 where a bar is missed.
"""

import argparse
import json
import os
import pathlib
import resource
import sqlite3
import statistics
import subprocess
import sys
import tempfile

import results_section

ROOT = pathlib.Path(__file__).resolve().parent.parent
BAR = 0.8
WAIT_BAR = 2.0  # percent


def generated(folder, count):
    """Photograph-like JPEG files: smooth noise in three colors, of the size that cameras' previews have."""
    for i in range(count):
        planes = []
        for color in range(3):
            plane = folder / ("plane%d.v" % color)
            subprocess.run(["vips", "perlin", plane, "1024", "768", "--cell-size", "64", "--seed", str(3 * i + color)],
                           check=True)
            planes.append(str(plane))
        joined, scaled = folder / "joined.v", folder / "scaled.v"
        subprocess.run(["vips", "bandjoin", " ".join(planes), joined], check=True)
        subprocess.run(["vips", "linear", joined, scaled, "100", "128", "--uchar"], check=True)
        subprocess.run(["vips", "jpegsave", scaled, folder / ("%03d.jpg" % i), "--Q", "90"], check=True)
    return sorted(folder.glob("*.jpg"))


def pictures(options, folder):
    """The files to decode and what to call them."""
    pets = ROOT.parent / "shared" / "data" / "oxford-pets" / "images"
    where = pathlib.Path(options.pictures) if options.pictures else pets
    if where.is_dir():
        files = [path for path in sorted(where.iterdir()) if path.suffix.lower() in (".jpg", ".jpeg")]
        # Only what is a JPEG by its content: vipsthumbnail and ours shrink while they load those alone.
        files = [path for path in files if path.read_bytes()[:3] == b"\xff\xd8\xff"]
        files = files[::max(1, len(files) // options.count)][:options.count]
        return files, "the pets" if where == pets else "the given pictures"
    if options.pictures:
        sys.exit("no folder %s" % where)
    return generated(folder, min(options.count, 64)), "generated pictures of 1024 x 768"


def cpu_of_children():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def vipsthumbnail_seconds(files, side, folder):
    """--smartcrop scales the shorter side to `side`, as ours does, and cuts the rest off."""
    before = cpu_of_children()
    subprocess.run(["vipsthumbnail", "--size", "%dx%d" % (side, side), "--smartcrop", "centre", "--output",
                    "%s/%%s.ppm" % folder, *files], check=True, env={**os.environ, "VIPS_CONCURRENCY": "1"})
    return cpu_of_children() - before


def our_seconds(program, files, side):
    """Of decoding, and of what comes after it."""
    before = cpu_of_children()
    printed = subprocess.run([program, str(side), *files], check=True, stdout=subprocess.PIPE).stdout
    transform = json.loads(printed)["transform_ns"] / 1e9
    return cpu_of_children() - before - transform, transform


def table(files, name, options, theirs, ours, transforms):
    per_second = lambda seconds: len(files) / statistics.median(seconds)
    ratios = [a / b for a, b in zip(theirs, ours)]
    ratio = statistics.median(ratios)
    rows = ["%d JPEG files (%s), shorter side to %d, medians of %d turns:" % (len(files), name, options.side,
                                                                             options.turns), "",
            "| what | pictures a second and core | of vipsthumbnail | least to most | bar | |", "|---|---|---|---|---|---|",
            "| vipsthumbnail | %.0f | 1.00 | | | |" % per_second(theirs),
            "| decoded by the loader | %.0f | %.2f | %.2f to %.2f | %.2f | %s |" % (
                per_second(ours), ratio, min(ratios), max(ratios), BAR, "met" if ratio >= BAR else "**not met**"),
            "| random crop, flip and normalisation to %d pixels | %.0f | | | | |" % (options.side * 7 // 8,
                                                                                 per_second(transforms))]
    return "\n".join(rows), ratio >= BAR


# A worker's training, all rounds, the first among them: milliseconds, and shares in percent.
SHARES = """
SELECT l.recorded_by, sum(l.end_ns - l.begin_ns) / 1e6, 100.0 * sum(l.busy_ns) / sum(l.end_ns - l.begin_ns),
       100.0 * sum(l.cpu_ns) / sum(t.cpu_ns)
FROM spans l JOIN spans t ON t.phase = 'train' AND t.round = l.round AND t.recorded_by = l.recorded_by
WHERE l.phase = 'load' GROUP BY 1 ORDER BY 1"""


def train(interlude, files, options, folder, workers):
    """A row for each worker of one run."""
    photos = pathlib.Path(folder) / ("photos-%d" % workers)
    for i, path in enumerate(files):  # two classes, one as good as another
        link = photos / str(i % 2) / ("%d-%s" % (i, path.name))
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(path.resolve())
    run = pathlib.Path(folder) / ("run-%d" % workers)
    config = run.with_suffix(".toml")
    config.write_text("""
[model]
preset = "vit_ti16"
classes = 2
[data]
name = "folder"
directory = "%s"
cache = false
[augment]
random_crop = true
flip = 0.5
[train]
batch = 16
[round]
rounds = %d
local_steps = %d
""" % (photos, options.rounds, options.steps))
    done = subprocess.run([interlude, "run", "--workers", str(workers), "--config", config, "--dir", run, "--quiet"],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        sys.exit("the run with %d workers failed:\n%s" % (workers, done.stdout))
    database = sqlite3.connect("file:%s/run.db?mode=ro" % run, uri=True)
    samples = dict(database.execute("SELECT worker, sum(samples) FROM worker_rounds GROUP BY 1"))
    return [(workers, worker, samples[worker] / milliseconds * 1e3, waited, cpu)
            for worker, milliseconds, waited, cpu in database.execute(SHARES)]


def pipeline_table(rows, options, load):
    lines = ["ViT-Ti/16 at 224 x 224 pixels, batches of 16, %d rounds of %d local steps, AdamW, fp32 on the CPU, random "
             "crop and flip, no decoded picture kept; %d CPUs, load average %.1f before it began:" % (
                 options.rounds, options.steps, os.cpu_count(), load), "",
             "| workers on the machine | worker | pictures a second | % of its training that it waited for pictures | bar | "
             "| % of its CPU time for pictures |", "|---|---|---|---|---|---|---|"]
    for workers, worker, speed, waited, cpu in rows:
        lines.append("| %d | %d | %.1f | %.2f | %.0f | %s | %.1f |" % (
            workers, worker, speed, waited, WAIT_BAR, "met" if waited <= WAIT_BAR else "**not met**", cpu))
    return "\n".join(lines), all(row[3] <= WAIT_BAR for row in rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bench", default=ROOT / "build/release/bench/picture_bench", help="the program that decodes")
    parser.add_argument("--interlude", default=ROOT / "build/release/bin/interlude", help="the program to train with")
    parser.add_argument("--rounds", type=int, default=3, help="of training")
    parser.add_argument("--steps", type=int, default=5, help="local steps a round")
    parser.add_argument("--pictures", help="folder of JPEG files")
    parser.add_argument("--count", type=int, default=200, help="files at most")
    parser.add_argument("--side", type=int, default=256)
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--write", metavar="PAGE", help="puts the table into the page's section `images`")
    options = parser.parse_args()
    shm = "/dev/shm" if os.path.isdir("/dev/shm") else None
    load = os.getloadavg()[0]
    with tempfile.TemporaryDirectory(dir=shm) as folder:
        files, name = pictures(options, pathlib.Path(folder))
        if not files:
            sys.exit("no JPEG files")
        theirs, ours, transforms = [], [], []
        for _ in range(options.turns):
            theirs.append(vipsthumbnail_seconds(files, options.side, folder))
            decode, transform = our_seconds(options.bench, files, options.side)
            ours.append(decode)
            transforms.append(transform)
        decoding, quick = table(files, name, options, theirs, ours, transforms)
        print(decoding, end="\n\n", flush=True)
        rows = [row for workers in (1, 2) for row in train(options.interlude, files, options, folder, workers)]
    pipeline, fed = pipeline_table(rows, options, load)
    print(pipeline)
    text, met = decoding + "\n\n" + pipeline, quick and fed
    if options.write:
        results_section.replace(options.write, "images", text)
    sys.exit(0 if met else 1)


if __name__ == "__main__":
    main()
