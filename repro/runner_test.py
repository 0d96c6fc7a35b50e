#!/usr/bin/env python3
"""Tests of the scenarios' runner: what it reads and refuses, how it counts and judges. No run is made."""

import json
import pathlib
import re
import sqlite3
import sys
import tempfile
import types
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "tools")]

from runner import figures, machine, quota, results, scenario, stage, text  # noqa: E402

SMALL = """
title = "small"
workers = 3
[settings]
round.codec = "q4"
model.synthetic_params = 1000
"""


def read(body, quick=False):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "one.toml"
        path.write_text(body)
        return scenario.read(path, figures.FIGURES, quick)


class Reading(unittest.TestCase):
    def test_every_scenario_that_stands_here_can_be_read_in_both_forms(self):
        paths = sorted(HERE.glob("*.toml"))
        self.assertGreaterEqual(len(paths), 5)
        for path in paths:
            for quick in (False, True):
                one = scenario.read(path, figures.FIGURES, quick)
                self.assertTrue(one.title)

    def test_every_fact_of_the_field_report_has_a_scenario(self):
        facts = {fact for path in HERE.glob("*.toml") for fact in scenario.read(path, figures.FIGURES).facts}
        self.assertEqual({f"F{i}" for i in range(1, 10)}, facts)

    def test_settings_become_dotted_keys_and_a_file_without_ways_has_one(self):
        one = read(SMALL)
        self.assertEqual({"round.codec": "q4", "model.synthetic_params": 1000}, one.settings)
        self.assertEqual(1, len(one.ways))
        self.assertEqual((), one.places[0].lines)

    def test_the_quick_form_replaces_values_and_keeps_the_rest(self):
        body = SMALL + "[quick]\nworkers = 2\nsettings = { model.synthetic_params = 10 }\n"
        self.assertEqual(3, read(body).workers)
        quick = read(body, quick=True)
        self.assertEqual(2, quick.workers)
        self.assertEqual({"round.codec": "q4", "model.synthetic_params": 10}, quick.settings)

    def assert_refused(self, body, *words):
        with self.assertRaises(scenario.ScenarioError) as caught:
            read(body)
        for word in ("one.toml", *words):
            self.assertIn(word, str(caught.exception))

    def test_what_is_wrong_is_named_with_what_would_be_right(self):
        self.assert_refused("title = ", "no TOML")
        self.assert_refused('title = "a"\n', "needs the key workers")
        self.assert_refused('wokers = 3\n' + SMALL, "wokers", "known are", "workers")
        self.assert_refused(SMALL.replace("3", "0", 1), "workers = 0", "1 to")
        self.assert_refused(SMALL.replace("workers = 3", "workers = true"), "int")
        self.assert_refused(SMALL + "[[limit]]\nworkers = [3]\ncores = 1\n", "from 0 to 2")
        self.assert_refused(SMALL + "[[limit]]\nworkers = [0]\ncores = 0\n", "out of range")
        self.assert_refused(SMALL + "[[line]]\nworkers = [0]\n[[line]]\nworkers = [0, 1]\n", "worker 0", "two")
        self.assert_refused(SMALL + "[[line]]\nworkers = 'all'\nloss = 1.0\n", "below 1")
        self.assert_refused(SMALL + "[[line]]\nworkers = 'some'\n", '"all"')
        self.assert_refused(SMALL + "[[place]]\nname = 'a'\n[[line]]\nworkers = 'all'\n", "[[place.line]]")
        way = "[[way]]\nname = 'a'\n"
        self.assert_refused(SMALL + way + "[[expect]]\nwhat='x'\nfigure='nothing'\nway='a'\nat_most=1\n", "round_s")
        self.assert_refused(SMALL + way + "[[expect]]\nwhat='x'\nfigure='round_s'\nway='b'\nat_most=1\n", "no [[way]]")
        self.assert_refused(SMALL + way + "[[expect]]\nwhat='x'\nfigure='round_s'\nway='a'\n", "at_least or at_most")

    def test_a_file_that_is_not_there_is_named(self):
        with self.assertRaisesRegex(scenario.ScenarioError, "nowhere.toml cannot be read"):
            scenario.read("/nowhere.toml", figures.FIGURES)

    def test_the_page_about_scenarios_has_every_figure_and_every_scenario_a_section_to_write_to(self):
        docs = HERE.parent / "docs"
        described = (docs / "scenarios.md").read_text()
        for name, (what, unit, _) in figures.FIGURES.items():
            self.assertIn(f"| `{name}` | {what}{', ' + unit if unit else ''} |", described)
        page = (docs / "field-report.md").read_text()
        for path in HERE.glob("*.toml"):
            if scenario.read(path, figures.FIGURES).facts:
                self.assertIn(f"<!-- {path.stem}: begin -->", page)
        self.assertIn("](field-report-f1.html)", re.sub("<!-- [a-z0-9]+: begin -->.*?<!-- [a-z0-9]+: end -->", "", page,
                                                        flags=re.DOTALL), "it stays where sections are written anew")


