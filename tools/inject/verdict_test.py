#!/usr/bin/env python3
"""Tests of verdict.py."""

import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

from inject import verdict  # noqa: E402


def entry(number, drags, kind="quota", grade="observed", wall=1.0):
    workers = [{"worker": worker, "drag_ns": drag, "cause": {"kind": kind, "grade": grade, "share": 1}}
               for worker, drag in enumerate(drags)]
    return {"round": number, "wall_seconds": wall, "path": {"workers": workers}}


class VerdictTest(unittest.TestCase):
    def test_the_culprit_has_the_largest_drag_that_is_worthwhile(self):
        self.assertEqual(verdict.culprit_of(entry(1, [0, 500_000_000, 10]))["worker"], 1)
        self.assertIsNone(verdict.culprit_of(entry(1, [0, 90_000_000, 10])))
        self.assertIsNone(verdict.culprit_of(entry(1, [0, 19_000_000], wall=0.1)))
        self.assertIsNone(verdict.culprit_of({"round": 1, "wall_seconds": 1, "path": None}))

    def test_rounds_are_counted_by_what_is_true_of_them(self):
        tally = verdict.Tally("quota", "quota")
        big = 500_000_000
        report = {"rounds": [entry(1, [big, 0, 0]),                      # not labelled
                             entry(2, [0, 0, big]),                      # right
                             entry(3, [0, 0, big], "disk"),              # another cause
                             entry(4, [0, 0, big], grade="hypothesis"),  # right, less sure
                             entry(5, [big, 0, 0]),                      # another worker
                             entry(6, [0, 0, 0]),                        # nobody
                             entry(7, [0, 0, 0]),                        # clean
                             entry(8, [0, big, 0])]}                     # a false alarm
        tally.add(report, {1: None, 2: True, 3: True, 4: True, 5: True, 6: True, 7: False, 8: False}, 2)
        self.assertEqual((tally.injected, tally.culprit, tally.right, tally.observed), (5, 3, 2, 1))
        self.assertEqual((tally.clean, tally.alarms), (2, 1))
        self.assertEqual(tally.found, {"quota": 2, "disk": 1, "(another)": 1, "(nobody)": 1})
        self.assertFalse(verdict.meets_the_bars([tally]))
        self.assertFalse(verdict.mostly_right([tally]))
        self.assertIn("culprit right in 60.0 %, cause right in 40.0 %; 1 false alarms in 2",
                      verdict.summary([tally]))

    def test_the_table_has_a_column_for_each_cause_that_was_named(self):
        tally = verdict.Tally("quota", "quota")
        tally.add({"rounds": [entry(2, [0, 500_000_000])]}, {2: True}, 1)
        self.assertEqual(verdict.table([tally]).splitlines()[2], "| quota | 1 | 1 | 1 | 1 | 0 | 0 |")
        self.assertTrue(verdict.meets_the_bars([tally]))
        self.assertTrue(verdict.mostly_right([tally]))


if __name__ == "__main__":
    unittest.main()
