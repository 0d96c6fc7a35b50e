#!/usr/bin/env python3
"""Measures what analysing a long run costs, and writes the table into docs/results.md.

Makes the database of a simulated run of 8 workers and 64 chunks with ledger_bench, and analyses it some times, each
time in a fresh process and beside reading the same rows with SQLite alone. `./run ledger` calls it.

Usage: tools/measure_ledger.py [--spans 1000000] [--times 5] [--build build/release] [--write docs/results.md]
"""
import argparse
import json
import os
import pathlib
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time

import results_section

ROOT = pathlib.Path(__file__).resolve().parent.parent
MOST_SECONDS, MOST_BYTES = 2.0, 500e6


def bench(build, *arguments):
    command = [build / "bench/ledger_bench", *map(str, arguments)]
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)


def read_rows(path):
    """(wall, CPU seconds, rows) of SQLite's own way through every value of every row."""
    begin, cpu = time.monotonic(), time.process_time()  # os.times() counts in steps of 10 ms
    rows = 0
    with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as database:
        tables = [name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        for table in tables:
            columns = [row[1] for row in database.execute(f"PRAGMA table_info({table})")]
            largest = ", ".join(f"max({column})" for column in columns)
            rows += database.execute(f"SELECT count(*), {largest} FROM {table}").fetchone()[0]
    return time.monotonic() - begin, time.process_time() - cpu, rows


def verdict(met):
    return "met" if met else "**not met**"


def table(written, reads, analyses, rows):
    def median(figures):
        return statistics.median(figures)

    def spread(figures):
        return f"{min(figures):.2f} to {max(figures):.2f}"

    wall = [figures["wall_seconds"] for figures in analyses]
    cpu = [figures["cpu_seconds"] for figures in analyses]
    peak = max(figures["peak_bytes"] for figures in analyses)
    one = analyses[0]
    ratio = median([c / r[1] for c, r in zip(cpu, reads)])
    return [
        f"{one['rounds']:,} rounds of 8 workers and 64 chunks, {one['run_seconds'] / 3600:.1f} hours: {rows:,} rows, "
        f"{written['bytes'] / 1e6:.0f} MB; {one['causes']:,} causes of slowness found. "
        f"Median of {len(analyses)} times each, in turn, on {os.cpu_count()} cores.", "",
        "| what | wall, s | least to most | CPU, s | x SQLite's CPU | peak memory | bar | |",
        "|---|---|---|---|---|---|---|---|",
        f"| SQLite alone reads each value | {median([r[0] for r in reads]):.2f} | {spread([r[0] for r in reads])} | "
        f"{median([r[1] for r in reads]):.2f} | 1.00 | | | |",
        f"| the whole analysis | {median(wall):.2f} | {spread(wall)} | {median(cpu):.2f} | {ratio:.2f} | "
        f"{peak / 1e6:.0f} MB | {MOST_SECONDS:.0f} s, {MOST_BYTES / 1e6:.0f} MB | "
        f"{verdict(median(wall) <= MOST_SECONDS)}, {verdict(peak <= MOST_BYTES)} |",
    ]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--spans", type=int, default=1_000_000)
    parser.add_argument("--times", type=int, default=5)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/release")
    parser.add_argument("--write", type=pathlib.Path)
    options = parser.parse_args()
    if not (options.build / "bench/ledger_bench").exists():
        sys.exit(f"{options.build}/bench/ledger_bench is not built: ./run ledger builds it")
    reads, analyses, rows = [], [], 0
    with tempfile.TemporaryDirectory() as directory:
        written = bench(options.build, "write", directory, "--spans", options.spans)
        for _ in range(options.times):
            *read, rows = read_rows(f"{directory}/run.db")
            reads.append(read)
            analyses.append(bench(options.build, "analyse", directory))
    text = "\n".join(table(written, reads, analyses, rows))
    print(text)
    if options.write:
        results_section.replace(options.write, "ledger", text)


main()
