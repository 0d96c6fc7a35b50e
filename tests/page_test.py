#!/usr/bin/env python3
"""Opens the report page in a headless Chromium: every view, at phone and desktop width, light and dark,
by keyboard, with whole and with missing data. Skipped (exit 77) where there is no Chromium.

Usage: page_test.py PAGE INTERLUDE; PAGE is the document that the build put together, with its gaps.
"""

import copy
import http.server
import json
import pathlib
import subprocess
import sys
import tempfile
import threading
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tools"), str(ROOT / "testdata" / "report")]
import browser  # noqa: E402
import build_page  # noqa: E402
import color_vision  # noqa: E402
import page_fixtures  # noqa: E402

SIZES = {"phone": (390, 844), "desktop": (1440, 900)}
SECTIONS = ("summary", "findings", "rounds", "workers", "timeline", "memory", "learning", "table")
LEAST_CONTRAST = 4.5

# Text whose contrast with what is behind it is too low, as "ratio: text".
CONTRAST = """(() => {
  const context = Object.assign(document.createElement("canvas"), {width: 1, height: 1})
      .getContext("2d", {willReadFrequently: true});
  const rgba = color => {
    context.clearRect(0, 0, 1, 1);
    context.fillStyle = color;
    context.fillRect(0, 0, 1, 1);
    return [...context.getImageData(0, 0, 1, 1).data];
  };
  const light = color => {
    const [r, g, b] = color.map(v => v / 255).map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const behindHtml = element => {
    for (let at = element; at; at = at.parentElement) {
      const color = rgba(getComputedStyle(at).backgroundColor);
      if (color[3] === 255) return color;
    }
    return [255, 255, 255, 255];
  };
  const behind = element => {
    if (!(element instanceof SVGElement)) return behindHtml(element);
    const kind = [...element.classList].find(name => name.startsWith("on-"));
    const mark = kind ? document.querySelector("rect.kind-" + kind.slice(3))
                      : element.closest(".chosen")?.querySelector(".row-ground");
    return mark ? rgba(getComputedStyle(mark).fill) : behindHtml(element.ownerSVGElement.parentElement);
  };
  const found = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const text = walker.currentNode.textContent.trim(), element = walker.currentNode.parentElement;
    if (!text || element.closest("script, style, .unseen, .skip") || !element.checkVisibility()) continue;
    const style = getComputedStyle(element);
    const a = light(rgba(element instanceof SVGElement ? style.fill : style.color));
    const b = light(behind(element));
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < LEAST) found.push(ratio.toFixed(2) + ": " + text.slice(0, 40));
  }
  return found;
})()""".replace("LEAST", str(LEAST_CONTRAST))

# What sticks out of the page to the right.
OVERFLOW = """(() => {
  const width = document.documentElement.clientWidth;
  if (document.documentElement.scrollWidth <= width) return [];
  return [...document.querySelectorAll("main *")].filter(e => e.getBoundingClientRect().right > width + 0.5)
      .map(e => e.tagName + "." + (e.className.baseVal ?? e.className)).slice(0, 5);
})()"""

SHIFT = """new Promise(done => {
  let sum = 0;
  new PerformanceObserver(list => list.getEntries().forEach(entry => sum += entry.value))
      .observe({type: "layout-shift", buffered: true});
  setTimeout(() => done(sum), 50);
})"""

# Of the processes in the timeline: how many parts of the critical path are marked, those that lie in no span of
# theirs, and who is not placed.
PATH_OUTSIDE_SPANS = """(() => {
  const rows = [...document.querySelectorAll("g.lane-process")].map(lane => lane.__data__);
  const parts = rows.flatMap(row => row.critical ? row.critical.map(part => ({...part, row})) : []);
  const within = part => part.row.items.some(item => item.slot === part.slot && item.begin <= part.begin &&
                                                     part.end <= item.end);
  return [parts.length, parts.filter(part => !within(part)).map(part => [part.row.label, part.begin, part.end]),
          rows.filter(row => row.note).map(row => row.label)];
})()"""

