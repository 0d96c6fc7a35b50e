#!/usr/bin/env python3
"""Measures how many pictures a core decodes, beside libvips' own command line on the same files in the same run.

Both scale the shorter side to the same length, one after the other, several times. vipsthumbnail writes what it has
scaled as plain pixels into memory (/dev/shm), the nearest that it has to a picture handed over in memory. What counts
is each process's CPU time, all threads and the start together, so that a busy machine does not matter; from ours goes
what it spends on the row below, the floats to train on. Pictures: those of --pictures, else the pets of
../shared/data, else generated ones. Exits 1 where the bar is missed.
"""

import argparse
import json
import os
import pathlib
import resource
import statistics
import subprocess
import sys
import tempfile

import results_section

ROOT = pathlib.Path(__file__).resolve().parent.parent
BAR = 0.8


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


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bench", default=ROOT / "build/release/bench/picture_bench", help="the program to measure")
    parser.add_argument("--pictures", help="folder of JPEG files")
    parser.add_argument("--count", type=int, default=200, help="files at most")
    parser.add_argument("--side", type=int, default=256)
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--write", metavar="PAGE", help="puts the table into the page's section `images`")
    options = parser.parse_args()
    shm = "/dev/shm" if os.path.isdir("/dev/shm") else None
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
    text, met = table(files, name, options, theirs, ours, transforms)
    print(text)
    if options.write:
        results_section.replace(options.write, "images", text)
    sys.exit(0 if met else 1)


if __name__ == "__main__":
    main()
