#!/usr/bin/env python3
"""Runs the commands of docs/tutorial.md as they stand there, on pictures that it draws, and holds what comes out against
what the page shows and promises.

A block ```sh is run; a block ```text behind it is what it prints, both streams. Words and whole numbers must be those of
the page; free are times, shares, decimals, hashes, dates, names of machines, and which worker it was. "..." stands for
anything. White space counts as one space: how lines are broken depends on the figures in them.

Usage: tutorial_test.py INTERLUDE [PAGE]. Exits 77 where the pictures cannot be drawn.
"""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

try:
    import tutorial_pictures
except ImportError as error:
    print("skipped: %s" % error)
    sys.exit(77)

PAGE = pathlib.Path(__file__).resolve().parent.parent / "docs" / "tutorial.md"
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.M | re.S)
TIMEOUT_SECONDS = 300

# What may differ: the output has something of the same form. The first that fits counts.
FREE = [
    r"\d{4}-\d\d-\d\dT[\d:]+Z",
    r"\d{8}T\d{6}Z-seed\d+-\d+",
    r"\b[0-9a-f]{32}\b",
    r"joined from \S+",
    r"worker \d+",
    r"after \d+ rounds of run",  # of the best model
    r"[-+]?[\d.,]*\d (?:us|ms|s|min|h)\b",
    r"[-+]?[\d.,]*\d(?= (?:%|samples/s|a second))",
    r"[-+]?\d+\.\d+",
]
FREE_OR_ANYTHING = re.compile("|".join([r"\.\.\.", *("(?P<free%d>%s)" % (i, form) for i, form in enumerate(FREE))]))


def fail(message):
    print("FAILED: %s" % message)
    sys.exit(1)


def blocks(text):
    """The page's blocks: (language, content, line)."""
    return [(match[1], match[2], text.count("\n", 0, match.start()) + 1) for match in FENCE.finditer(text)]


def flat(text):
    return " ".join(text.split())


def pattern_of(expected):
    text, parts, end = flat(expected), [], 0
    for match in FREE_OR_ANYTHING.finditer(text):
        parts.append(re.escape(text[end:match.start()]))
        parts.append(FREE[int(match.lastgroup[4:])] if match.lastgroup else ".*?")
        end = match.end()
    parts.append(re.escape(text[end:]))
    # Beside what stands for anything there may be no space.
    return "".join(parts).replace(r".*?\ ", r".*?\ ?").replace(r"\ .*?", r"\ ?.*?")


def first_difference(expected, printed):
    """The first line of `expected` up to which the output does not fit."""
    lines = expected.splitlines()
    for i in range(len(lines)):
        if not re.match(pattern_of("\n".join(lines[:i + 1])), flat(printed), re.S):
            return lines[i]
    return "the end: there is more"


def run(commands, folder, environment):
    done = subprocess.run(["bash", "-euo", "pipefail", "-c", commands], cwd=folder, env=environment,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=TIMEOUT_SECONDS)
    return done.returncode, done.stdout.decode(errors="replace")


def run_page(page, folder, environment):
    ran = 0
    last = None
    for language, content, line in blocks(page.read_text()):
        where = "%s, line %d" % (page.name, line)
        if language == "sh":
            print("== %s\n%s" % (where, content), flush=True)
            begin = time.monotonic()
            status, last = run(content, folder, environment)
            print("%s== %.1f s\n" % (last, time.monotonic() - begin), flush=True)
            if status:
                fail("%s: exit status %d" % (where, status))
            ran += 1
        elif language == "text":
            if last is None:
                fail("%s: there is no command that prints this" % where)
            if not re.fullmatch(pattern_of(content), flat(last), re.S):
                fail("%s: not as the page shows, from this line on: %s" % (where, first_difference(content, last)))
            last = None
        elif language:
            fail("%s: a block of %s is neither run nor held against anything" % (where, language))
    return ran


def draw(folder):
    """Everything that the page takes to be there."""
    for name in ("cherries", "lemons", "limes"):
        tutorial_pictures.fill(folder / "photos" / name, name, 24, 1, oddities=name == "limes")
        tutorial_pictures.fill(folder / "new" / name, name, 4, 2)
        tutorial_pictures.fill(folder / "scans" / name, name, 6, 3, least=700, most=900, save="png[compression=1]")
    tutorial_pictures.fill(folder / "later" / "plums", "plums", 24, 1)
    write_vit_b16(folder / "vit-base-patch16-224")


