#!/usr/bin/env python3
"""Tests of machine.py, without a cgroup."""

import errno
import pathlib
import sys
import tempfile
import unittest
import unittest.mock

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

from inject import machine  # noqa: E402


class RefusingCgroup(machine.Cgroup):
    """Its memory limit is refused with these errors, one after the other, and then taken."""

    def __init__(self, folder, errors):
        self.folders, self.errors, self.limit = {"memory": folder}, list(errors), None

    def write(self, controller, name, text):
        if self.errors:
            raise OSError(self.errors.pop(0), "no")
        self.limit = int(text)


class MemoryLimitTest(unittest.TestCase):
    def lowered(self, errors):
        with tempfile.TemporaryDirectory() as folder, unittest.mock.patch("time.sleep"):
            path = pathlib.Path(folder)
            (path / "memory.stat").write_text("cache 5\nrss 1000\n")
            group = RefusingCgroup(path, errors)
            group.set_memory(True)
            return group.limit

    def test_is_tried_again_while_the_kernel_has_not_freed_as_much(self):
        self.assertEqual(self.lowered([]), 1000 + machine.MEMORY_ROOM)
        self.assertEqual(self.lowered([errno.EBUSY] * 3), 1000 + machine.MEMORY_ROOM)

    def test_that_is_never_taken_is_a_failure_and_not_a_missing_means(self):
        with self.assertRaisesRegex(RuntimeError, "no"):
            self.lowered([errno.EBUSY] * 1000)

    def test_another_error_is_not_tried_again(self):
        with self.assertRaises(PermissionError):
            self.lowered([errno.EACCES])


if __name__ == "__main__":
    unittest.main()