SMALLEST_TEXT = """Math.min(...[...document.querySelectorAll("main *, header *")]
    .filter(e => e.checkVisibility() && [...e.childNodes].some(n => n.nodeType === 3 && n.textContent.trim()))
    .map(e => parseFloat(getComputedStyle(e).fontSize)))"""


class PageTest(unittest.TestCase):
    page_path = interlude = None  # set by main

    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        cls.browser = cls.enterClassContext(browser.Browser(browser.find_browser()))
        cls.page = pathlib.Path(cls.page_path).read_text(encoding="utf-8")
        cls.reports = {}

    def report(self, name):
        if name not in self.reports:
            self.reports[name] = page_fixtures.FIXTURES[name]()
        return self.reports[name]

    def open(self, report, size="desktop", **options):
        path = self.folder / "report.html"
        path.write_text(build_page.fill(self.page, json.dumps(report)), encoding="utf-8")
        return self.open_file(path, size, **options)

    def open_file(self, path, size="desktop", **options):
        self.browser.open(path.as_uri(), *SIZES[size], **options)
        self.assertEqual(self.browser.complaints(), [])
        self.assertEqual(self.browser.requests(), [path.as_uri()], "the page asked for something else")
        return self.browser

    def text(self, selector):
        return self.browser.evaluate(f"document.querySelector({json.dumps(selector)})?.textContent ?? null")

    def focused(self):
        return self.browser.evaluate("document.activeElement?.id || document.activeElement?.tagName")

    def focus(self, selector):
        self.browser.evaluate(f"document.querySelector({json.dumps(selector)}).focus()")

    def detail(self, section):
        return self.text(f"#{section} .detail")

    def check_looks(self, size, dark):
        """What must hold for every report."""
        at = f"{size}, {'dark' if dark else 'light'}"
        self.assertEqual(self.browser.evaluate(OVERFLOW), [], f"wider than the window: {at}")
        self.assertEqual(self.browser.evaluate(CONTRAST), [], f"text that is hard to read: {at}")
        self.assertGreaterEqual(self.browser.evaluate(SMALLEST_TEXT), 11, at)
        for section in SECTIONS:
            body = self.text(f"#{section} .body")
            self.assertTrue(body, f"section {section} is empty: {at}")
            for word in ("NaN", "undefined", "Infinity", "[object"):
                self.assertNotIn(word, body, f"section {section}: {at}")
        self.assertEqual(self.browser.complaints(), [], at)

    def check_everywhere(self, report):
        for size in SIZES:
            for dark in (False, True):
                self.open(report, size, dark=dark)
                self.assertEqual(self.browser.evaluate(SHIFT), 0, "the layout moved while loading")
                self.check_looks(size, dark)

    def test_a_run_of_16_workers_is_readable_at_every_width_and_in_both_colours(self):
        self.check_everywhere(self.report("large"))
        marks = self.browser.evaluate(
            "['.kind-train', '.heat td', '.span', '.critical', '.owner', '.rss', '.curve']"
            ".filter(s => !document.querySelector(s))")
        self.assertEqual(marks, [], "not drawn")

    def test_a_small_run_is_readable_at_every_width_and_in_both_colours(self):
        self.check_everywhere(self.report("small"))

    def test_a_run_without_rounds_says_so(self):
        self.check_everywhere(self.report("empty"))
        self.assertEqual(self.text(".headline"), "No round has finished yet.")

    def test_where_every_optional_field_is_null_each_view_says_that_it_was_not_recorded(self):
        self.check_everywhere(self.report("nulls"))
        for section in ("findings", "rounds", "workers", "timeline", "memory", "learning"):
            self.assertIn("not recorded in this run", self.text(f"#{section} .notice"))
        self.assertNotIn("agree", self.text(".tiles"))  # nobody said so

    def test_differing_parameters_and_rounds_without_a_record_are_said(self):
        report = json.loads(json.dumps(self.report("small")))
        report["total"].update(hashes_agree=False, unrecorded_rounds=[4, 5])
        report["rounds"][1]["disagreeing_workers"] = [1]
        self.open(report)
        self.assertIn("2 more without a record", self.text(".tiles"))
        self.assertIn("differfirst: worker 1, round 2", self.text(".tiles .loud"))
        self.assertIn("DIFFERS", self.text("#table"))

    def test_an_object_without_fields_breaks_nothing(self):
        self.check_everywhere({})

    def test_a_report_of_the_program_opens(self):
        path = self.folder / "real.html"
        subprocess.run([self.interlude, "report", ROOT / "testdata" / "run_db", "--html", path], check=True)
        for size in SIZES:
            self.open_file(path, size)
            self.check_looks(size, False)
        report = subprocess.run([self.interlude, "report", ROOT / "testdata" / "run_db", "--json"],
                                check=True, capture_output=True, text=True).stdout
        compact = json.dumps(json.loads(report), separators=(",", ":"), ensure_ascii=False)
        filled = build_page.fill(self.page, compact)
        self.assertEqual(json.loads(self.text("#report")), json.loads(report))
        self.assertEqual(path.read_text(encoding="utf-8").split('id="report"')[0],
                         filled.split('id="report"')[0])
        self.assertEqual(self.text("#title"), json.loads(report)["meta"]["title"])

    def test_a_page_that_cannot_be_written_is_said_and_nothing_is_left(self):
        folder = self.folder / "is-a-folder"
        folder.mkdir()
        for path in (folder, self.folder / "missing" / "x.html"):
            done = subprocess.run([self.interlude, "report", ROOT / "testdata" / "run_db", "--html", path],
                                  capture_output=True, text=True)
            self.assertEqual(done.returncode, 1, done.stderr)
            self.assertIn(str(path), done.stderr)
        self.assertEqual([path.name for path in self.folder.glob("*.partial")], [])

    def test_the_parts_of_the_headline_and_the_table_of_the_median_round_add_up(self):
        self.open(self.report("large"))
        whole, *parts = self.browser.evaluate(
            "document.querySelector('.headline').textContent.match(/[0-9.]+(?= s)/g).map(Number)")
        self.assertAlmostEqual(whole, sum(parts), places=9)
        *parts, whole = self.browser.evaluate(
            "[...document.querySelectorAll('.median tr td:nth-child(2)')].map(td => Number(td.textContent))")
        self.assertAlmostEqual(whole, sum(parts), delta=0.0005 * len(parts))

    def test_the_tab_key_reaches_every_control_and_the_focus_is_seen(self):
        self.open(self.report("large"))
        reached = set()
        for _ in range(60):
            self.browser.press("Tab")
            reached.add(self.focused())
            outlined = self.browser.evaluate("""(() => {
                let e = document.activeElement;
                if (e.type === "radio") e = e.nextElementSibling;
                return e === document.body || getComputedStyle(e).outlineStyle !== "none"; })()""")
            self.assertTrue(outlined, f"no outline on {self.focused()}")
        self.assertLessEqual({"path-chart", "timeline-chart", "memory-chart", "memory-process", "round-picked",
                              "zoom-in", "table-scroll", "finding-neighbours", "TD"}, reached)

    def test_arrow_keys_move_along_the_critical_path_and_enter_picks_the_round(self):
        self.open(self.report("large"))
        self.focus("#path-chart")
        self.assertIn("Round 1 · train on worker 3 and 2 shorter pieces · ", self.detail("rounds"))
        for _ in range(3):
            self.browser.press("ArrowRight")
        self.assertRegex(self.detail("rounds"), r"encode on worker 3, chunk \d · 0\.\d\d s \(\d\.\d % of the round\)")
        self.assertIn("clock error ±52 µs", self.detail("rounds"))
        self.browser.press("ArrowDown")
        self.assertIn("Round 2 · ", self.detail("rounds"))
        self.browser.press("Enter")
        self.assertEqual(self.browser.evaluate("document.getElementById('round-picked').value"), "2")
        self.assertEqual(self.focused(), "path-chart")
        self.browser.press("End")
        self.assertIn("Round 2 · verify on worker 2 and 2 shorter pieces", self.detail("rounds"))

    def test_arrow_keys_move_in_the_heat_map_and_enter_picks_the_round(self):
        self.open(self.report("large"))
        self.focus(".heat td[tabindex='0']")
        self.assertIn("Worker 0, round 1 ", self.detail("workers"))
        for key in ("ArrowDown", "ArrowDown", "ArrowDown", "ArrowRight"):
            self.browser.press(key)
        self.assertIn("Worker 3, round 2 ", self.detail("workers"))
        self.assertIn("CPU quota (observed, explains 9", self.detail("workers"))
        self.assertEqual(self.browser.evaluate("document.activeElement.textContent"), "Q")
        self.browser.press("Enter")
        self.assertEqual(self.browser.evaluate("document.getElementById('round-picked').value"), "2")
        self.assertEqual(self.focused(), "TD")
        self.assertEqual(self.browser.evaluate("document.querySelectorAll('.heat td[tabindex=\"0\"]').length"), 1)

    def test_keys_move_zoom_and_open_processes_in_the_timeline(self):
        self.open(self.report("large"))
        self.focus("#timeline-chart")
        self.assertIn("critical path: start on coordinator", self.detail("timeline"))
        self.browser.press("ArrowDown")
        self.assertIn(" on coordinator", self.detail("timeline"))
        rows = "document.querySelectorAll('#timeline .lane').length"
        before = self.browser.evaluate(rows)
        self.browser.press("Enter")
        self.assertGreater(self.browser.evaluate(rows), before)
        self.assertEqual(self.focused(), "timeline-chart")
        self.browser.press("+")
        self.assertFalse(self.browser.evaluate("document.getElementById('zoom-all').disabled"))
        self.browser.press("0")
        self.assertTrue(self.browser.evaluate("document.getElementById('zoom-all').disabled"))
        self.assertEqual(self.browser.complaints(), [])

    def test_the_mouse_shows_pieces_and_zooms_by_dragging_along_the_critical_path(self):
        self.open(self.report("large"))
        x, y, width = self.browser.evaluate("""(() => {
            document.getElementById("timeline").scrollIntoView({behavior: "instant"});
            const box = document.querySelector(".lane-path .kind-train").getBoundingClientRect();
            return [box.x, box.y + box.height / 2, box.width]; })()""")
        self.browser.drag((x + 20, y), (x + width - 20, y))
        self.assertFalse(self.browser.evaluate("document.getElementById('zoom-all').disabled"))
        self.browser.drag((x + 200, y), (x + 200, y))
        self.assertIn("critical path: train on worker 3", self.detail("timeline"))
        x, y = self.browser.evaluate("""(() => {
            document.getElementById("rounds").scrollIntoView({behavior: "instant"});
            const box = document.querySelectorAll(".row .piece rect")[1].getBoundingClientRect();
            return [box.x + box.width / 2, box.y + box.height / 2]; })()""")
        self.browser.drag((x, y), (x, y))
        self.assertIn("Round 1 · encode on worker 3", self.detail("rounds"))
        self.assertEqual(self.browser.evaluate("document.getElementById('round-picked').value"), "1")
        self.assertEqual(self.browser.complaints(), [])

    def test_raw_and_corrected_clocks_place_workers_differently_and_uncalibrated_ones_are_named(self):
        self.open(self.report("large"))
        # Worker 9's clock is known to 60 ms only: that is seen.
        self.assertGreater(self.browser.evaluate("document.querySelectorAll('.clock-error').length"), 0)
        self.assertIn("clock not calibrated", self.text("#timeline"))
        self.focus("#clock-corrected")
        self.browser.press("ArrowRight")
        self.assertEqual(self.focused(), "clock-raw")
        self.assertRegex(self.text("#timeline"), "8 h 00 min earlier on its own clock")
        self.assertEqual(self.browser.evaluate("document.querySelectorAll('.clock-error').length"), 0)

    def test_each_round_places_a_worker_by_the_shift_that_its_critical_path_was_found_with(self):
        report = copy.deepcopy(self.report("small"))
        for clock in report["clocks"]:
            if (clock["worker"], clock["round"]) == (1, 2):
                clock.update(method="none", offset_ns=None)
        self.open(report)
        self.focus("#path-chart")
        for number, unplaced in ((1, []), (2, ["worker 1"]), (3, [])):
            self.browser.press("Enter")
            self.assertEqual(self.browser.evaluate("document.getElementById('round-picked').value"), str(number))
            on_path, outside, notes = self.browser.evaluate(PATH_OUTSIDE_SPANS)
            self.assertGreater(on_path, 0)
            self.assertEqual(outside, [])
            self.assertEqual(notes, unplaced)
            self.focus("#path-chart")
            self.browser.press("ArrowDown")

    def test_findings_stand_in_the_order_of_the_report(self):
        wrong = {"id": "parameters_differ", "text": "PARAMETERS DIFFER", "saves_ns_per_round": 0,
                 "evidence": ["worker 1 said another root hash"]}
        self.open({**self.report("small"), "findings": [wrong, *page_fixtures.FINDINGS]})
        shown = self.browser.evaluate(
            "[...document.querySelectorAll('#findings details')].map(finding => finding.dataset.id)")
        self.assertEqual(shown, ["parameters_differ", *(finding["id"] for finding in page_fixtures.FINDINGS)])

    def test_the_memory_chart_gives_the_figures_at_the_cursor(self):
        self.open(self.report("large"))
        self.focus("#memory-chart")
        self.browser.press("Home")
        self.assertIn("At 0.0 s: owners explain 98.8 % of RSS", self.text("#memory caption"))
        self.browser.press("ArrowRight")
        self.assertIn("At 2.0 s", self.text("#memory caption"))

    def test_the_colours_follow_the_system_or_the_switch(self):
        ground = "getComputedStyle(document.documentElement).backgroundColor"
        self.open(self.report("small"))
        light = self.browser.evaluate(ground)
        self.browser.evaluate("document.querySelector('#theme input[value=dark]').click()")
        dark = self.browser.evaluate(ground)
        self.assertNotEqual(light, dark)
        self.browser.evaluate("localStorage.clear()")
        self.open(self.report("small"), dark=True)
        self.assertEqual(self.browser.evaluate(ground), dark)

    def test_people_of_any_colour_vision_can_tell_the_kinds_of_pieces_apart(self):
        families = ("train", "codec", "up", "coordinator", "down", "wait", "unexplained")
        # A mark of each kind; of the striped one its ground.
        fills = """(names => names.map(name => {
            const mark = document.createElementNS("http://www.w3.org/2000/svg", "rect");
            mark.setAttribute("class", name === "unexplained" ? "hatch-ground" : "kind-" + name);
            document.querySelector("svg").append(mark);
            const fill = getComputedStyle(mark).fill;
            mark.remove();
            return fill.match(/[0-9.]+/g).slice(0, 3).map(Number); }))"""
        for dark in (False, True):
            self.open(self.report("small"), dark=dark)
            colors = self.browser.evaluate(fills + "(" + json.dumps(families) + ")")
            for name, matrix in color_vision.KINDS.items():
                nearest = color_vision.nearest_pair(families, colors, matrix)
                self.assertGreater(nearest[0], 12, f"{name}, dark {dark}: {nearest}")

    def test_nothing_moves_where_motion_is_not_wanted(self):
        moves = """[...document.querySelectorAll("*")].some(e => {
            const style = getComputedStyle(e);
            return style.animationName !== "none" || style.scrollBehavior === "smooth" ||
                style.transitionDuration.split(", ").some(d => d !== "0s"); })"""
        self.open(self.report("small"), reduced_motion=True)
        self.assertFalse(self.browser.evaluate(moves))

    def test_a_run_of_1000_rounds_draws_a_window_of_them_that_the_slider_moves(self):
        for size in SIZES:
            self.open(self.report("long"), size)
            self.check_looks(size, False)
            self.assertLess(self.browser.evaluate("document.querySelectorAll('*').length"), 5000)
        self.assertIn("to 1000 of 1,000", self.text(".navigator label"))
        self.browser.evaluate("window.slider = document.getElementById('window')")
        self.focus("#window")
        self.browser.press("Home")
        self.assertTrue(self.browser.evaluate("window.slider.isConnected"), "a drag would have ended")
        self.assertIn("Rounds 1 to ", self.text(".navigator label"))
        self.assertEqual(self.focused(), "window")
        self.assertEqual(self.text("#table tbody th"), "1")

    def test_text_from_other_machines_stays_text(self):
        evil = "<img src=x onerror=alert(1)></script><u>"
        report = json.loads(json.dumps(self.report("small")))
        report["meta"]["title"] = evil
        report["findings"] = [{"id": evil, "text": evil, "grade": evil, "evidence": [evil], "records": evil,
                               "try": evil, "saves_ns_per_round": 1, "round_share": None}]
        report["events"] = [{"text": evil, "round": None}]
        report["notes"] = [evil]
        report["memory"][0]["owners"] = {evil: report["memory"][0]["rss"]}
        report["rounds"][0]["path"]["pieces"][1]["what"] = evil
        self.open(report)
        self.assertEqual(self.browser.evaluate("document.querySelectorAll('img, u').length"), 0)
        self.assertEqual(self.text("#title"), evil)

    def test_evidence_unfolds_and_its_sql_can_be_taken(self):
        self.open(self.report("large"))
        self.focus("#findings summary")
        self.browser.press("Enter")
        self.assertIn("SELECT round", self.browser.evaluate("document.querySelector('details[open] pre').innerText"))
        self.browser.evaluate("document.querySelector('details[open] button').click()")
        self.assertRegex(self.browser.evaluate("""new Promise(done => {
            const look = () => { const text = document.querySelector('details[open] button').textContent;
                                 text === 'Copy SQL' ? setTimeout(look, 5) : done(text); };
            look(); })"""), "Copied|Selected")

    def test_the_live_page_follows_what_it_is_given_and_says_when_nothing_comes(self):
        with Source(build_page.fill_live(self.page, "report.json", 20)) as source:
            source.report = json.dumps(self.report("empty"))
            self.browser.open(source.address, *SIZES["desktop"])
            self.assertEqual(self.text(".headline"), "No round has finished yet.")
            source.report = json.dumps({**self.report("small"), "findings": page_fixtures.FINDINGS[1:2]})
            self.await_text(".headline", "A median round took")
            self.assertEqual(self.browser.complaints(), [])
            self.focus("#findings summary")
            self.browser.press("Enter")
            self.browser.evaluate("document.querySelector('#table details').open = true")
            source.report = json.dumps({**self.report("small"), "meta": {"title": "later"},
                                        "findings": page_fixtures.FINDINGS[:2]})
            self.await_text("#title", "later")
            self.assertEqual(self.focused(), "finding-neighbours")  # the reader's place is kept
            self.assertTrue(self.browser.evaluate(
                "document.querySelector('#finding-neighbours').parentNode.open && "
                "document.querySelector('#table details').open"))
            source.report = None
            self.await_text("#notice", "No news from the coordinator")
            self.assertIn("A median round took", self.text(".headline"))

    def await_text(self, selector, text):
        self.browser.evaluate(f"""new Promise(done => {{
            const look = () => document.querySelector({json.dumps(selector)})?.textContent.includes({json.dumps(text)})
                ? done() : setTimeout(look, 10);
            look(); }})""")


class Source:
    """Serves the page at / and, while there is one, a report at /report.json."""

    def __init__(self, page):
        self.report = None
        source = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                body = page if self.path == "/" else source.report if self.path == "/report.json" else None
                self.send_response(200 if body is not None else 404)
                self.send_header("Content-Type", "text/html; charset=utf-8" if self.path == "/" else "application/json")
                self.end_headers()
                self.wfile.write((body or "").encode())

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self.server.server_port}/"
        self.thread = threading.Thread(target=self.server.serve_forever)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()


if __name__ == "__main__":
    if browser.find_browser() is None:
        print("skipped: no Chromium here (Debian's chromium-headless-shell or chromium)")
        sys.exit(77)
    PageTest.interlude = sys.argv.pop(2)
    PageTest.page_path = sys.argv.pop(1)
    unittest.main()
