#!/usr/bin/env python3
"""Runs real coordinators and workers, breaks them on purpose, and prints what it cost.

Each row of the table is a kind of fault: how often it was injected, how many committed rounds were
lost, how many runs ended with wrong bits, how long until the others went on, how long until the victim
was back. Bits are wrong when the final root differs from that of the run without faults (where the
fault leaves the merged deltas the same), when two copies disagree, or when the journal's replay does not
come to the recorded hashes.
"""

import argparse
import os
import pathlib
import random
import re
import select
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time

import results_section

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


class Line:
    """A TCP forwarder that can be cut, silenced and slowed down."""

    def __init__(self, target):
        self.target = target
        self.cut = self.silent = self.stopped = False
        self.rate = 0  # bytes a second and direction; 0: none
        self.pairs = []
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.address = "127.0.0.1:%d" % self.listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while not self.stopped:
            try:
                near, _ = self.listener.accept()
            except OSError:
                return
            if self.cut:
                near.close()
                continue
            try:
                far = socket.create_connection(self.target, timeout=5)
            except OSError:
                near.close()
                continue
            self.pairs.append((near, far))
            for one, other in ((near, far), (far, near)):
                one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                threading.Thread(target=self._forward, args=(one, other), daemon=True).start()

    def _forward(self, source, sink):
        try:
            while not self.stopped:
                if self.silent:
                    time.sleep(0.02)
                    continue
                if not select.select([source], [], [], 0.05)[0]:
                    continue
                data = source.recv(16384 if self.rate else 1 << 18)
                if not data:
                    break
                if self.rate:
                    time.sleep(len(data) / self.rate)
                sink.sendall(data)
        except (OSError, ValueError):
            pass
        for end in (source, sink):
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def break_now(self):
        self.cut = True
        for pair in self.pairs:
            for end in pair:
                try:
                    end.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass
        self.pairs = []

    def heal(self):
        self.cut = self.silent = False
        self.rate = 0

    def close(self):
        self.stopped = True
        self.listener.close()
        self.break_now()


class Run:
    """One run: its coordinator, which may be started again, and its workers."""

    def __init__(self, binaries, directory, workers, settings):
        self.binaries, self.directory, self.number = binaries, directory, workers
        self.settings = [word for setting in settings for word in ("--set", setting)]
        self.config = str(pathlib.Path(__file__).resolve().parent.parent / "examples" / "synthetic.toml")
        self.address = None
        self.logs = []
        self.coordinator = None
        self.workers = {}
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

    def start_worker(self, worker, address=None, environment=None):
        self.workers[worker] = Program(
            [self.binaries / "interlude", "worker", "--coordinator", address or self.address, "--id", str(worker),
             "--threads", "1", "--reconnect-for", "60"], environment)

    def start(self, environment=None):
        self.start_coordinator(environment)
        for worker in range(self.number):
            self.start_worker(worker)
        return self

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

    def finish(self, timeout=600):
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
        if status not in (0, 3) or root is None:
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

    def verified(self):
        done = subprocess.run([self.binaries / "interlude", "journal", "verify", str(self.directory)],
                              capture_output=True, text=True)
        if done.returncode != 0:
            print(done.stdout + done.stderr, file=sys.stderr)
        return done.returncode == 0

    def kill_all(self):
        for program in [self.coordinator, *self.workers.values()]:
            if program is not None:
                program.kill(signal.SIGCONT)
                program.kill()


class Row:
    def __init__(self, fault):
        self.fault = fault
        self.injected = self.lost = self.wrong = self.failed = 0
        self.others, self.victim = [], []

    @staticmethod
    def seconds(values):
        if not values:
            return "–"
        return "%.1f (%.1f)" % (statistics.median(values), max(values))

    def cells(self):
        return [self.fault, str(self.injected), str(self.lost), str(self.wrong), str(self.failed),
                self.seconds(self.others), self.seconds(self.victim)]


HEAD = ["fault", "injected", "rounds lost", "wrong bits", "runs that failed", "others go on, s", "victim back, s"]


