#!/usr/bin/env python3
"""Checks what no compiler sees: `#pragma once` in every header, every source and test listed in a
CMakeLists.txt, no sleeping in tests.

Usage: check_files.py [ROOT]. Prints FILE:LINE: what is wrong; exits 1 when anything is.
"""

import pathlib
import re
import sys

import source_tree

TOPS = ("src", "tests", "bench", "tools")
SLEEP = re.compile(r"\b(sleep_for|sleep_until|usleep|nanosleep|sleep)\s*\(")


def check_pragma_once(root):
    for path in source_tree.files(root, *TOPS, suffixes=(".h",)):
        # A file that Highway includes once for each instruction set has a guard of its own kind.
        if path.name.endswith("-inl.h"):
            continue
        if not any(line.strip() == "#pragma once" for _, line in source_tree.lines(root, path)):
            yield f"{path}:1: no #pragma once"


def listed_in(root, folder):
    """The words of the CMakeLists.txt of `folder` and of the folders above it."""
    words = set()
    while True:
        listing = root / folder / "CMakeLists.txt"
        if listing.is_file():
            text = re.sub(r"#[^\n]*", "", listing.read_text())
            words.update(word.split("/")[-1] for word in re.split(r"[\s()\"]+", text))
        if folder == pathlib.Path("."):
            return words
        folder = folder.parent


def check_listed(root):
    for path in source_tree.files(root, *TOPS, suffixes=(".cc",)):
        if path.name not in listed_in(root, path.parent):
            yield f"{path}:1: no CMakeLists.txt lists this file, so nothing builds it"


def check_sleeps(root):
    for path in source_tree.files(root, *TOPS, suffixes=("_test.cc",)):
        for number, line in source_tree.lines(root, path):
            if SLEEP.search(line.split("//")[0]):
                yield f"{path}:{number}: a test must not sleep; move a ManualClock or wait for an event"


def check(root):
    root = pathlib.Path(root)
    return [*check_pragma_once(root), *check_listed(root), *check_sleeps(root)]


if __name__ == "__main__":
    default_root = pathlib.Path(__file__).resolve().parent.parent
    sys.exit(source_tree.report(check(sys.argv[1] if len(sys.argv) > 1 else default_root)))
