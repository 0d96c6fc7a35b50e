#!/usr/bin/env python3
"""The live page and /metrics of a real run: in a headless Chromium while rounds go by, and by
Prometheus's own parser, whose figures are compared with SQL's. Skipped (exit 77) where there is neither.

Usage: live_page_test.py INTERLUDE
"""

import contextlib
import http.client
import json
import pathlib
import select
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tools"))
import browser  # noqa: E402

try:
    from prometheus_client.openmetrics.parser import text_string_to_metric_families
except ImportError:
    text_string_to_metric_families = None

CONFIG = """[model]
kind = "synthetic"
synthetic_params = 200003
synthetic_step_ms = 20
[round]
rounds = 100000
local_steps = 5
chunk_params = 65536
"""
TYPE = "application/openmetrics-text; version=1.0.0; charset=utf-8"
PATIENCE_S = 60


def figures_of(text):
    """{(sample name, its labels): value} of an OpenMetrics text; raises ValueError where it is none."""
    figures = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            key = (sample.name, frozenset(sample.labels.items()))
            if key in figures:
                raise ValueError(f"{key} is there twice")
            figures[key] = sample.value
    return figures


def figures_by_sql(path):
    """What the same figures are by the tables of run.db."""
    database = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    worker = "CASE WHEN {0} < 0 THEN 'coordinator' ELSE CAST({0} AS TEXT) END"
    whose = worker.format("CASE p.side WHEN 'worker' THEN s.recorded_by ELSE s.about_worker END")
    phases = (f"SELECT {whose} AS worker, s.phase AS phase, sum(s.end_ns - s.begin_ns) / 1e9 FROM spans s "
              "JOIN phases p ON p.phase = s.phase WHERE s.end_ns >= s.begin_ns {} GROUP BY 1, 2")
    by_worker = f"SELECT {worker.format('worker')}, sum({{}}) FROM worker_rounds GROUP BY worker"
    queries = {
        ("interlude_rounds_total",): "SELECT count(*) FROM rounds",
        ("interlude_rounds_wall_seconds_total",): "SELECT coalesce(sum(end_ns - begin_ns), 0) / 1e9 FROM rounds",
        ("interlude_last_round_wall_seconds",):
            "SELECT (end_ns - begin_ns) / 1e9 FROM rounds ORDER BY round DESC LIMIT 1",
        ("interlude_last_round_workers",): "SELECT workers FROM rounds ORDER BY round DESC LIMIT 1",
        ("interlude_loss",): "SELECT mean_loss FROM rounds ORDER BY round DESC LIMIT 1",
        ("interlude_accuracy_ratio",):
            "SELECT 1.0 * correct / samples FROM evaluations ORDER BY after_rounds DESC LIMIT 1",
        ("interlude_evaluated_after_rounds",):
            "SELECT after_rounds FROM evaluations ORDER BY after_rounds DESC LIMIT 1",
        ("interlude_workers",): "SELECT count(*) FROM workers WHERE left_ns IS NULL",
        ("interlude_samples_total", "worker"): by_worker.format("samples"),
        ("interlude_upload_bytes_total", "worker"): by_worker.format("upload_bytes"),
        ("interlude_download_bytes_total", "worker"): by_worker.format("download_bytes"),
        ("interlude_repaired_chunks_total", "worker"): by_worker.format("repaired_chunks"),
        ("interlude_phase_seconds_total", "worker", "phase"): phases.format(""),
        ("interlude_last_round_phase_seconds", "worker", "phase"):
            phases.format("AND s.round = (SELECT max(round) FROM rounds)"),
        ("interlude_resident_memory_bytes", "worker"):
            f"SELECT {worker.format('recorded_by')}, rss_bytes FROM process_samples s WHERE id = (SELECT max(id) "
            "FROM process_samples WHERE recorded_by = s.recorded_by AND rss_bytes IS NOT NULL)",
        ("interlude_events_total", "kind"): "SELECT kind, count(*) FROM events GROUP BY kind",
    }
    figures = {}
    with contextlib.closing(database):
        for (name, *labels), query in queries.items():
            for row in database.execute(query):
                figures[(name, frozenset(zip(labels, row)))] = row[-1]
    return figures


