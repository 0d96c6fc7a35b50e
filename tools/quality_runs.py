"""Whole training runs whose results are kept, so that a measurement that was interrupted goes on where it was.

Runs are bit-deterministic, so that a kept result is the one that the same run would give again (on a CPU of another
kind: one as good). It counts as long as every key of the configuration that it was made with has the same value still;
keys that are new since do not matter here, as their defaults change no run. A program that computes otherwise needs
--fresh. What the configurations of all kept runs have in common is written once.
"""

import dataclasses
import json
import pathlib
import subprocess
import sys
import tempfile
import time
import tomllib

ROOT = pathlib.Path(__file__).resolve().parent.parent
PROGRAM = ROOT / "build/release/bin/interlude"
KEPT = ROOT / "docs/quality-runs.json"
FIELDS = ("final_accuracy", "final_loss", "final_root_hash", "samples", "rounds", "upload_bytes", "download_bytes")


@dataclasses.dataclass(frozen=True)
class Job:
    """One training run: what it is called while it goes on, and what it is."""
    title: str
    workers: int
    config: pathlib.Path
    settings: tuple

    def arguments(self):
        return [part for setting in self.settings for part in ("--set", setting)]


def key(job):
    return f"{job.workers} workers: {' '.join(job.settings)}"


def unpacked(record):
    """{key of a job: what came of it}."""
    return {name: run | {"config": record["config"] | run["config"]} for name, run in record["runs"].items()}


def packed(results):
    """The same with what all configurations have in common standing once."""
    configs = [run["config"] for run in results.values()]
    common = {name: value for name, value in configs[0].items()
              if all(name in config and config[name] == value for config in configs)}
    own = {name: run | {"config": {key: value for key, value in run["config"].items() if key not in common}}
           for name, run in results.items()}
    return {"config": common, "runs": own}


class Runs:
    def __init__(self, program=PROGRAM, kept=KEPT, fresh=False):
        self.program, self.kept = program, kept
        if not program.exists():
            sys.exit(f"{program} is not built: ./run build")
        self.results = {} if fresh or not kept.exists() else unpacked(json.loads(kept.read_text()))
        self._configurations = {}

    def result(self, job):
        """What the run came to, or None where it has not been made."""
        kept = self.results.get(key(job))
        if kept is None:
            return None
        now = self._configuration(job)
        return kept if all(now.get(name) == value for name, value in kept["config"].items()) else None

    def _configuration(self, job):
        if job not in self._configurations:
            text = subprocess.run([self.program, "config", "--check", job.config, *job.arguments()], check=True,
                                  capture_output=True, text=True, cwd=ROOT).stdout
            self._configurations[job] = {f"{section}.{name}": value for section, values in tomllib.loads(text).items()
                                         if isinstance(values, dict) for name, value in values.items()}
        return self._configurations[job]

    def make_all(self, jobs):
        """Makes the runs that are not there yet, in their order, and says how far it is."""
        missing = [job for job in dict.fromkeys(jobs) if self.result(job) is None]
        begin, made = time.monotonic(), 0
        for job in missing:
            self.results[key(job)] = self._make(job)
            made += 1
            self._keep()
            left = (time.monotonic() - begin) / made * (len(missing) - made) / 60
            print(f"[{made}/{len(missing)}, {left:.0f} min left] {job.title}: "
                  f"{100 * self.result(job)['final_accuracy']:.2f} %", file=sys.stderr, flush=True)

    def _make(self, job):
        begin = time.monotonic()
        with tempfile.TemporaryDirectory() as directory:
            run = f"{directory}/run"
            subprocess.run([self.program, "run", "--workers", str(job.workers), "--config", job.config, "--dir", run,
                            "--quiet", "--threads", "1", *job.arguments()], check=True, stdout=subprocess.DEVNULL,
                           cwd=ROOT)
            report = subprocess.run([self.program, "report", run, "--json"], check=True, capture_output=True,
                                    text=True)
        total = json.loads(report.stdout)["total"]
        if not total["hashes_agree"] or total["workers_left"]:
            sys.exit(f"{job.title}: the run was not clean")
        return {"title": job.title, "seconds": round(time.monotonic() - begin, 1),
                "config": self._configuration(job)} | {field: total[field] for field in FIELDS}

    def _keep(self):
        beside = self.kept.with_suffix(".new")
        beside.write_text(json.dumps(packed(self.results), indent=1) + "\n")
        beside.replace(self.kept)
