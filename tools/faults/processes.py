"""Programs whose lines are kept, and a run made of them: a coordinator that may be started again, and workers."""

import contextlib
import os
import pathlib
import re
import signal
import subprocess
import threading
import time

from faults.line import Line

ROUND = re.compile(r"^round +(\d+)/")
RESUMED = re.compile(r"going on with run \S+ after (\d+) of")
ROOT = re.compile(r"agree on ([0-9a-f]{32})|final base hashes to ([0-9a-f]{32})")
WRONG = re.compile(r".*(its parameters differ|with another root|has other bits|the base of round).*")
LISTENS = re.compile(r"coordinator on (\S+?),")


class WrongBits(Exception):
    pass


class Program:
    """A child process whose lines are kept with the time they came."""

    def __init__(self, command, environment=None, stdin=None):
        self.lines = []
        self.changed = threading.Condition()
        self.process = subprocess.Popen(command, stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                        text=True, env={**os.environ, **(environment or {})})
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self):
        for line in self.process.stdout:
            with self.changed:
                self.lines.append((time.monotonic(), line.rstrip("\n")))
                self.changed.notify_all()

    def wait_for(self, pattern, timeout=60, after=0.0):
        """The time and the match of the first line since `after` in which the pattern is found, or None."""
        pattern = re.compile(pattern)
        deadline = time.monotonic() + timeout
        seen = 0
        with self.changed:
            while True:
                for when, line in self.lines[seen:]:
                    match = pattern.search(line)
                    if match and when >= after:
                        return when, match
                seen = len(self.lines)
                left = deadline - time.monotonic()
                if left <= 0 or (self.process.poll() is not None and not self.reader.is_alive()):
                    return None
                self.changed.wait(min(left, 0.2))

    def text(self):
        with self.changed:
            return "\n".join(line for _, line in self.lines)

    def kill(self, number=signal.SIGKILL):
        if self.process.poll() is None:
            self.process.send_signal(number)

    @contextlib.contextmanager
    def halted(self):
        """Stopped meanwhile, with all its threads."""
        self.kill(signal.SIGSTOP)
        try:
            tasks = pathlib.Path("/proc/%d/task" % self.process.pid)
            while any(self._runs(task) for task in tasks.glob("*")):
                time.sleep(0.001)
            yield
        finally:
            self.kill(signal.SIGCONT)

    @staticmethod
    def _runs(task):
        try:
            # The state follows the name, which is in brackets.
            return (task / "stat").read_text().rpartition(")")[2].split()[0] not in "TXZ"
        except OSError:
            return False  # it is gone

    def rss_kib(self):
        found = re.search(r"VmRSS:\s*(\d+)", pathlib.Path("/proc/%d/status" % self.process.pid).read_text())
        return int(found[1]) if found else 0

    def end(self, timeout=60):
        try:
            status = self.process.wait(timeout)
        except subprocess.TimeoutExpired:
            self.kill(signal.SIGCONT)
            self.kill()
            status = self.process.wait()
            status = -1 if status == 0 else status
        self.reader.join(5)
        return status


class Run:
    """One run: its coordinator, which may be started again, and its workers."""

    def __init__(self, binaries, directory, workers, settings):
        self.binaries, self.directory, self.number = binaries, directory, workers
        self.settings = [word for setting in settings for word in ("--set", setting)]
        self.config = str(pathlib.Path(__file__).resolve().parents[2] / "examples" / "synthetic.toml")
        self.address = None
        self.logs = []
        self.coordinator = None
        self.workers = {}
        self.reconnect_s = 60
        self.worker_environment = {}
        self.lost_rounds = 0
        self.stopped = False

    def start_coordinator(self, environment=None):
        listen = self.address or "127.0.0.1:0"
        self.coordinator = Program(
            [self.binaries / "interlude", "coordinator", "--workers", str(self.number), "--config", self.config,
             *self.settings, "--dir", str(self.directory), "--listen", listen], environment)
        found = self.coordinator.wait_for(LISTENS)
        if found is None:
            # It may have been killed at one of its first steps, or have nothing left to do.
            if self.coordinator.process.poll() is None or self.address is None:
                raise RuntimeError("the coordinator did not start:\n" + self.coordinator.text())
            return
        self.address = found[1].group(1)

    def start_worker(self, place, address=None, named=True):
        """The program in the place with this number, which it asks for as its id where it is named."""
        self.workers[place] = Program(
            [self.binaries / "interlude", "worker", "--coordinator", address or self.address, "--threads", "1",
             "--reconnect-for", str(self.reconnect_s), *(["--id", str(place)] if named else [])],
            self.worker_environment)

    def start(self, environment=None):
        self.start_coordinator(environment)
        for worker in range(self.number):
            self.start_worker(worker)
        return self

    def start_over_lines(self):
        """Like start, with a line between each worker and the coordinator; {worker: its line}."""
        self.start_coordinator()
        host, port = self.address.rsplit(":", 1)
        lines = {worker: Line((host, int(port))) for worker in range(self.number)}
        for worker, line in lines.items():
            self.start_worker(worker, line.address)
        return lines

    def last_round(self, after=0.0):
        rounds = [int(match.group(1)) for when, line in self.coordinator.lines
                  if when >= after and (match := ROUND.search(line))]
        return max(rounds, default=0)

    def restart_coordinator(self):
        """After its death. Counts rounds that were shown as done and are not there any more."""
        shown = self.last_round()
        self.logs.append(self.coordinator.text())
        self.start_coordinator()
        resumed = RESUMED.search(self.coordinator.text())
        if shown > 0:
            self.lost_rounds += max(0, shown - (int(resumed.group(1)) if resumed else 0))

    def finish(self, timeout=600, killed_after_the_end=False):
        """The final root; raises where the run did not end well."""
        deadline = time.monotonic() + timeout
        while self.coordinator.process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.05)
            if all(program.process.poll() is not None for program in self.workers.values()):
                deadline = min(deadline, time.monotonic() + 3)  # it would wait for others
        status = self.coordinator.end(5 if self.stopped else 0.1)
        root = ROOT.search(self.coordinator.text())
        statuses = {worker: program.end(30) for worker, program in self.workers.items()}
        wrong = WRONG.search("\n".join([*self.logs, self.coordinator.text()]))
        if wrong:
            raise WrongBits(wrong.group(0))
        if self.stopped and status == 130:
            return None
        well = (0, 3, -signal.SIGKILL) if killed_after_the_end else (0, 3)
        if status not in well or root is None:
            raise RuntimeError("the run ended with status %d:\n%s\n%s" % (
                status, "\n---- restarted\n".join([*self.logs, self.coordinator.text()]),
                "\n".join("worker %d (status %d):\n%s" % (w, statuses[w], self.workers[w].text()[-2000:])
                          for w in statuses)))
        return root.group(1) or root.group(2)

    def wait_until_all_take_part(self, timeout=60):
        deadline = time.monotonic() + timeout
        while time.monotonic() < deadline and self.coordinator.process.poll() is None:
            text = self.coordinator.text()
            if all(text.rfind("worker %d has caught up" % w) >= text.rfind("worker %d left" % w) for w in self.workers):
                break
            time.sleep(0.05)
        self.stopped = True

    def verify(self, directory=None):
        """The journal's replay of the run's directory, or of a copy of it."""
        return subprocess.run([self.binaries / "interlude", "journal", "verify", str(directory or self.directory)],
                              capture_output=True, text=True)

    def kill_all(self):
        for program in [self.coordinator, *self.workers.values()]:
            if program is not None:
                program.kill(signal.SIGCONT)
                program.kill()
