#!/usr/bin/env python3
"""Measures how fast the exchange and its parts are, and writes the tables into docs/results.md.

Runs the benchmarks of the codec, the transport and the whole exchange with the release build, each as large as
this machine's memory allows and at most 632 M parameters. `./run bench` calls it.

Usage: tools/measure_speed.py [--params 632M] [--workers 2] [--rounds 5] [--set key=value ...] [--write docs/results.md]
"""
import argparse
import json
import pathlib
import re
import subprocess
import sys
import tempfile

import results_section

ROOT = pathlib.Path(__file__).resolve().parent.parent
PROGRAM = ROOT / "build/release/bin/interlude"
TRANSPORT = ROOT / "build/release/bench/transport_bench"
LARGEST = 632_000_000
# Of the benchmark of the codec: seven fp32 arrays and nine payloads.
CODEC_BYTES_A_PARAM = 33
# The coordinator's three arrays; a worker's two and, with a barrier, two payloads.
COORDINATOR_BYTES_A_PARAM, WORKER_BYTES_A_PARAM = 12, 9.1
UPLOAD = "upload into the journal, sealed"
# (workers, rounds, parameters): does the coordinator's memory grow with either? Small enough for all processes; what
# each worker's streams hold is the same for every size, so that small models show it large.
MEMORY_RUNS = [(4, 50, 100_000_000), (8, 10, 200_000_000)]
CHUNK_PARAMS = [1 << 18, 1 << 19, 1 << 20, 1 << 21, 1 << 22]
CHUNK_RUN_PARAMS = 200_000_000


def available_memory():
    for line in pathlib.Path("/proc/meminfo").read_text().splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) * 1024
    sys.exit("/proc/meminfo does not say how much memory is available: give --params")