class Run:
    """`interlude run` with a live page. Use it as a context manager."""

    def __init__(self, interlude, folder, *more):
        folder = pathlib.Path(folder)
        (folder / "run.toml").write_text(CONFIG, encoding="utf-8")
        self.directory = folder / "run"
        self.command = [interlude, "run", "--workers", "2", "--config", str(folder / "run.toml"), "--dir",
                        str(self.directory), "--http", "127.0.0.1:0", *more]

    def __enter__(self):
        self.process = subprocess.Popen(self.command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        output, until = b"", time.monotonic() + PATIENCE_S
        while b"page: http://127.0.0.1:" not in output or not output.endswith(b"\n"):
            if not select.select([self.process.stdout], [], [], max(0, until - time.monotonic()))[0]:
                raise TimeoutError(f"no page: {output}")
            piece = self.process.stdout.read1()
            if not piece:
                raise RuntimeError(f"the run ended: {output}")
            output += piece
        self.address = output.split(b"page: ")[1].split()[0].decode()
        self.port = int(self.address.rstrip("/").rsplit(":", 1)[1])
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.communicate(timeout=PATIENCE_S)
        if self.process.poll() is None:
            self.process.kill()
            self.process.communicate()

    def get(self, path, **headers):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE_S)
        with contextlib.closing(connection):
            connection.request("GET", path, headers=headers)
            answer = connection.getresponse()
            return answer.status, answer.headers, answer.read().decode()

    def await_rounds(self, least):
        until = time.monotonic() + PATIENCE_S
        while time.monotonic() < until:
            status, _, text = self.get("/report.json")
            if status == 200 and len(json.loads(text)["rounds"]) >= least:
                return json.loads(text)
            time.sleep(0.1)  # the page makes no more than one report a second
        raise TimeoutError(f"no round {least}")


