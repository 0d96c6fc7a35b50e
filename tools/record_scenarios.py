#!/usr/bin/env python3
"""Plays the scenarios of the field report in their quick form and keeps the first case of each in testdata/scenarios.

Each is a run.db without what names the machine (strip_run.py), and findings.json: what the report finds in it, which
tests/recorded_scenarios_test.py compares. Needs root and a machine that does nothing else.

Usage: tools/record_scenarios.py [--binaries build/release/bin] [SCENARIO ...]
"""
import argparse
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
KEPT = ROOT / "testdata" / "scenarios"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--binaries", type=lambda path: pathlib.Path(path).resolve(), default=ROOT / "build/release/bin")
    parser.add_argument("scenarios", nargs="*", default=["all"])
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        subprocess.run([ROOT / "repro" / "run.py", "--binaries", options.binaries, "--quick", "--keep", scratch,
                        *options.scenarios], check=False)  # an expectation may be missed: the findings are looked at
        for run in sorted(pathlib.Path(scratch).glob("interlude-repro-*/0/run.db")):
            folder = KEPT / run.parts[-3].split("-")[2]
            folder.mkdir(parents=True, exist_ok=True)
            subprocess.run([ROOT / "tools" / "strip_run.py", run, folder / "run.db"], check=True)
            print(f"{folder.relative_to(ROOT)}: {(folder / 'run.db').stat().st_size:,} bytes")
    return subprocess.run([sys.executable, ROOT / "tests" / "recorded_scenarios_test.py",
                           options.binaries / "interlude", "--update"], check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
