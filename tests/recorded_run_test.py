#!/usr/bin/env python3
"""The report on a run that was really recorded (testdata/recorded_run), held against what a sceptic finds in its
run.db with sqlite3 alone: wall times, training, which pieces of the critical path the records bear out, who was
throttled. Nothing of the program's own reads the tables here.

Usage: recorded_run_test.py PROGRAM. With INTERLUDE_UPDATE_GOLDEN set, the golden files are written instead of compared.
"""

import json
import os
import pathlib
import sqlite3
import subprocess
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent
RUN = ROOT / "testdata" / "recorded_run"
PROGRAM = sys.argv[1]

VICTIM, INJECTED = 2, (3, 4, 5)  # as testdata/recorded_run/README.md says
MICROSECOND = 1000               # in which chunk stamps are kept
GAPS = ("hand_over", "unexplained")
# What a piece of the path is in the tables; of those that lie between two processes there is no single record.
OWN_PHASES = {"train", "evaluate", "encode", "call", "upload", "apply", "verify"}
COORDINATOR_PHASES = {"ledger", "decide", "merge", "save", "send"}


def report(*options):
    done = subprocess.run([PROGRAM, "report", str(RUN), *options], capture_output=True, text=True, check=True)
    return done.stdout


def rows(sql, *values):
    return DATABASE.execute(sql, values).fetchall()


DATABASE = sqlite3.connect("file:%s?mode=ro&immutable=1" % (RUN / "run.db"), uri=True)


def leb128(data):
    """The numbers in a blob of chunk_stamps, as docs/run-database.md has them for version 3."""
    number = shift = 0
    for byte in data:
        number |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            yield number
            number = shift = 0


def stamps(blob):
    """(chunk, begin, end) in nanoseconds."""
    numbers = leb128(blob)
    found, end, chunk = [], 0, -1
    for first in numbers:
        length = next(numbers)
        chunk += 1
        if first & 2:
            coded = next(numbers)
            chunk += -(coded + 1) // 2 if coded & 1 else coded // 2
        if first & 1:
            end -= first >> 2
            begin = end - length
        else:
            begin = end + (first >> 2)
            end = begin + length
        found.append((chunk, begin * MICROSECOND, end * MICROSECOND))
    return found


class Records:
    """Begins and ends of everything recorded of a round: (phase, worker) to (chunk or None, begin, end), raw."""

    def __init__(self, number):
        self.of = {}
        for phase, by, about, blob in rows(
                "SELECT phase, recorded_by, about_worker, stamps FROM chunk_stamps WHERE round = ?", number):
            self.of.setdefault((phase, max(by, about)), []).extend(stamps(blob))
        for phase, by, about, begin, end in rows(
                "SELECT phase, recorded_by, about_worker, begin_ns, end_ns FROM spans WHERE round = ?", number):
            self.of.setdefault((phase, max(by, about)), []).append((None, begin, end))

    def times(self, phase, worker, chunk):
        found = self.of.get((phase, -1 if worker is None else worker), [])
        return [(begin, end) for of, begin, end in found if of == chunk]