class LivePageTest(unittest.TestCase):
    interlude = None  # set by main

    def setUp(self):
        self.folder = self.enterContext(tempfile.TemporaryDirectory())

    @unittest.skipUnless(text_string_to_metric_families, "no python3-prometheus-client here")
    def test_prometheus_reads_the_recorded_runs_metrics_and_sql_says_the_same(self):
        text = (ROOT / "testdata/report/metrics.txt").read_text(encoding="utf-8")
        self.compare(figures_of(text), figures_by_sql(ROOT / "testdata/run_db/run.db"))

    @unittest.skipUnless(text_string_to_metric_families, "no python3-prometheus-client here")
    def test_prometheus_reads_a_real_runs_metrics(self):
        with Run(self.interlude, self.folder) as run:
            run.await_rounds(2)
            status, headers, text = run.get("/metrics")
            self.assertEqual((status, headers["Content-Type"]), (200, TYPE))
            figures = figures_of(text)
            names = {name for name, _ in figures}
            for name in ("interlude_run_info", "interlude_rounds_total", "interlude_loss", "interlude_workers"):
                self.assertIn(name, names)
            self.assertEqual(figures[("interlude_workers", frozenset())], 2)
            trained = figures[("interlude_phase_seconds_total", frozenset({("worker", "1"), ("phase", "train")}))]
            self.assertGreaterEqual(trained, 0.2, "two rounds of five steps of 20 ms")
            info = [dict(labels) for name, labels in figures if name == "interlude_run_info"]
            self.assertEqual(info[0]["title"], "synthetic training, 2 workers")
        self.assertFalse((run.directory / "run.db-wal").exists(), "the page let go of run.db")

    def compare(self, figures, expected):
        info = [name for name, _ in figures if name == "interlude_run_info"]
        self.assertEqual(len(info), 1)
        self.assertEqual({key for key in figures if key[0] != "interlude_run_info"}, set(expected))
        for key, value in expected.items():
            self.assertAlmostEqual(figures[key], value, delta=1e-9 * max(1, abs(value)), msg=str(key))

    @unittest.skipUnless(browser.find_browser(), "no Chromium here")
    def test_the_page_follows_a_run_in_a_browser(self):
        with Run(self.interlude, self.folder) as run, browser.Browser(browser.find_browser()) as tab:
            run.await_rounds(1)
            for width, height in ((390, 844), (1440, 900)):
                tab.open(run.address, width, height)
                seen = self.rounds_in(tab)
                for _ in range(2):
                    before, seen = seen, self.await_more(tab, seen)
                    self.assertGreater(seen, before)
                self.assertEqual(tab.complaints(), [])
                self.assertEqual(set(tab.requests()), {run.address, run.address + "report.json"})
            self.assertEqual(tab.evaluate("document.querySelector('#title').textContent"),
                             "synthetic training, 2 workers")
            self.assertEqual(tab.evaluate("document.querySelector('#notice')"), None)

    @staticmethod
    def rounds_in(tab):
        return int(tab.evaluate("""(document.querySelector('#about').textContent
            .match(/([0-9,]+) rounds?/)?.[1] ?? "0").replace(",", "")"""))

    def await_more(self, tab, than):
        until = time.monotonic() + PATIENCE_S
        while (seen := self.rounds_in(tab)) <= than:
            self.assertLess(time.monotonic(), until, "the page stands still")
        return seen

    def test_hanging_connections_do_not_hold_up_the_runs_end(self):
        with Run(self.interlude, self.folder, "--set", "round.rounds=3") as run, contextlib.ExitStack() as hanging:
            for number in range(60):  # more than are let in
                connection = hanging.enter_context(socket.create_connection(("127.0.0.1", run.port), PATIENCE_S))
                if number % 2:
                    connection.sendall(b"GET /report.json HTTP/1.1\r\nHost: localhost\r\n")
            run.process.communicate(timeout=PATIENCE_S)
            self.assertEqual(run.process.returncode, 0)

    def test_an_address_that_cannot_be_had_is_said_before_the_run_begins(self):
        with socket.create_server(("127.0.0.1", 0)) as taken:
            address = f"127.0.0.1:{taken.getsockname()[1]}"
            (pathlib.Path(self.folder) / "run.toml").write_text(CONFIG, encoding="utf-8")
            result = subprocess.run(
                [self.interlude, "coordinator", "--workers", "1", "--config", self.folder + "/run.toml", "--dir",
                 self.folder + "/run", "--listen", "127.0.0.1:0", "--http", address],
                capture_output=True, text=True, timeout=PATIENCE_S, check=False)
        self.assertEqual(result.returncode, 1)
        self.assertIn(f"error: the page cannot be served on {address}", result.stderr)
        self.assertFalse(pathlib.Path(self.folder, "run").exists(), "nothing was made")

    def test_other_machines_need_keys_with_a_token_for_the_page(self):
        keys = self.folder + "/keys"
        subprocess.run([self.interlude, "keys", "init", keys], check=True, stdout=subprocess.DEVNULL)
        token = pathlib.Path(keys, "page.token")
        text = token.read_text(encoding="utf-8").strip()
        (pathlib.Path(self.folder) / "run.toml").write_text(CONFIG, encoding="utf-8")
        command = [self.interlude, "coordinator", "--workers", "1", "--config", self.folder + "/run.toml", "--dir",
                   self.folder + "/run", "--listen", "127.0.0.1:0", "--http", "0.0.0.0:0"]
        without = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
        self.assertEqual(without.returncode, 2)
        self.assertIn("without a token", without.stderr)
        with subprocess.Popen([*command, "--keys", keys], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True) as process:
            line = process.stdout.readline()
            self.assertRegex(line, r"^page: http://.+:\d+/\?token=TOKEN")
            port = int(line.split("/?token")[0].rsplit(":", 1)[1])
            for headers, status in (({}, 401), ({"Authorization": "Bearer " + text[::-1]}, 401),
                                    ({"Authorization": "Bearer " + text}, 200)):
                connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE_S)
                with contextlib.closing(connection):
                    connection.request("GET", "/", headers=headers)
                    self.assertEqual(connection.getresponse().status, status)
            self.assertNotIn(text, pathlib.Path(f"/proc/{process.pid}/cmdline").read_text(encoding="utf-8"))
            process.send_signal(signal.SIGTERM)
            output = "".join(process.communicate(timeout=PATIENCE_S))
        self.assertNotIn(text, line + output, "the token was printed")
        self.assertIn("plain http", output)
        for path in pathlib.Path(self.folder, "run").rglob("*"):
            if path.is_file():
                self.assertNotIn(text.encode(), path.read_bytes(), path)
        token.unlink()
        missing = subprocess.run([*command, "--keys", keys], capture_output=True, text=True, timeout=PATIENCE_S,
                                 check=False)
        self.assertEqual(missing.returncode, 2)
        self.assertIn("openssl rand", missing.stderr)


if __name__ == "__main__":
    LivePageTest.interlude = sys.argv.pop(1)
    unittest.main()
