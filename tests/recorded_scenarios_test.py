#!/usr/bin/env python3
"""What the report finds in the recorded scenarios of the field report (testdata/scenarios) is what it found when
their goldens were looked at, and every critical path adds up. The page that docs/field-report.md shows of one has
the same data.

Usage: recorded_scenarios_test.py PROGRAM [--update]. With --update the goldens and the page are written instead.
"""

import json
import pathlib
import re
import subprocess
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent
KEPT = ROOT / "testdata" / "scenarios"
PAGE = ROOT / "docs" / "field-report-f1.html"
PROGRAM = sys.argv[1]


def report(folder):
    done = subprocess.run([PROGRAM, "report", str(folder), "--json"], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def findings(found):
    return [{key: one[key] for key in ("id", "workers", "grade", "text")} for one in found["findings"]]


def write_page(path):
    subprocess.run([PROGRAM, "report", str(KEPT / "f1"), "--html", str(path)], check=True)


def data_of(page):
    """What a page's charts are made of."""
    return json.loads(re.search(r'<script type="application/json" id="report">(.*?)</script>', page, re.DOTALL)[1])


def folders():
    return sorted(path.parent for path in KEPT.glob("*/run.db"))


class Recorded(unittest.TestCase):
    def test_each_scenario_of_the_field_report_is_there(self):
        self.assertEqual({"f1", "f3", "f4", "f7"}, {folder.name for folder in folders()})

    def test_findings_are_the_golden_ones(self):
        for folder in folders():
            with self.subTest(folder.name):
                self.assertEqual(json.loads((folder / "findings.json").read_text()), findings(report(folder)))

    def test_every_path_adds_up_to_its_round(self):
        for folder in folders():
            for entry in report(folder)["rounds"]:
                with self.subTest(folder.name, round=entry["round"]):
                    taken = sum(piece["end_ns"] - piece["begin_ns"] for piece in entry["path"]["pieces"])
                    self.assertEqual(round(entry["wall_seconds"] * 1e9), taken)

    def test_the_two_slow_workers_and_their_quota_are_named(self):
        named = [one for one in report(KEPT / "f1")["findings"] if one["id"].startswith("straggler_quota")]
        self.assertIn([14, 15], [one["workers"] for one in named])

    def test_the_page_that_the_docs_show_has_the_data_of_its_recording(self):
        # The page around them may be that of an older program: it changes with every view.
        self.assertEqual(report(KEPT / "f1"), data_of(PAGE.read_text()),
                         f"{PAGE.name} is of another run or program; --update writes it anew")


if __name__ == "__main__":
    if "--update" in sys.argv[2:]:
        for each in folders():
            (each / "findings.json").write_text(json.dumps(findings(report(each)), indent=1) + "\n")
        write_page(PAGE)
        sys.exit(0)
    unittest.main(argv=sys.argv[:1])
