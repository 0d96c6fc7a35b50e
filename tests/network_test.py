#!/usr/bin/env python3
"""A coordinator and two workers on three machines, which are network namespaces joined by tun_link: 28 ms and
100 Mbit/s, then losses under TLS, then partitions in the middle of an upload.

Usage: network_test.py FOLDER_OF_THE_PROGRAMS [--only WORDS] [--keep]. As root. Exits 77, which ctest shows as skipped, where
namespaces or TUN devices are refused. Nothing of it reaches the machine's own network.
"""

import argparse
import array
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import sqlite3
import statistics
import struct
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tools"))

from faults import processes  # noqa: E402

SKIPPED = 77
ROUND_TRIP_MS = 28
RATE_MBIT = 100
PREFIX = "interlude-test-"
HASH = re.compile(r"\b[0-9a-f]{32}\b")


class Failure(Exception):
    pass


def check(condition, text):
    if not condition:
        raise Failure(text)


def say(text):
    print(text, flush=True)


def awaited(program, pattern, timeout=60, after=0.0):
    found = program.wait_for(pattern, timeout, after)
    check(found is not None, "no line '%s' from %s:\n%s" % (pattern, program.process.args, program.text()))
    return found


# ---- what runs inside a namespace ----

def ping(address, count):
    """Prints the round trips in ms of ICMP echoes, one after the other, to standard output."""
    line = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)
    line.settimeout(5)
    number = os.getpid() & 0xFFFF
    for sequence in range(count):
        packet = struct.pack("!BBHHH", 8, 0, 0, number, sequence) + bytes(56)
        total = sum(array.array("H", packet))
        total = (total >> 16) + (total & 0xFFFF)
        packet = packet[:2] + struct.pack("H", ~(total + (total >> 16)) & 0xFFFF) + packet[4:]
        begin = time.monotonic()
        line.sendto(packet, (address, 0))
        while True:
            answer = line.recv(2048)[20:]
            if answer[0] == 0 and struct.unpack("!HH", answer[4:8]) == (number, sequence):
                break
        print((time.monotonic() - begin) * 1000)


def receive(size):
    """Takes one connection and prints the Mbit/s of the last half of `size` bytes, past TCP's slow start, and when
    the last one was there."""
    listener = socket.create_server(("0.0.0.0", 0))
    print("port %d" % listener.getsockname()[1], flush=True)
    connection, _ = listener.accept()
    got, half_at, half = 0, None, 0
    while got < size:
        data = connection.recv(1 << 16)
        check(data, "the sender went away")
        got += len(data)
        if half_at is None and got >= size // 2:
            half_at, half = time.monotonic(), got
    now = time.monotonic()
    print("mbit %.2f at %.6f" % ((got - half) * 8e-6 / (now - half_at), now))


def send(address, port, size):
    print("from %.6f" % time.monotonic(), flush=True)
    with socket.create_connection((address, port)) as connection:
        connection.sendall(bytes(size))


INSIDE = {"ping": ping, "receive": receive, "send": send}


# ---- namespaces and lines ----

