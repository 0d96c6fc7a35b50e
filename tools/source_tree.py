"""The files of a source tree, for the checks beside this file: which there are, and their lines."""

import pathlib

SKIPPED_DIRECTORIES = {".git", "build", "runs", "shared", "__pycache__", ".cache"}


def files(root, *tops, suffixes=()):
    """Paths relative to `root` of the files under the folders `tops` (or all), in a fixed order."""
    root = pathlib.Path(root)
    found = []
    for top in tops or (".",):
        for path in (root / top).rglob("*"):
            relative = path.relative_to(root)
            if SKIPPED_DIRECTORIES.intersection(relative.parts) or not path.is_file():
                continue
            if not suffixes or path.name.endswith(tuple(suffixes)):
                found.append(relative)
    return sorted(set(found))


def lines(root, relative):
    """(number from 1, text) of each line."""
    text = (pathlib.Path(root) / relative).read_text(encoding="utf-8", errors="replace")
    return list(enumerate(text.split("\n"), start=1))


def report(problems):
    """Prints the problems and returns the exit status."""
    for problem in problems:
        print(problem)
    return 1 if problems else 0
