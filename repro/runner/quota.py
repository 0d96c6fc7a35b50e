"""A CPU quota for some processes of a scenario: cgroups of version 1 or 2."""

import os
import pathlib
import time

CGROUPS = pathlib.Path("/sys/fs/cgroup")
PERIOD_US = 100_000
PREFIX = "interlude-repro-"  # then the process id, and a number


class Missing(Exception):
    """The machine does not let us do that."""


class Quota:
    """A cgroup whose processes get some cores of the machine together: `cores` while it is tight, else at least one, so
    that processes do not take minutes to start and to end. Threads are chosen for one core either way."""

    def __init__(self, name, cores, root=CGROUPS):
        self.cores = cores
        # With both versions mounted, version 1 has the controller.
        self.first = (root / "cpu").is_dir()
        self.folder = (root / "cpu" if self.first else root) / name
        try:
            if not self.first and "cpu" not in (root / "cgroup.subtree_control").read_text().split():
                (root / "cgroup.subtree_control").write_text("+cpu")
            self.folder.mkdir()
            self.loosen()
        except OSError as error:
            self.remove()
            raise Missing(f"this machine gives no CPU quota ({error}); it takes root and cgroups that may be "
                          f"written") from error

    def _set(self, cores):
        quota = max(1000, int(cores * PERIOD_US))
        if self.first:
            (self.folder / "cpu.cfs_period_us").write_text(str(PERIOD_US))
            (self.folder / "cpu.cfs_quota_us").write_text(str(quota))
        else:
            (self.folder / "cpu.max").write_text(f"{quota} {PERIOD_US}")

    def tighten(self):
        self._set(self.cores)

    def loosen(self):
        self._set(max(1, self.cores))

    def command(self, command):
        """The same command, inside from its first instruction on."""
        return ["sh", "-c", f'echo $$ > {self.folder}/cgroup.procs && exec "$@"', "sh", *map(str, command)]

    def remove(self):
        for _ in range(50):
            try:
                self.folder.rmdir()
                return
            except FileNotFoundError:
                return
            except OSError:
                time.sleep(0.1)  # its processes are still being cleared away


def name_of(number):
    return f"{PREFIX}{os.getpid()}-{number}"