class Machines:
    """A namespace for the coordinator and one for each worker, and a line from each worker's to it."""

    def __init__(self, programs, workers):
        self.programs = programs
        self.names = ["%s%d-%d" % (PREFIX, os.getpid(), i) for i in range(workers + 1)]
        self.made, self.links = [], []

    def make(self):
        """False where the machine refuses namespaces or TUN devices, with the reason said."""
        for name in self.names:
            done = subprocess.run(["ip", "netns", "add", name], capture_output=True, text=True)
            if done.returncode != 0:
                say("skipped: no network namespaces: " + done.stderr.strip())
                return False
            self.made.append(name)
            subprocess.run(["ip", "-n", name, "link", "set", "lo", "up"], check=True)
        for worker in range(len(self.names) - 1):
            link = processes.Program(
                [self.programs / "tun_link", "%s:wan%d:%s" % (self.names[0], worker, self.coordinator_address(worker)),
                 "%s:wan0:10.77.%d.2" % (self.names[1 + worker], worker), "--delay-ms", str(ROUND_TRIP_MS / 2),
                 "--rate-mbit", str(RATE_MBIT), "--seed", str(1 + worker)], stdin=subprocess.PIPE)
            self.links.append(link)
            if link.wait_for("^up$") is None:
                say("skipped: no TUN devices: " + link.text())
                return False
        return True

    @staticmethod
    def coordinator_address(worker):
        return "10.77.%d.1" % worker

    def tell(self, worker, command, answer):
        """Tells the worker's line and waits for its answer; the time and match of the answer."""
        link = self.links[worker]
        before = time.monotonic()
        link.process.stdin.write(command + "\n")
        link.process.stdin.flush()
        return awaited(link, answer, after=before)

    def start(self, machine, command):
        return processes.Program(["ip", "netns", "exec", self.names[machine], *map(str, command)])

    def inside(self, machine, *command):
        return self.start(machine, [sys.executable, __file__, "--inside", *command])

    def remove(self):
        for link in self.links:
            link.process.stdin.close()
            link.end(10)
        for name in self.made:
            subprocess.run(["ip", "netns", "delete", name], check=False)


def remove_leftovers():
    """Namespaces of earlier tests that were killed."""
    listed = subprocess.run(["ip", "netns", "list"], capture_output=True, text=True).stdout
    for name, owner in re.findall(r"^(%s(\d+)-\d+)" % PREFIX, listed, re.M):
        if not pathlib.Path("/proc/" + owner).exists():
            subprocess.run(["ip", "netns", "delete", name], check=False)


# ---- a run over the lines ----

