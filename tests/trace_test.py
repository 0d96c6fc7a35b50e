#!/usr/bin/env python3
"""`interlude trace` on the recorded example run: the files are read back with nothing of the program's own, that is
by protoc with Perfetto's recorded schema, and by hand for TensorBoard; and it is asked for what cannot be.

Usage: trace_test.py PROGRAM PROTOC.
"""

import json
import pathlib
import re
import shutil
import sqlite3
import struct
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent
RUN = ROOT / "testdata" / "run_db"
PROGRAM, PROTOC = sys.argv[1:3]


def trace(*arguments):
    return subprocess.run([PROGRAM, "trace", *map(str, arguments)], capture_output=True, text=True)


def rows(sql):
    return sqlite3.connect("file:%s?mode=ro&immutable=1" % (RUN / "run.db"), uri=True).execute(sql).fetchall()


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def masked(data):
    crc = crc32c(data)
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, at


def fields(data):
    """{number: [values]} of a protobuf message."""
    found, at = {}, 0
    while at < len(data):
        key, at = varint(data, at)
        kind = key & 7
        if kind == 0:
            value, at = varint(data, at)
        elif kind == 2:
            length, at = varint(data, at)
            value, at = data[at:at + length], at + length
        else:
            length, code = (8, "<d") if kind == 1 else (4, "<f")
            value, at = struct.unpack(code, data[at:at + length])[0], at + length
        found.setdefault(key >> 3, []).append(value)
    return found


def stamps_in(blob):
    """How many chunk stamps there are: docs/run-database.md says how they are written."""
    count = at = 0
    while at < len(blob):
        head, at = varint(blob, at)
        for _ in range(2 if head & 2 else 1):
            _, at = varint(blob, at)
        count += 1
    return count


def events_of(path):
    """(step, wall time, {tag: value}) of each event after the first, whose version is checked."""
    data, at, events = path.read_bytes(), 0, []
    while at < len(data):
        length, check = struct.unpack("<QI", data[at:at + 12])
        body = data[at + 12:at + 12 + length]
        assert check == masked(data[at:at + 8])
        assert struct.unpack("<I", data[at + 12 + length:at + 16 + length])[0] == masked(body)
        events.append(fields(body))
        at += 16 + length
    assert events[0][3] == [b"brain.Event:2"]
    for event in events[1:]:
        scalars = [fields(value) for value in fields(event[5][0])[1]]
        yield event[2][0], event[1][0], {scalar[1][0].decode(): scalar.get(2, [0.0])[0] for scalar in scalars}


