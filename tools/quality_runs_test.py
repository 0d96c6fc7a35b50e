#!/usr/bin/env python3
"""What is kept of runs comes back as it was. Usage: tools/quality_runs_test.py"""

import unittest

from quality_runs import packed, unpacked


class Record(unittest.TestCase):
    RUNS = {"one": {"seconds": 1, "config": {"seed": 1, "round.rounds": 20, "train.batch": 128}},
            "two": {"seconds": 2, "config": {"seed": 2, "round.rounds": 20, "outer.trim": 0.25}}}

    def test_comes_back(self):
        self.assertEqual(unpacked(packed(self.RUNS)), self.RUNS)

    def test_holds_what_is_common_once(self):
        record = packed(self.RUNS)
        self.assertEqual(record["config"], {"round.rounds": 20})
        self.assertEqual(record["runs"]["two"]["config"], {"seed": 2, "outer.trim": 0.25})

    def test_one_run_is_all_in_common(self):
        one = {"one": self.RUNS["one"]}
        self.assertEqual(packed(one)["runs"]["one"]["config"], {})
        self.assertEqual(unpacked(packed(one)), one)


if __name__ == "__main__":
    unittest.main()