class Matrix:
    def __init__(self, options):
        self.options = options
        self.random = random.Random(options.seed)
        self.scratch = pathlib.Path(tempfile.mkdtemp(prefix="interlude-faults-"))
        self.count = 0
        self.references = {}

    def settings(self, rounds, **more):
        chosen = {"model.synthetic_params": 200000, "round.chunk_params": 16384, "round.local_steps": 5,
                  "model.synthetic_step_ms": 4, "round.rounds": rounds, "round.snapshot_every": 2,
                  "round.patience": 0}
        chosen.update(more)
        return ["%s=%s" % pair for pair in chosen.items()]

    def run(self, workers, settings):
        self.count += 1
        return Run(self.options.binaries, self.scratch / ("run-%d" % self.count), workers, settings)

    def reference(self, workers, settings):
        key = (workers, tuple(settings))
        if key not in self.references:
            run = self.run(workers, settings).start()
            self.references[key] = run.finish()
            shutil.rmtree(run.directory)
        return self.references[key]

    def close(self, row, run, same_bits_as=None):
        try:
            root = run.finish()
            if same_bits_as is not None and root != same_bits_as:
                row.wrong += 1
                print("wrong bits: %s, without faults %s (%s)" % (root, same_bits_as, run.directory), file=sys.stderr)
            elif not run.verified():
                row.wrong += 1
            else:
                shutil.rmtree(run.directory)
        except WrongBits as error:
            row.wrong += 1
            print("%s: %s (%s)" % (row.fault, error, run.directory), file=sys.stderr)
        except RuntimeError as error:
            row.failed += 1
            print("%s: %s" % (row.fault, error), file=sys.stderr)
        finally:
            run.kill_all()
        row.lost += run.lost_rounds

    def wait_round(self, run, number, timeout=60):
        return run.coordinator.wait_for(r"^round +(%d)/" % number, timeout)

    # ---- the faults ----

    def scripted_coordinator_kills(self, points):
        row = Row("coordinator killed at scripted point 1, 2, ...")
        settings = self.settings(3, **{"model.synthetic_params": 60000})
        reference = self.reference(2, settings)
        for point in points:
            run = self.run(2, settings)
            run.start({"INTERLUDE_CRASH_AT": str(point)})
            status = run.coordinator.end()
            if status != -signal.SIGKILL:
                print("point %d is beyond the run's end" % point, file=sys.stderr)
                run.kill_all()
                shutil.rmtree(run.directory)
                break
            died = time.monotonic()
            row.injected += 1
            run.restart_coordinator()
            found = run.coordinator.wait_for(r"^round +\d+/", 60)
            if found:
                row.others.append(found[0] - died)
                row.victim.append(found[0] - died)
            self.close(row, run, reference)
        return row

    def random_coordinator_kills(self, kills):
        row = Row("coordinator killed at random")
        settings = self.settings(max(12, kills * 6))
        reference = self.reference(2, settings)
        run = self.run(2, settings).start()
        run.coordinator.wait_for(r"^round +1/")
        for _ in range(kills):
            time.sleep(self.random.uniform(0.02, 0.25))
            if run.coordinator.process.poll() is not None:
                break
            run.coordinator.kill()
            run.coordinator.end()
            died = time.monotonic()
            row.injected += 1
            run.restart_coordinator()
            found = run.coordinator.wait_for(r"^round +\d+/|agree on", 60)
            if found:
                row.others.append(found[0] - died)
                row.victim.append(found[0] - died)
        self.close(row, run, reference)
        return row

    def worker_faults(self, name, times, inject, undo, workers=3, same_bits=False, **more):
        """`inject(run, worker, line)` breaks it, `undo` mends it after a while; the others' next round ends the
        wait for them, the victim's return that for it."""
        row = Row(name)
        # Without the same deltas there is no run to compare with: it is stopped when the faults are over.
        settings = self.settings(times * 14 + 20 if same_bits else 1_000_000, **more)
        reference = self.reference(workers, settings) if same_bits else None
        run = self.run(workers, settings)
        run.start_coordinator()
        target = run.address.rsplit(":", 1)
        lines = {worker: Line((target[0], int(target[1]))) for worker in range(workers)}
        for worker in range(workers):
            run.start_worker(worker, lines[worker].address)
        run.coordinator.wait_for(r"^round +2/")
        for _ in range(times):
            time.sleep(self.random.uniform(0.02, 0.3))
            if run.coordinator.process.poll() is not None:
                break
            worker = self.random.randrange(workers)
            begin = time.monotonic()
            inject(run, worker, lines[worker])
            row.injected += 1
            # A round that was about to end may end at once: the one after it needs the others to go on.
            first = run.coordinator.wait_for(r"^round +\d+/|agree on", 60, begin)
            second = first and run.coordinator.wait_for(r"^round +\d+/|agree on", 60, first[0] + 1e-6)
            if second:
                row.others.append(second[0] - begin)
            mended = time.monotonic()
            undo(run, worker, lines[worker])
            back = run.coordinator.wait_for(r"worker %d (is back|has caught up)|agree on" % worker, 30, begin)
            if back and "agree" not in back[1].group(0):
                row.victim.append(max(0.0, back[0] - mended))
        if not same_bits:
            run.wait_until_all_take_part()
            run.coordinator.kill(signal.SIGTERM)
        self.close(row, run, reference)
        for line in lines.values():
            line.close()
        return row

    def worker_kills(self, times):
        def inject(run, worker, line):
            run.workers[worker].kill()
            run.workers[worker].end()

        return self.worker_faults("worker killed, started again", times, inject,
                                  lambda run, worker, line: run.start_worker(worker, line.address))

    def worker_stops(self, times):
        return self.worker_faults(
            "worker hung (SIGSTOP)", times, lambda run, worker, line: run.workers[worker].kill(signal.SIGSTOP),
            lambda run, worker, line: run.workers[worker].kill(signal.SIGCONT), **{"round.patience": 2})

    def cuts(self, times):
        return self.worker_faults("connection reset, refused, back", times,
                                  lambda run, worker, line: line.break_now(), lambda run, worker, line: line.heal())

    def short_cuts(self, times):
        def inject(run, worker, line):
            line.break_now()
            line.heal()

        return self.worker_faults("connection reset, back at once", times, inject,
                                  lambda run, worker, line: None, same_bits=True)

    def silences(self, times):
        def inject(run, worker, line):
            line.silent = True

        return self.worker_faults("partition (nothing passes), healed", times, inject,
                                  lambda run, worker, line: line.heal(), **{"round.patience": 2})

    def slow_lines(self, times):
        def inject(run, worker, line):
            line.rate = 125_000

        return self.worker_faults("line at 1 Mbit/s for a while", times, inject,
                                  lambda run, worker, line: line.heal(), **{"round.patience": 2})

    def rows(self):
        quick = self.options.quick
        times = self.options.times
        yield "scripted", lambda: self.scripted_coordinator_kills(range(1, 400, 17) if quick else range(1, 400))
        yield "random", lambda: self.random_coordinator_kills(4 if quick else 9 * times)
        yield "killed", lambda: self.worker_kills(2 if quick else times)
        yield "hung", lambda: self.worker_stops(1 if quick else times // 4)
        yield "reset", lambda: self.short_cuts(3 if quick else 12 * times)
        yield "cut", lambda: self.cuts(2 if quick else times)
        yield "partition", lambda: self.silences(1 if quick else times // 4)
        yield "slow", lambda: self.slow_lines(1 if quick else times // 4)


def table(rows):
    lines = ["| " + " | ".join(HEAD) + " |", "|" + "---|" * len(HEAD)]
    lines += ["| " + " | ".join(row.cells()) + " |" for row in rows]
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--binaries", type=lambda path: pathlib.Path(path).resolve(), default="build/release/bin")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--times", type=int, default=40, help="scale of the full matrix")
    parser.add_argument("--quick", action="store_true", help="a few of each, for the tests")
    parser.add_argument("--only", help="a word in the fault's name")
    parser.add_argument("--write", help="the page whose section is replaced")
    options = parser.parse_args()
    matrix = Matrix(options)
    rows = []
    for name, make in matrix.rows():
        if options.only and options.only not in name:
            continue
        begin = time.monotonic()
        row = make()
        rows.append(row)
        print("%s: %d injected, %d rounds lost, %d wrong bits, %d failed (%.0f s)" % (
            row.fault, row.injected, row.lost, row.wrong, row.failed, time.monotonic() - begin), flush=True)
    text = table(rows)
    print("\n" + text)
    print("\nmedian (longest) seconds; %d faults injected" % sum(row.injected for row in rows))
    if options.write:
        results_section.replace(options.write, "faults", text)
    bad = sum(row.lost + row.wrong + row.failed for row in rows)
    if bad == 0:
        shutil.rmtree(matrix.scratch)
    else:
        print("kept: %s" % matrix.scratch, file=sys.stderr)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