class TraceCommand(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)
        self.out = self.folder / "out"

    def perfetto_text(self, *arguments):
        done = trace(RUN, "--out", self.out, *arguments)
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(self.out, "rb") as file:
            return subprocess.run([PROTOC, "--decode", "perfetto.protos.Trace", "-I", ROOT / "testdata" / "perfetto",
                                   "trace.proto"], stdin=file, capture_output=True, text=True, check=True).stdout

    def refused(self, text, *arguments):
        done = trace(*arguments)
        self.assertEqual(done.returncode, 2, done)
        self.assertIn(text, done.stderr)
        self.assertFalse(self.out.exists())
        self.assertFalse(pathlib.Path(str(self.out) + ".partial").exists())

    def test_perfettos_own_schema_knows_every_field(self):
        for arguments in ([], ["--clock", "raw"]):
            text = self.perfetto_text(*arguments)
            self.assertNotRegex(text, re.compile(r"^\s*\d+[:\s{]", re.M))
            self.assertIn('process_name: "worker 2 (gpu-b, pid 4102)', text)

    def test_there_is_a_slice_for_each_span_chunk_and_round(self):
        text = self.perfetto_text()
        slices = rows("SELECT count(*) FROM spans WHERE phase <> 'round' AND end_ns > begin_ns")[0][0]
        slices += rows("SELECT count(*) FROM rounds")[0][0]
        slices += sum(stamps_in(blob) for (blob,) in rows("SELECT stamps FROM chunk_stamps"))
        self.assertEqual(text.count("TYPE_SLICE_BEGIN"), slices)
        self.assertEqual(text.count("TYPE_SLICE_END"), slices)

    def test_raw_times_are_those_of_the_database(self):
        text = self.perfetto_text("--clock", "raw")
        for (begin,) in rows("SELECT begin_ns FROM spans WHERE phase = 'train'"):
            self.assertIn("timestamp: %d\n" % begin, text)

    def test_clock_snapshots_hold_what_the_estimates_say_at_the_middle_of_each_round(self):
        text = self.perfetto_text()
        clocks = rows("SELECT at_ns, offset_ns, drift FROM clocks WHERE round IS NULL AND method <> 'none'")
        middles = [begin + (end - begin) // 2 for begin, end in rows("SELECT begin_ns, end_ns FROM rounds")]
        shifts = [offset + round(drift * (middle - offset - at) / (1 + drift))
                  for at, offset, drift in clocks for middle in middles]
        self.assertTrue(shifts)
        read = [tuple(map(int, found)) for found in re.findall(
            r"clock_id: 64\s+timestamp: (\d+)\s+}\s+clocks {\s+clock_id: 3\s+timestamp: (\d+)", text)]
        self.assertGreaterEqual(len(read), len(clocks))
        for own, coordinators in read:
            self.assertLessEqual(min(abs(coordinators - own - shift) for shift in shifts), 1)

    def test_some_rounds_alone_are_a_part_of_all(self):
        text = self.perfetto_text("--rounds", "2-3")
        self.assertEqual(set(re.findall(r'name: "(round \d+)"', text)), {"round 2", "round 3"})

    def test_chrome_json_is_json_with_as_many_slices(self):
        self.assertEqual(trace(RUN, "--out", self.out, "--format", "chrome-json").returncode, 0)
        kinds = [event["ph"] for event in json.loads(self.out.read_text())["traceEvents"]]
        self.assertEqual(kinds.count("X"), self.perfetto_text().count("TYPE_SLICE_BEGIN"))

    def test_tensorboard_gets_what_the_database_says_round_by_round(self):
        done = trace(RUN, "--out", self.out, "--format", "tensorboard")
        self.assertEqual(done.returncode, 0, done.stderr)
        (file,) = self.out.iterdir()
        self.assertRegex(file.name, r"^events\.out\.tfevents\.\d+\..")
        said = {}
        for step, _, scalars in events_of(file):
            said.setdefault(step, {}).update(scalars)
        for step, loss, wall in rows("SELECT round, mean_loss, wall_s FROM round_summary"):
            self.assertAlmostEqual(said[step]["loss/training"], loss, 5)
            self.assertAlmostEqual(said[step]["round_seconds/wall"], wall, 5)
        for step, phase, longest in rows("SELECT round, phase, max_s FROM phase_seconds WHERE round BETWEEN 1 AND 6"):
            self.assertAlmostEqual(said[step]["phase_seconds/" + phase], longest, 5)
        for step, share in rows("SELECT after_rounds, 1.0 * correct / samples FROM evaluations"):
            self.assertAlmostEqual(said[step]["accuracy"], share, 5)

    def test_the_same_run_replaces_its_event_file(self):
        for _ in range(2):
            trace(RUN, "--out", self.out, "--format", "tensorboard")
        self.assertEqual(len(list(self.out.iterdir())), 1)

    def test_what_cannot_be_is_refused_with_the_reason_and_leaves_nothing(self):
        self.refused("no run database", self.folder / "nowhere", "--out", self.out)
        damaged = self.folder / "damaged"
        damaged.mkdir()
        (damaged / "run.db").write_bytes((RUN / "run.db").read_bytes()[:5000])
        done = trace(damaged, "--out", self.out)
        self.assertIn(done.returncode, (1, 2))
        self.assertIn("run.db", done.stderr)
        self.assertFalse(self.out.exists())
        self.refused("No such file or directory", RUN, "--out", self.folder / "no" / "such" / "out")
        self.refused("the run has no round 8; its last finished round is 6", RUN, "--out", self.out, "--rounds", "8")
        self.refused("--rounds 3-2", RUN, "--out", self.out, "--rounds", "3-2")
        self.refused("are for timelines", RUN, "--out", self.out, "--format", "tensorboard", "--clock", "raw")
        self.refused("--format", RUN, "--out", self.out, "--format", "svg")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
