"""Plays one case of a scenario: one way in one place, with real processes, into a run directory."""

import contextlib
import dataclasses
import pathlib
import re
import time

from faults.processes import LISTENS, Program
from runner import lines, quota, scenario

CONFIG = pathlib.Path(__file__).resolve().parents[2] / "examples" / "synthetic.toml"
ROUND = re.compile(r"^round +(\d+)/(\d+)")


class CaseFailed(Exception):
    """The run did not end well; with its last words."""


@dataclasses.dataclass(frozen=True)
class Case:
    scenario: scenario.Scenario
    place: scenario.Place
    way: scenario.Way

    @property
    def name(self):
        return ", ".join(part for part in (self.way.name, self.place.name) if part) or "as it is"

    def settings(self, binaries):
        """As for --set; {plugins} is the folder of the scenarios' own plug-ins."""
        plugins = binaries.parent / "lib"
        for key, value in {**self.scenario.settings, **self.way.settings}.items():
            text = str(value).lower() if isinstance(value, bool) else str(value)
            yield from ("--set", f"{key}={text.replace('{plugins}', str(plugins))}")

    def threads(self, worker):
        """Of the worker, or None: interlude decides."""
        for limit in self.scenario.limits:
            if worker in limit.workers:
                return self.way.limited_threads or limit.threads
        return self.scenario.threads


class Stage:
    """The processes of one case, and what holds them back."""

    def __init__(self, binaries, case, directory, say):
        self.binaries, self.case, self.directory, self.say = binaries, case, directory, say
        self.programs = []

    def play(self):
        with contextlib.ExitStack() as stack:
            self.net = None
            if self.case.place.lines:
                self.net = lines.Lines(self.binaries, self.case.place.lines)
                stack.callback(self.net.remove)
            self.quotas = {}  # {worker: its quota}
            for i, limit in enumerate(self.case.scenario.limits):
                if limit.cores is None:
                    continue
                group = quota.Quota(quota.name_of(i), limit.cores)
                stack.callback(group.remove)
                self.quotas |= {worker: group for worker in limit.workers}
            # Processes end before what holds them is taken away.
            stack.callback(self._end_all)
            self._play()

    def _start(self, worker, command):
        if worker in self.quotas:
            command = self.quotas[worker].command(command)
        if self.net is not None:
            command = self.net.command(worker, command)
        self.programs.append(Program(list(map(str, command))))
        return self.programs[-1]

    def _play(self):
        case = self.case
        program = self.binaries / "interlude"
        coordinator = self._start(None, [
            program, "coordinator", "--workers", case.scenario.workers, "--config", CONFIG, *case.settings(self.binaries),
            "--dir", self.directory, "--listen", "0.0.0.0:0" if self.net else "127.0.0.1:0",
            *(["--insecure"] if self.net else [])])
        found = coordinator.wait_for(LISTENS)
        if found is None:
            raise CaseFailed("the coordinator did not start:\n" + coordinator.text())
        port = found[1].group(1).rsplit(":", 1)[1]
        for worker in range(case.scenario.workers):
            host = self.net.coordinator_for(worker) if self.net else "127.0.0.1"
            threads = case.threads(worker)
            self._start(worker, [program, "worker", "--coordinator", f"{host}:{port}", "--id", worker, "--insecure",
                                 *(["--threads", threads] if threads else [])])
        self._follow(coordinator)
        statuses = [each.end(60) for each in self.programs]
        if any(statuses):
            raise CaseFailed(f"exit statuses {statuses}:\n" + self._last_words())

    def _follow(self, coordinator):
        deadline = time.monotonic() + self.case.scenario.timeout_s
        last = ""
        while coordinator.process.poll() is None:
            rounds = [line for _, line in list(coordinator.lines) if ROUND.search(line)]
            if rounds and rounds[-1] != last:
                first, last = not last, rounds[-1]
                number, of = ROUND.search(last).groups()
                for group in set(self.quotas.values()):
                    if number == of:
                        group.loosen()
                    elif first:
                        group.tighten()
                self.say(last)
            workers = [each for each in self.programs[1:] if each.process.poll() is None]
            if time.monotonic() > deadline:
                raise CaseFailed(f"not done within timeout_s = {self.case.scenario.timeout_s:g}:\n" + self._last_words())
            if not workers and coordinator.process.poll() is None:
                coordinator.end(30)
                break
            time.sleep(0.2)

    def _last_words(self):
        return "\n".join(program.text()[-1500:] for program in self.programs)

    def _end_all(self):
        for program in self.programs:
            program.kill()
            program.end(10)