def fitting(bytes_a_param):
    """At most LARGEST, in whole millions, with a tenth of the memory left alone."""
    return max(1, min(LARGEST, int(0.9 * available_memory() / bytes_a_param)) // 1_000_000) * 1_000_000


def run_json(*arguments):
    """What a benchmark of the program writes as JSON; its text goes to stderr, to be watched."""
    with tempfile.TemporaryDirectory() as directory:
        path = f"{directory}/figures.json"
        command = [PROGRAM, "bench", *map(str, arguments), "--json", path]
        subprocess.run(command, check=True, stdout=sys.stderr)
        return json.loads(pathlib.Path(path).read_text())


def run_transport():
    """[(name, GB/s, share of raw TCP)] of the transport's benchmark; none where it is not built."""
    if not TRANSPORT.exists():
        return []
    text = subprocess.run([TRANSPORT], check=True, stdout=subprocess.PIPE, text=True).stdout
    print(text, file=sys.stderr)
    row = re.compile(r"^(\S.*?)\s{2,}([\d.]+) GB/s\s+([\d.]+)", re.M)
    return [(name, float(speed), float(share)) for name, speed, share in row.findall(text)]


def verdict(met):
    return "met" if met else "**not met**"


def codec_table(codec):
    lines = [f"{codec['machine']}; {codec['values']:,} parameters, {codec['threads']} threads, "
             f"kernels for {codec['target']}:", "",
             "| kernel | GB/s, read + written | of memcpy | least to most | bar | | x the plain mean's time |",
             "|---|---|---|---|---|---|---|"]
    for figure in codec["figures"]:
        bar = figure["at_least"]
        lines.append(f"| {figure['name']} | {figure['bytes_per_second'] / 1e9:.2f} | {figure['of_memcpy']:.2f} | "
                     f"{figure['least_of_memcpy']:.2f} to {figure['most_of_memcpy']:.2f} | "
                     + (f"{bar:.2f} | {verdict(figure['met'])} |" if bar else "| |")
                     + (f" {figure['of_baseline']:.2f} |" if figure["baseline"] else " |"))
    return lines


def transport_table(rows):
    if not rows:
        return []
    lines = ["", "The transport over loopback, beside one plain TCP connection in the same run:", "",
             "| what | GB/s | of raw TCP | bar | |", "|---|---|---|---|---|"]
    for name, speed, share in rows:
        bar = f"0.50 | {verdict(share >= 0.5)}" if name == UPLOAD else "|"
        lines.append(f"| {name} | {speed:.2f} | {share:.2f} | {bar} |")
    return lines


def mode_row(figures, mode):
    def share(process):
        return process["peak_anonymous_bytes"] / figures["model_bytes"]

    workers = [share(process) for process in mode["memory"][1:]]
    return (f"| {mode['mode']} | {mode['exchange_seconds']:.2f} s | {mode['exchange_of_bound']:.2f} | "
            f"{share(mode['memory'][0]):.2f} | {max(workers):.2f} |")


def exchange_tables(figures):
    machine = figures["machine"]
    memcpy = machine["memcpy_bytes_per_second"]
    lines = ["", f"The whole exchange of {figures['params']:,} parameters ({figures['model_bytes'] / 1e9:.2f} GB in fp32), "
             f"{figures['workers']} workers and a coordinator on {machine['usable_cores']} cores over loopback. memcpy reads "
             f"and writes {memcpy['before'] / 1e9:.1f} GB/s before and {memcpy['after'] / 1e9:.1f} GB/s after the runs, raw TCP "
             f"carries {machine['tcp_loopback_bytes_per_second'] / 1e9:.1f} GB/s, the disk takes "
             f"{machine['disk_write_bytes_per_second'] / 1e9:.2f} GB/s. For the bytes that the exchange must touch memcpy "
             f"needs {figures['bound_seconds']:.2f} s.", "",
             "| how | exchange | x memcpy's time | coordinator's peak RssAnon, x model | a worker's |", "|---|---|---|---|---|"]
    lines += [mode_row(figures, mode) for mode in figures["modes"]]
    lines += ["", "| what | figure | bar | |", "|---|---|---|---|"]
    for bar in figures["bars"]:
        limit = f"at most {bar['at_most']:g}" if "at_most" in bar else f"at least {bar['at_least']:g}"
        lines.append(f"| {bar['what']} | {bar['value']:.3g} {bar['unit']} | {limit} | {verdict(bar['met'])} |")
    lines += ["", "| stage | read | written | how it is counted |", "|---|---|---|---|"]
    for stage in figures["touched"]:
        lines.append(f"| {stage['stage']} | {stage['read_bytes'] / 1e9:.2f} GB | {stage['written_bytes'] / 1e9:.2f} GB | "
                     f"{stage['counted']} |")
    return lines


def memory_table():
    """The coordinator's memory with more workers, and over many rounds."""
    lines = ["", "The coordinator's memory with more workers and over more rounds (RssAnon as multiples of the fp32 model):", "",
             "| workers | rounds | parameters | peak | growth after the first warm round | after the run | exchange, x memcpy's time |",
             "|---|---|---|---|---|---|---|"]
    for workers, rounds, params in MEMORY_RUNS:
        figures = run_json("exchange", "--params", params, "--workers", workers, "--rounds", rounds, "--mode", "pipelined")
        bars = {bar["what"]: bar["value"] for bar in figures["bars"]}

        def figure(words):
            return next(value for what, value in bars.items() if words in what)

        lines.append(f"| {workers} | {rounds} | {params:,} | {figure('peak anonymous'):.2f} | {figure('growth'):.4f} | "
                     f"{figure('after the run'):.4f} | {figures['modes'][0]['exchange_of_bound']:.2f} |")
    return lines


def chunk_table():
    """How long the exchange takes with chunks of other sizes."""
    lines = ["", f"Chunks of other sizes ({CHUNK_RUN_PARAMS:,} parameters, 2 workers, pipelined; the default is 1,048,576):", "",
             "| parameters a chunk | exchange | x memcpy's time |", "|---|---|---|"]
    for chunk_params in CHUNK_PARAMS:
        figures = run_json("exchange", "--params", CHUNK_RUN_PARAMS, "--workers", 2, "--rounds", 5, "--mode", "pipelined",
                           "--set", f"round.chunk_params={chunk_params}")
        mode = figures["modes"][0]
        lines.append(f"| {chunk_params:,} | {mode['exchange_seconds']:.2f} s | {mode['exchange_of_bound']:.2f} |")
    return lines


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--params", help="parameters of codec and exchange, and nothing else is measured; as many as fit without it")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--set", action="append", default=[], dest="settings", metavar="key=value")
    parser.add_argument("--write", type=pathlib.Path)
    options = parser.parse_args()
    if not PROGRAM.exists():
        sys.exit(f"{PROGRAM} is not built: ./run build")

    exchange_bytes = COORDINATOR_BYTES_A_PARAM + options.workers * WORKER_BYTES_A_PARAM
    settings = [word for setting in options.settings for word in ("--set", setting)]
    codec = run_json("codec", "--params", options.params or fitting(CODEC_BYTES_A_PARAM))
    transport = run_transport()
    exchange = run_json("exchange", "--params", options.params or fitting(exchange_bytes), "--workers",
                        options.workers, "--rounds", options.rounds, *settings)
    tables = codec_table(codec) + transport_table(transport) + exchange_tables(exchange)
    if not options.params:
        tables += memory_table() + chunk_table()
    text = "\n".join(tables)
    print(text)
    if options.write:
        results_section.replace(options.write, "speed", text)


main()