def write_vit_b16(folder):
    """A ViT-B/16 under Hugging Face's names, of zeros that take no room on the disk."""
    width, mlp, layers = 768, 3072, 12
    shapes = {"embeddings.cls_token": [1, 1, width], "embeddings.position_embeddings": [1, 197, width],
              "embeddings.patch_embeddings.projection.weight": [width, 3, 16, 16],
              "embeddings.patch_embeddings.projection.bias": [width], "layernorm.weight": [width],
              "layernorm.bias": [width]}
    for layer in range(layers):
        matrices = {"attention.attention.query": (width, width), "attention.attention.key": (width, width),
                    "attention.attention.value": (width, width), "attention.output.dense": (width, width),
                    "intermediate.dense": (mlp, width), "output.dense": (width, mlp)}
        for name, (rows, columns) in matrices.items():
            shapes["encoder.layer.%d.%s.weight" % (layer, name)] = [rows, columns]
            shapes["encoder.layer.%d.%s.bias" % (layer, name)] = [rows]
        for name in ("layernorm_before", "layernorm_after"):
            shapes["encoder.layer.%d.%s.weight" % (layer, name)] = [width]
            shapes["encoder.layer.%d.%s.bias" % (layer, name)] = [width]
    shapes = {"vit." + name: shape for name, shape in shapes.items()}
    shapes.update({"classifier.weight": [1000, width], "classifier.bias": [1000]})
    header, offset = {}, 0
    for name, shape in shapes.items():
        size = 4
        for side in shape:
            size *= side
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [offset, offset + size]}
        offset += size
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    folder.mkdir()
    with open(folder / "model.safetensors", "wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        file.truncate(8 + len(text) + offset)
    (folder / "config.json").write_text(json.dumps(
        {"hidden_act": "gelu", "layer_norm_eps": 1e-12, "num_attention_heads": 12}))


def check_promises(interlude, folder, environment):
    """What the page says in words."""
    def ask(*arguments):
        return subprocess.run([interlude, *arguments], cwd=folder, env=environment, check=True,
                              stdout=subprocess.PIPE, text=True).stdout

    for file in ("runs/first/model.safetensors", "runs/first/model-best.safetensors", "runs/first/run.db",
                 "report.html", "all_keys.toml"):
        if not (folder / file).is_file():
            fail("no %s" % file)
    for run_name, classes in (("first", 3), ("plums", 4)):
        evaluation = json.loads(ask("evaluate", "--json", "runs/" + run_name))
        share = evaluation["correct"] / evaluation["samples"]
        if share < 0.9 or len(evaluation["classes"]) != classes:
            fail("runs/%s: accuracy %.3f with %d classes" % (run_name, share, len(evaluation["classes"])))
    right = 0
    files = [json.loads(line) for line in ask("predict", "--json", "--top", "1", "runs/first", "new").splitlines()]
    for prediction in files:
        right += prediction["top"][0]["class"] == prediction["file"].split("/")[1]
    if len(files) != 12 or right != 12:
        fail("%d of %d new pictures were told rightly, not 12 of 12" % (right, len(files)))
    findings = {finding["id"]: finding for finding in json.loads(ask("report", "--json", "runs/scans"))["findings"]}
    if findings["training_waits_for_pictures"]["grade"] != "observed":
        fail("that training waits for pictures is not observed")
    slow = json.loads(ask("evaluate", "--json", "runs/slow"))
    if slow["correct"] / slow["samples"] > 0.7:
        fail("a rate of 1e-6 is not too small: %d of %d are right" % (slow["correct"], slow["samples"]))


def main():
    interlude = pathlib.Path(sys.argv[1]).resolve()
    page = pathlib.Path(sys.argv[2]).resolve() if len(sys.argv) > 2 else PAGE
    if not shutil.which("vips") or not shutil.which("vipsthumbnail"):
        print("skipped: there is no vips (libvips-tools)")
        sys.exit(77)
    environment = dict(os.environ, PATH="%s:%s" % (interlude.parent, os.environ["PATH"]), LC_ALL="C.UTF-8")
    with tempfile.TemporaryDirectory(prefix="interlude-tutorial-") as name:
        folder = pathlib.Path(name)
        draw(folder)
        ran = run_page(page, folder, environment)
        if ran < 10:
            fail("only %d blocks of commands in %s" % (ran, page))
        check_promises(interlude, folder, environment)
    print("%d blocks of commands do what the page says" % ran)


if __name__ == "__main__":
    main()
