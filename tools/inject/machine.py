"""What takes a machine's means away from one process: cgroups (version 1), neighbours on its core, a link."""

import errno
import os
import pathlib
import re
import shutil
import subprocess
import time

from faults.processes import Program

CGROUPS = pathlib.Path("/sys/fs/cgroup")
CONTROLLERS = ("cpu", "memory", "blkio")
PREFIX = "interlude-inject-"
PERIOD_US = 100_000
MEMORY_ROOM = 20 << 20
BURNER = "while :; do :; done"


class Missing(Exception):
    """The machine does not let us do that."""


class Cgroup:
    """A group of its own for the victim in each controller; without limits until told."""

    def __init__(self):
        self.folders = {}
        for controller in CONTROLLERS:
            folder = CGROUPS / controller / ("%s%d" % (PREFIX, os.getpid()))
            try:
                folder.mkdir()
            except OSError as error:
                self.remove()
                raise Missing("no cgroup of version 1 for %s: %s" % (controller, error))
            self.folders[controller] = folder

    def command(self, command):
        """The same command, inside the groups from its first instruction on."""
        joins = "".join("echo $$ > %s/cgroup.procs; " % folder for folder in self.folders.values())
        return ["sh", "-c", joins + 'exec "$@"', "sh", *command]

    def write(self, controller, name, text):
        (self.folders[controller] / name).write_text(text)

    def set_quota(self, cores):
        quota = -1 if cores is None else int(cores * PERIOD_US)
        self.write("cpu", "cpu.cfs_quota_us", str(quota))

    def set_shares(self, shares):
        """Against the 1024 of whoever else wants the core."""
        self.write("cpu", "cpu.shares", str(shares))

    def set_read_rate(self, bytes_a_second, folder):
        device = os.stat(folder).st_dev
        # Of the whole disk; a partition has no queue of its own.
        whole = pathlib.Path("/sys/dev/block/%d:%d" % (os.major(device), os.minor(device))).resolve()
        if (whole / "partition").exists():
            whole = whole.parent
        number = (whole / "dev").read_text().strip()
        self.write("blkio", "blkio.throttle.read_bps_device", "%s %d" % (number, bytes_a_second))

    def set_memory(self, scarce):
        """Little more than it has of its own, so that file pages do not fit; or as much as it likes."""
        if not scarce:
            self.write("memory", "memory.limit_in_bytes", "-1")
            return
        stat = (self.folders["memory"] / "memory.stat").read_text()
        own = int(re.search(r"^rss (\d+)$", stat, re.M).group(1))
        for _ in range(100):
            try:
                return self.write("memory", "memory.limit_in_bytes", str(own + MEMORY_ROOM))
            except OSError as error:
                if error.errno != errno.EBUSY:
                    raise
                refused = error
            time.sleep(0.05)  # the kernel has not yet freed as much
        raise RuntimeError("the memory limit cannot be lowered to %d bytes: %s" % (own + MEMORY_ROOM, refused))

    def remove(self):
        for folder in self.folders.values():
            for _ in range(50):
                try:
                    folder.rmdir()
                    break
                except OSError:
                    time.sleep(0.1)  # its processes are still being cleared away


class Burner:
    """Another process on the victim's core."""

    def __init__(self, core):
        self.core, self.process = core, None

    def start(self):
        self.process = subprocess.Popen(["taskset", "-c", str(self.core), "sh", "-c", BURNER])

    def stop(self):
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None


class Link:
    """Two network namespaces, the coordinator's and the victim's, and a line between them (tools/tun_link)."""

    ADDRESSES = ("10.78.0.1", "10.78.0.2")

    def __init__(self, binaries):
        self.names = ["%s%d-%d" % (PREFIX, os.getpid(), i) for i in range(2)]
        self.line = None
        if shutil.which("ip") is None:
            raise Missing("the program ip (package iproute2) is missing")
        for name in self.names:
            done = subprocess.run(["ip", "netns", "add", name], capture_output=True, text=True)
            if done.returncode != 0:
                self.remove()
                raise Missing("no network namespaces: " + done.stderr.strip())
            subprocess.run(["ip", "-n", name, "link", "set", "lo", "up"], check=True)
        ends = ["%s:wan0:%s" % pair for pair in zip(self.names, self.ADDRESSES)]
        self.line = Program([binaries / "tun_link", *ends, "--seed", "1"], stdin=subprocess.PIPE)
        if self.line.wait_for("^up$", 10) is None:
            self.remove()
            raise Missing("no TUN devices: " + self.line.text())

    def command(self, end, command):
        return ["ip", "netns", "exec", self.names[end], *command]

    def tell(self, command):
        before = time.monotonic()
        self.line.process.stdin.write(command + "\n")
        self.line.process.stdin.flush()
        if self.line.wait_for("^" + re.escape(command) + "$", 10, before) is None:
            raise RuntimeError("the line did not answer '%s': %s" % (command, self.line.text()[-500:]))

    def remove(self):
        if self.line is not None:
            self.line.process.stdin.close()
            self.line.end(10)
        for name in self.names:
            subprocess.run(["ip", "netns", "delete", name], capture_output=True, check=False)
