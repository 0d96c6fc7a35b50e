"""Lines between places on one machine: network namespaces joined by tun_link, where the kernel has no netem."""

import shutil
import subprocess

from faults.processes import Program
from runner import quota
from runner.quota import Missing


class Lines:
    """The coordinator's namespace, and one for the workers behind each line. Takes root."""

    def __init__(self, binaries, lines):
        self.names, self.programs = [], []
        self.behind = {worker: i for i, line in enumerate(lines, 1) for worker in line.workers}
        if not (binaries / "tun_link").exists():
            raise Missing(f"{binaries}/tun_link is not there: build the target tun_link")
        if shutil.which("ip") is None:
            raise Missing("the program ip (package iproute2) is missing")
        try:
            for i in range(len(lines) + 1):
                self._make(quota.name_of(i))
            for i, line in enumerate(lines, 1):
                self._join(binaries, i, line)
        except BaseException:
            self.remove()
            raise

    def _make(self, name):
        done = subprocess.run(["ip", "netns", "add", name], capture_output=True, text=True)
        if done.returncode != 0:
            raise Missing(f"this machine gives no network namespaces ({done.stderr.strip()}); they take root")
        self.names.append(name)
        subprocess.run(["ip", "-n", name, "link", "set", "lo", "up"], check=True)

    def _join(self, binaries, i, line):
        ends = [f"{self.names[0]}:wan{i}:{self.address(i)}", f"{self.names[i]}:wan0:10.79.{i}.2"]
        # From the first end to the second is down, to the workers.
        program = Program([binaries / "tun_link", *ends, "--seed", str(i), "--delay-ms", str(line.delay_ms),
                           "--rate-mbit", str(line.down_mbit), "--back-rate-mbit", str(line.up_mbit), "--loss",
                           str(line.loss)], stdin=subprocess.PIPE)
        self.programs.append(program)
        if program.wait_for("^up$", 10) is None:
            raise Missing(f"this machine gives no TUN devices ({program.text().strip()})")

    @staticmethod
    def address(i):
        """The coordinator's on the i-th line."""
        return f"10.79.{i}.1"

    def command(self, worker, command):
        """The command in the namespace of the worker; of the coordinator with None."""
        name = self.names[0 if worker is None else self.behind.get(worker, 0)]
        # Not ip netns exec, which hides /sys, and with it the cgroups that processes are to read.
        return ["nsenter", f"--net=/run/netns/{name}", *map(str, command)]

    def coordinator_for(self, worker):
        behind = self.behind.get(worker, 0)
        return self.address(behind) if behind else "127.0.0.1"

    def remove(self):
        for program in self.programs:
            program.process.stdin.close()
            program.end(10)
        for name in self.names:
            delete(name)


def delete(name):
    subprocess.run(["ip", "netns", "delete", name], capture_output=True, check=False)