class Playing(unittest.TestCase):
    def test_settings_of_the_way_win_and_threads_are_the_limits(self):
        one = read(SMALL + """
[[limit]]
workers = [1]
cores = 0.5
[[way]]
name = "naive"
limited_threads = 16
settings = { round.codec = "fp32" }
[[way]]
name = "own"
""")
        naive, own = (stage.Case(one, one.places[0], way) for way in one.ways)
        self.assertIn("round.codec=fp32", list(naive.settings(pathlib.Path("/b/bin"))))
        self.assertIn("round.codec=q4", list(own.settings(pathlib.Path("/b/bin"))))
        self.assertEqual([1, 16, 1], [naive.threads(worker) for worker in range(3)])
        self.assertEqual([1, None, 1], [own.threads(worker) for worker in range(3)])

    def test_a_quota_is_written_for_either_version_of_cgroups(self):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            (root / "cpu").mkdir()
            group = quota.Quota("one", 0.05, root)
            self.assertEqual("100000", (root / "cpu/one/cpu.cfs_quota_us").read_text())
            group.tighten()
            self.assertEqual("5000", (root / "cpu/one/cpu.cfs_quota_us").read_text())
            self.assertIn(f"{root}/cpu/one/cgroup.procs", " ".join(group.command(["true"])))
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            (root / "cgroup.subtree_control").write_text("")
            quota.Quota("two", 2, root).tighten()
            self.assertEqual("200000 100000", (root / "two/cpu.max").read_text())
            self.assertEqual("+cpu", (root / "cgroup.subtree_control").read_text())

    def test_a_machine_without_cgroups_is_told_so(self):
        with self.assertRaisesRegex(quota.Missing, "no CPU quota"):
            quota.Quota("three", 1, pathlib.Path("/proc/nowhere"))

    def test_what_does_not_fit_into_memory_is_left_out(self):
        one = read(SMALL.replace("1000", "900_000_000_000"))
        said = []
        measure, machine.measure = machine.measure, lambda binaries, folder: {}
        try:
            found = results.play(pathlib.Path("/none"), one, False, None, said.append)
        finally:
            machine.measure = measure
        self.assertIn("of memory", found["cases"][0]["left_out"])


class Judging(unittest.TestCase):
    def test_bounds_hold_on_both_sides_and_what_was_not_measured_is_not_met(self):
        one = read(SMALL + "[[way]]\nname='a'\n[[expect]]\nwhat='x'\nfigure='round_s'\nway='a'\nat_least=1\nat_most=2\n")
        expected = one.expectations[0]
        self.assertEqual([False, True, True, False, False], [expected.met(v) for v in (0.9, 1, 2, 2.1, None)])
        left_out = {"way": "a", "place": "", "left_out": "no"}
        played = {"way": "a", "place": "", "figures": {"round_s": 1.5}}
        self.assertEqual([None, True], [each["met"] for each in results.judge(one, [left_out, played])])

    def test_figures_are_medians_of_the_rounds_after_the_first(self):
        with tempfile.TemporaryDirectory() as folder:
            database = sqlite3.connect(f"{folder}/run.db")
            database.execute("CREATE TABLE rounds (round, begin_ns, end_ns, first_sync_ns, last_delta_ns)")
            database.execute("CREATE TABLE spans (round, phase, recorded_by, begin_ns, end_ns, busy_ns, cpu_ns, bytes)")
            for number, length in ((1, 900), (2, 10), (3, 30), (4, 20)):
                begin = number * 10**10
                database.execute("INSERT INTO rounds VALUES (?, ?, ?, ?, ?)",
                                 (number, begin, begin + length * 10**8, begin + 10**8, begin + 2 * 10**8))
                for worker, part in ((0, 1), (1, 4)):
                    database.execute("INSERT INTO spans VALUES (?, 'encode', ?, ?, ?, ?, 0, 0)",
                                     (number, worker, begin, begin + part * 10**8, part * length * 10**7))
            database.commit()
            found = figures.Figures.__new__(figures.Figures)
            found.path = pathlib.Path(folder) / "run.db"
            found.case = types.SimpleNamespace(scenario=read(SMALL + "[[limit]]\nworkers=[1]\ncores=0.5\n"))
            self.assertEqual({0: 0.2, 1: 0.8}, found.phase_seconds("encode"))
            self.assertAlmostEqual(4, figures.FIGURES["encode_ratio"][2](found))
            self.assertAlmostEqual(1.9, figures.FIGURES["sync_start_s"][2](found))
            self.assertAlmostEqual(1.8, figures.FIGURES["sync_s"][2](found))

    def test_numbers_are_short_and_the_page_is_made_of_the_kept_results_alone(self):
        self.assertEqual(["–", "3", "0.0123", "1235"], [text.number(v) for v in (None, 3.0, 0.0123456, 1234.6)])
        kept = json.loads(json.dumps({
            "mark": "x", "title": "t", "facts": [], "field": "", "story": "s", "field_figures": {}, "show": ["round_s"],
            "plot": "encode", "quick": False, "workers": 2, "parameters": 7, "made": "2026-01-01",
            "machine": {"cpu": "c", "kernel": "k", "cores": 2.0, "memory_bytes": 1e9, "memcpy_bytes_per_s": 1e10,
                        "disk_bytes_per_s": None},
            "cases": [{"way": "a", "place": "", "figures": {"round_s": 2.5}, "phases": [["train", "worker", 1, 2]],
                       "findings": [], "encode": [[0, False, 0.1], [1, True, 1.0]]},
                      {"way": "b", "place": "", "left_out": "no root"}],
            "expectations": [{"what": "w", "figure": "round_s", "way": "a", "place": "", "bound": "at most 1",
                              "value": 2.5, "met": False}]}))
        page = text.of(kept, plots=True)
        for words in ("| a round | s | 2.5 |", "**not met**", "left out: no root", "1 to 2", "bar [0.100, 1.000]"):
            self.assertIn(words, page)


if __name__ == "__main__":
    unittest.main()