class NetworkTest:
    def __init__(self, programs, scratch, machines):
        self.programs, self.scratch, self.machines = programs, scratch, machines
        self.workers = len(machines.links)
        self.started = []

    def start_run(self, name, keys=None, **settings):
        directory = self.scratch / name
        chosen = {"model.synthetic_params": 2_000_003, "model.synthetic_step_ms": 5, "round.chunk_params": 131072,
                  "round.local_steps": 4, "round.snapshot_every": 2}
        chosen.update({key.replace("__", "."): value for key, value in settings.items()})
        words = [word for pair in chosen.items() for word in ("--set", "%s=%s" % pair)]
        proof = ["--keys", keys] if keys else ["--insecure"]
        self.coordinator = self.machines.start(
            0, [self.programs / "interlude", "coordinator", "--workers", self.workers, "--config",
                ROOT / "examples" / "synthetic.toml", *words, "--dir", directory, "--listen", "0.0.0.0:0", *proof])
        self.started = [self.coordinator]
        port = awaited(self.coordinator, processes.LISTENS)[1].group(1).rsplit(":", 1)[1]
        for worker in range(self.workers):
            self.started.append(self.machines.start(
                1 + worker, [self.programs / "interlude", "worker", "--coordinator",
                             "%s:%s" % (self.machines.coordinator_address(worker), port), "--id", worker,
                             "--threads", 1, "--reconnect-for", 60, *proof]))
        return directory

    def finish(self, directory, statuses):
        """Waits for the end; all must name the same final hash, and the journal must come to it again."""
        found = [program.end(60) for program in self.started]
        text = "\n".join("---- status %d: %s\n%s" % (status, program.process.args[4:6], program.text()[-4000:])
                         for status, program in zip(found, self.started))
        check(found in statuses, "exit statuses %s, not one of %s:\n%s" % (found, statuses, text))
        wrong = processes.WRONG.search(text)
        check(wrong is None, text)
        root = processes.ROOT.search(self.coordinator.text())
        check(root is not None, text)
        root = root.group(1) or root.group(2)
        for program in self.started[1:]:
            check(root in HASH.findall(program.text()), "a worker does not name %s:\n%s" % (root, text))
        verified = subprocess.run([self.programs / "interlude", "journal", "verify", directory], capture_output=True,
                                  text=True)
        check(verified.returncode == 0, "journal verify: %s%s" % (verified.stdout, verified.stderr))
        return root

    def kill_all(self):
        for program in self.started:
            program.kill()
            program.end(10)

    # ---- the checks ----

    def the_line_is_as_long_as_asked(self):
        for worker in range(self.workers):
            pings = self.machines.inside(1 + worker, "ping", self.machines.coordinator_address(worker), "20")
            check(pings.end(60) == 0, pings.text())
            trips = [float(line) for _, line in pings.lines]
            trip = statistics.median(trips)
            say("line %d: round trip %.2f ms (%.2f to %.2f)" % (worker, trip, min(trips), max(trips)))
            check(abs(trip - ROUND_TRIP_MS) <= 0.1 * ROUND_TRIP_MS, "round trip %.2f ms" % trip)

    def the_line_is_as_wide_as_asked(self):
        size = 12_000_000
        receiver = self.machines.inside(0, "receive", str(size))
        port = awaited(receiver, r"^port (\d+)")[1].group(1)
        sender = self.machines.inside(1, "send", self.machines.coordinator_address(0), port, str(size))
        rate, end = map(float, awaited(receiver, r"^mbit (\S+) at (\S+)")[1].groups())
        begin = float(awaited(sender, r"^from (\S+)")[1].group(1))
        check(sender.end() == 0 and receiver.end() == 0, sender.text() + receiver.text())
        whole = size * 8e-6 / (end - begin)
        say("line 0: %.1f Mbit/s of a TCP connection's bytes, %.1f from its first to its last" % (rate, whole))
        # Its own headers are 3.5 %; a busy machine may leave the line empty at times. That it is no wider is judged by
        # the whole: a receiver that was late finds half of the bytes waiting.
        check(0.5 * RATE_MBIT <= rate and whole <= 1.02 * RATE_MBIT, "%.1f Mbit/s, %.1f in all" % (rate, whole))
        if shutil.which("iperf3") is None:
            say("line 0: not compared with iperf3, which is not installed")
            return
        listening = self.machines.start(0, ["iperf3", "-s", "-1", "--forceflush"])
        awaited(listening, "listening")
        iperf = self.machines.start(1, ["iperf3", "-c", self.machines.coordinator_address(0), "-t", "3", "-O", "1",
                                        "-J"])
        check(iperf.end(30) == 0, iperf.text())
        listening.end(10)
        rate = json.loads(iperf.text())["end"]["sum_received"]["bits_per_second"] * 1e-6
        say("line 0: %.1f Mbit/s by iperf3" % rate)
        check(0.5 * RATE_MBIT <= rate <= 1.02 * RATE_MBIT, "%.1f Mbit/s by iperf3" % rate)

    def a_run_over_it_ends_well(self):
        directory = self.start_run("plain", round__rounds=8)
        self.finish(directory, [[0] * (1 + self.workers)])

    def a_run_with_losses_ends_well_over_tls(self):
        keys = self.scratch / "keys"
        names = [word for worker in range(self.workers)
                 for word in ("--name", self.machines.coordinator_address(worker))]
        subprocess.run([self.programs / "interlude", "keys", "init", keys, "--workers", str(self.workers), *names],
                       check=True, stdout=subprocess.DEVNULL)
        for worker in range(self.workers):
            self.machines.tell(worker, "loss 0.01", "^loss 0.01$")
        directory = self.start_run("losses", keys, round__rounds=8)
        self.finish(directory, [[0] * (1 + self.workers)])
        lost = 0
        for worker in range(self.workers):
            counts = self.machines.tell(worker, "counts", r"^counts there .* (\d+) lost .* (\d+) lost ")[1]
            lost += int(counts.group(1)) + int(counts.group(2))
            self.machines.tell(worker, "loss 0", "^loss 0$")
        say("losses: %d packets lost" % lost)
        check(lost > 0, "no packet was lost")

    def a_partition_in_an_upload_is_survived(self):
        self.partition("partition", milliseconds=3000, rounds=12)

    def the_others_go_on_during_a_longer_partition(self):
        # Its connections are given up by the coordinator after 11 s, and the worker cannot know.
        silent, opened, left_out = self.partition("longer", milliseconds=14000, rounds=55)
        others = [when for when, line in self.coordinator.lines if processes.ROUND.search(line)]
        check(any(silent + 1 < when < opened for when in others),
              "no round ended meanwhile:\n" + self.coordinator.text())
        check(left_out, "no event says that the worker was closed out")

    def partition(self, name, milliseconds, rounds):
        """Cuts the last worker off in the middle of an upload of 1 MB. When it began, when it ended, and the events
        that say why the worker was left out of rounds."""
        victim = self.workers - 1
        # It trains for long enough that its line is told before the upload begins.
        directory = self.start_run(name, round__rounds=rounds, model__synthetic_step_ms=75)
        awaited(self.coordinator, r"^round +3/")
        silent = self.machines.tell(victim, "silent-for %d after 500000" % milliseconds, "^silent$")[0]
        opened = awaited(self.machines.links[victim], "^open$", after=silent)[0]
        self.finish(directory, [[status] + [0] * self.workers for status in (0, 3)])

        database = sqlite3.connect("file:%s?mode=ro" % (directory / "run.db"), uri=True)
        longest = database.execute("SELECT max(end_ns - begin_ns) / 1e6 FROM spans WHERE phase = 'upload' "
                                   "AND recorded_by = ?", (victim,)).fetchone()[0]
        check(longest >= milliseconds, "the longest upload took %s ms: the partition was not in it" % longest)
        present = [row[0] for row in database.execute("SELECT round FROM worker_rounds WHERE worker = ?", (victim,))]
        left_out = [row[0] for row in database.execute(
            "SELECT text FROM events WHERE worker = ? AND kind IN ('late', 'worker_left') AND text != ''", (victim,))]
        missed = rounds - len(present)
        check(max(present) == rounds or left_out, "the worker did not come back, and no event says why")
        check(missed == 0 or left_out, "the worker missed %d rounds, and no event says why" % missed)
        say("partition of %.1f s: worker %d missed %d of %d rounds%s" % (
            opened - silent, victim, missed, rounds, "".join("; " + text for text in left_out)))
        return silent, opened, left_out