class RecordedRun(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.report = json.loads(report("--json"))
        cls.offset = {(clock["worker"], clock["round"]): clock["offset_ns"] for clock in cls.report["clocks"]}

    def test_the_text_is_the_golden_one(self):
        self.golden("report.txt", report())

    def test_the_findings_are_the_golden_ones(self):
        self.golden("findings.json", json.dumps(self.report["findings"], indent=1, ensure_ascii=False) + "\n")

    def test_rounds_last_as_long_as_the_tables_say_and_their_pieces_add_up_to_the_nanosecond(self):
        walls = dict(rows("SELECT round, end_ns - begin_ns FROM rounds"))
        self.assertEqual([entry["round"] for entry in self.report["rounds"]], sorted(walls))
        for entry in self.report["rounds"]:
            wall, at = walls[entry["round"]], 0
            self.assertAlmostEqual(entry["wall_seconds"], wall / 1e9, places=9)
            for piece in entry["path"]["pieces"]:
                self.assertEqual(piece["begin_ns"], at)
                self.assertGreater(piece["end_ns"], at)
                at = piece["end_ns"]
            self.assertEqual(at, wall)
            nobody_knows = sum(piece["end_ns"] - piece["begin_ns"] for piece in entry["path"]["pieces"]
                               if piece["what"] == "unexplained")
            self.assertEqual(entry["path"]["unexplained_ns"], nobody_knows)

    def test_at_most_a_fiftieth_of_the_measured_rounds_is_unexplained(self):
        measured = self.report["rounds"][1:]
        nobody_knows = sum(entry["path"]["unexplained_ns"] for entry in measured)
        self.assertLessEqual(50 * nobody_knows, sum(entry["wall_seconds"] for entry in measured) * 1e9)

    def test_a_piece_that_one_process_recorded_lies_within_its_record(self):
        checked = 0
        for entry, records, begin, piece, shift in self.pieces():
            if piece["what"] not in OWN_PHASES | COORDINATOR_PHASES:
                continue
            where = "round %d: %s" % (entry["round"], piece)
            first, last = begin + piece["begin_ns"] - shift, begin + piece["end_ns"] - shift
            times = records.times(piece["what"], piece["worker"], piece["chunk"])
            self.assertTrue(any(a <= first + MICROSECOND and last <= b + MICROSECOND for a, b in times), where)
            checked += 1
        self.assertGreater(checked, 8 * len(self.report["rounds"]))

    def test_a_hand_over_begins_where_one_record_ends_and_ends_where_another_one_begins(self):
        checked = 0
        for entry, records, begin, piece, shift in self.pieces():
            if piece["what"] != "hand_over":
                continue
            where = "round %d: %s" % (entry["round"], piece)
            first, last = begin + piece["begin_ns"] - shift, begin + piece["end_ns"] - shift
            self.assertLessEqual(last - first, 100_000_000, where)
            of_process = [(phase, worker) for phase, worker in records.of
                          if self.recorded_by(phase, worker) == self.clock_of(piece)]
            ends = [b for key in of_process for _, _, b in records.of[key]]
            self.assertTrue(any(abs(b - first) <= MICROSECOND for b in ends), where)
            if piece["next"] == "end":
                self.assertEqual(piece["end_ns"], entry["path"]["pieces"][-1]["end_ns"], where)
            else:
                begins = [a for a, _ in records.times(piece["next"], piece["worker"], piece["chunk"])]
                self.assertTrue(any(abs(a - last) <= MICROSECOND for a in begins), where)
            checked += 1
        self.assertGreater(checked, len(self.report["rounds"]))

    def test_training_is_what_the_spans_say(self):
        longest = dict(rows("SELECT round, max(end_ns - begin_ns) FROM spans WHERE phase = 'train' GROUP BY round"))
        for entry in self.report["rounds"]:
            self.assertAlmostEqual(entry["slowest_train_seconds"], longest[entry["round"]] / 1e9, places=9)

    def test_the_excess_is_the_busy_time_beyond_the_median_workers(self):
        own = ("evaluate", "train", "encode", "upload", "download", "apply", "verify")
        for entry in self.report["rounds"]:
            excess = {}
            for phase in own:
                busy = rows("SELECT recorded_by, busy_ns FROM spans WHERE round = ? AND phase = ? ORDER BY busy_ns",
                            entry["round"], phase)
                median = busy[(len(busy) - 1) // 2][1] if busy else 0
                for worker, took in busy:
                    excess.setdefault(worker, []).append(max(0, took - median))
            for worker in entry["path"]["workers"]:
                phases = excess[worker["worker"]]
                expected = sum(one for one in phases if one >= max(phases) // 10)
                self.assertEqual(worker["excess_ns"], expected, "round %d" % entry["round"])
                if worker["cause"]:
                    self.assertEqual(worker["cause"]["excess_ns"], expected)

    def test_who_was_throttled_is_named_and_nobody_else(self):
        throttled = dict(rows("SELECT recorded_by, sum(throttled_ns) FROM process_samples WHERE recorded_by >= 0 "
                              "GROUP BY recorded_by"))
        self.assertEqual([worker for worker, ns in throttled.items() if ns], [VICTIM])
        for entry in self.report["rounds"][2:]:
            causes = {worker["worker"]: worker["cause"] for worker in entry["path"]["workers"] if worker["cause"]}
            if entry["round"] in INJECTED:
                self.assertEqual(causes[VICTIM]["kind"], "quota", entry["round"])
                self.assertEqual(causes[VICTIM]["grade"], "observed", entry["round"])
        self.assertIn("straggler_quota_train", [finding["id"] for finding in self.report["findings"]])

    def test_each_findings_query_shows_records(self):
        for finding in self.report["findings"]:
            self.assertTrue(rows(finding["records"]), finding["id"])

    def test_nothing_in_the_file_names_a_machine(self):
        hosts = [host for host, in rows("SELECT DISTINCT host FROM workers")]
        self.assertTrue(all(host.startswith("host-") for host in hosts), hosts)

    def golden(self, name, text):
        if "INTERLUDE_UPDATE_GOLDEN" in os.environ:
            (RUN / name).write_text(text)
        self.assertEqual(text, (RUN / name).read_text())

    def pieces(self):
        """(round's entry, its records, its begin, piece, what to take from the coordinator's time for the raw one)"""
        begins = dict(rows("SELECT round, begin_ns FROM rounds"))
        for entry in self.report["rounds"]:
            records = Records(entry["round"])
            for piece in entry["path"]["pieces"]:
                clock = self.clock_of(piece)
                shift = 0 if clock is None else self.offset[clock, entry["round"]]
                yield entry, records, begins[entry["round"]], piece, shift

    @staticmethod
    def clock_of(piece):
        what = piece["next"] if piece["what"] in GAPS else piece["what"]
        return None if what in COORDINATOR_PHASES | {"start", "end"} else piece["worker"]

    @staticmethod
    def recorded_by(phase, worker):
        theirs = OWN_PHASES | {"await_round", "share_base", "download", "wait", "prepare"}
        return worker if phase in theirs else None


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
