"""One run of three workers of which one, the victim, is made slow in known rounds."""

import json
import os
import pathlib
import subprocess

from faults.processes import LISTENS, Program
from inject import machine

CONFIG = pathlib.Path(__file__).resolve().parent.parent.parent / "examples" / "synthetic.toml"
WORKERS = 3
VICTIM = 2
WARM_UP = 2


class Place:
    """What a kind may take from the victim. Cores: the victim has the last one to itself, all others the first."""

    def __init__(self, binaries, scratch, far):
        self.scratch = scratch
        cores = sorted(os.sched_getaffinity(0))
        if len(cores) < 2:
            raise machine.Missing("it needs two cores")
        self.core, self.others = cores[-1], cores[0]
        self.burner = machine.Burner(self.core)
        self.cgroup = machine.Cgroup()
        try:
            self.link = machine.Link(binaries) if far else None
        except machine.Missing:
            self.cgroup.remove()
            raise

    def remove(self):
        self.burner.stop()
        if self.link is not None:
            self.link.remove()
        self.cgroup.remove()


class Experiment:
    """`blocks` times `injected` rounds in a row and `clean` ones after them, behind the first two."""

    def __init__(self, binaries, scratch, kind, blocks, injected, clean, settings):
        self.binaries, self.scratch = binaries, scratch
        self.directory = scratch / kind.name.replace(" ", "-")
        self.place = Place(binaries, scratch, kind.far)
        self.kind = kind(self.place)
        self.blocks, self.injected, self.clean = blocks, injected, clean
        self.rounds = WARM_UP + blocks * (injected + clean)
        chosen = {**settings, **kind.settings, "round.rounds": self.rounds}
        self.settings = [word for pair in chosen.items() for word in ("--set", "%s=%s" % pair)]
        self.programs = []

    def labels(self):
        """By round: True where it was injected, False where it was clean, None in between."""
        labels = {}
        for number in range(1, self.rounds + 1):
            at = (number - WARM_UP - 1) % (self.injected + self.clean)
            if number <= WARM_UP:
                labels[number] = None
            elif at < self.injected:
                labels[number] = True
            else:
                # The change comes a moment after the round has begun.
                labels[number] = None if at == self.injected and self.injected > 0 else False
        if self.kind.whole_run:
            labels = {number: None if number <= WARM_UP else True for number in labels}
        return labels

    def _start(self, end, core, command, victim=False):
        command = ["taskset", "-c", str(core), *map(str, command)]
        if self.place.link is not None:
            command = self.place.link.command(end, command)
        if victim:
            command = self.place.cgroup.command(command)
        self.programs.append(Program(command, {"TMPDIR": str(self.scratch)}))
        return self.programs[-1]

    def run(self):
        try:
            self._run()
        finally:
            for program in self.programs:
                program.kill()
                program.end(10)
            self.place.remove()
        return self.labels()

    def _run(self):
        coordinator = self._start(0, self.place.others, [
            self.binaries / "interlude", "coordinator", "--workers", WORKERS, "--config", CONFIG, *self.settings,
            "--dir", self.directory, "--listen", "0.0.0.0:0", "--insecure"])
        found = coordinator.wait_for(LISTENS)
        if found is None:
            raise RuntimeError("the coordinator did not start:\n" + coordinator.text())
        port = found[1].group(1).rsplit(":", 1)[1]
        for worker in range(WORKERS):
            victim = worker == VICTIM
            address = self.place.link.ADDRESSES[0] if victim and self.place.link is not None else "127.0.0.1"
            self._start(1 if victim else 0, self.place.core if victim else self.place.others, [
                self.binaries / "interlude", "worker", "--coordinator", "%s:%s" % (address, port), "--id", worker,
                "--insecure", *(self.kind.victim_options if victim else ("--threads", "1"))], victim)
        self._switch(coordinator)
        if coordinator.end(600) != 0:
            raise RuntimeError("the run ended badly:\n" + self._last_words())
        if any(worker.end(30) != 0 for worker in self.programs[1:]):
            raise RuntimeError("a worker did not live to the end:\n" + self._last_words())

    def _last_words(self):
        return "\n".join(program.text()[-3000:] for program in self.programs)

    def _switch(self, coordinator):
        labels = self.labels()
        on = False
        for number in range(WARM_UP, self.rounds + 1):
            if coordinator.wait_for(r"^round +%d/" % number, 120) is None:
                raise RuntimeError("round %d does not end:\n%s" % (number, coordinator.text()[-3000:]))
            wanted = labels.get(number + 1) is True
            if wanted != on and not self.kind.whole_run:
                (self.kind.start if wanted else self.kind.stop)()
            on = wanted

    def report(self):
        done = subprocess.run([self.binaries / "interlude", "report", self.directory, "--json"], capture_output=True,
                              text=True, check=True)
        return json.loads(done.stdout)


def lines_of(report, worker):
    """The victim's cause of each round, for people."""
    for entry in report["rounds"]:
        for one in (entry.get("path") or {}).get("workers", []):
            if one["worker"] == worker and one.get("cause"):
                cause = one["cause"]
                yield "round %d: %s (%s, %.0f %%)" % (entry["round"], cause["kind"], cause["grade"],
                                                      100 * cause["share"])