def run_checks(programs, only, keep):
    if shutil.which("ip") is None:
        say("skipped: the program ip (package iproute2) is missing")
        return SKIPPED
    remove_leftovers()
    scratch = pathlib.Path(tempfile.mkdtemp(prefix="interlude-network-"))
    machines = Machines(programs, workers=2)
    test = None
    try:
        if not machines.make():
            return SKIPPED
        test = NetworkTest(programs, scratch, machines)
        for one in (test.the_line_is_as_long_as_asked, test.the_line_is_as_wide_as_asked, test.a_run_over_it_ends_well,
                    test.a_run_with_losses_ends_well_over_tls, test.a_partition_in_an_upload_is_survived,
                    test.the_others_go_on_during_a_longer_partition):
            name = one.__name__.replace("_", " ")
            if only not in name:
                continue
            begin = time.monotonic()
            one()
            say("passed: %s (%.1f s)" % (name, time.monotonic() - begin))
        return 0
    except Failure as failure:
        say("FAILED: %s" % failure)
        return 1
    finally:
        if test is not None:
            test.kill_all()
        machines.remove()
        if keep:
            say("kept: %s" % scratch)
        else:
            shutil.rmtree(scratch)


def main():
    if sys.argv[1:2] == ["--inside"]:
        words = sys.argv[3:]
        INSIDE[sys.argv[2]](*(int(word) if word.isdigit() else word for word in words))
        return 0
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("programs", type=lambda path: pathlib.Path(path).resolve())
    parser.add_argument("--only", default="", help="words of the checks to run: 'partition'")
    parser.add_argument("--keep", action="store_true", help="leave the runs' directories")
    options = parser.parse_args()
    # So that a time-out of ctest leaves no namespace.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    return run_checks(options.programs, options.only, options.keep)


if __name__ == "__main__":
    sys.exit(main())
