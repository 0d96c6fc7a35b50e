#!/usr/bin/env python3
"""Checks that the project speaks of itself, in its own words: no paths of one machine, no hosts but
well-known public ones, no issue numbers, and none of the words that the vocabulary leaves out.

Usage: check_project_words.py [ROOT]. Prints FILE:LINE: what is wrong; exits 1 when anything is.
"""

import pathlib
import re
import sys

import source_tree

TEXT_SUFFIXES = (".h", ".cc", ".c", ".cu", ".proto", ".cmake", "CMakeLists.txt", ".md", ".toml", ".py", ".sh",
                 ".txt", ".json", ".html", ".js", ".css", ".sql", "run")
# These files are about the patterns themselves.
EXEMPT = {"tools/check_project_words.py", "tools/check_project_words_test.py", "LICENSE"}

MACHINE_PATH = re.compile(r"(?<![\w./~])/(?:work|root|home|workspace|mnt)/\w+")
ISSUE = re.compile(r"\bissues?\s+#?\d+", re.I)
URL_HOST = re.compile(r"\b(?:https?|ftp|git|ssh)://(?:[^\s/@]*@)?([A-Za-z0-9.-]+)")
PUBLIC_HOSTS = {"apache.org", "arxiv.org", "github.com", "debian.org", "kernel.org", "w3.org", "huggingface.co",
                "pytorch.org", "grpc.io", "sqlite.org", "perfetto.dev", "toml.io", "json-schema.org", "doi.org",
                "openreview.net", "protobuf.dev", "localhost", "127.0.0.1"}

# The words and what to write instead.
OTHER_WORDS = {"client": "worker", "peer": "worker", "server": "coordinator", "master": "coordinator",
               "node": "machine"}
OTHER_WORD = re.compile(r"\b(" + "|".join(OTHER_WORDS) + r")s?\b", re.I)
# Other software's own terms, and code quoted in prose, keep their names.
QUOTED = re.compile(r"`[^`]*`|\"[^\"]*\"|\b(?:gRPC|HTTP|parameter|TOML|XML)'?s?[ -](?:client|server|peer|node)s?\b",
                    re.I)
CODE_SUFFIXES = (".h", ".cc", ".c", ".cu", ".proto")


def prose_of(path, line):
    """The part of a line that is written for people: comments of code, all of a document."""
    if path.name.endswith(CODE_SUFFIXES):
        comment = re.search(r"//(.*)$", line)
        return comment.group(1) if comment else ""
    return line if path.name.endswith((".md", ".toml")) else ""


def is_public(host):
    host = host.lower().rstrip(".")
    return any(host == public or host.endswith("." + public) for public in PUBLIC_HOSTS) or "." not in host


def problems_of_line(path, line):
    match = MACHINE_PATH.search(line)
    if match:
        yield f"{match.group()} is a path of one machine"
    match = ISSUE.search(line)
    if match:
        yield f"'{match.group()}': say what it is about instead of a number"
    for match in URL_HOST.finditer(line):
        if not is_public(match.group(1)):
            yield f"{match.group(1)} is not among PUBLIC_HOSTS in tools/check_project_words.py"
    for match in OTHER_WORD.finditer(QUOTED.sub("", prose_of(path, line))):
        word = match.group(1).lower()
        yield f"'{match.group()}' is not a word of this project; write {OTHER_WORDS[word]}, or quote another's term"


def check(root):
    root = pathlib.Path(root)
    problems = []
    for path in source_tree.files(root, suffixes=TEXT_SUFFIXES):
        if str(path) in EXEMPT:
            continue
        for number, line in source_tree.lines(root, path):
            problems.extend(f"{path}:{number}: {problem}" for problem in problems_of_line(path, line))
    return problems


if __name__ == "__main__":
    default_root = pathlib.Path(__file__).resolve().parent.parent
    sys.exit(source_tree.report(check(sys.argv[1] if len(sys.argv) > 1 else default_root)))
