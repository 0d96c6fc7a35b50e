#!/usr/bin/env python3
"""Takes the pictures of the report page for the docs: desktop in light colours and phone in dark ones,
of a made-up run (testdata/report/page_fixtures.py).

Usage: make_page_screenshots.py --page build/dev/src/report/report_page.html [--out docs/images]
"""

import argparse
import json
import pathlib
import sys
import tempfile

import browser
import build_page

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "testdata" / "report"))
import page_fixtures  # noqa: E402

MOST_BYTES = 300_000
# name, window, dark, from which section to which.
PICTURES = (("report-desktop-light.png", (1120, 900), False, "workers", "timeline"),
            ("report-phone-dark.png", (390, 844), True, "summary", "rounds"))


def take(page, name, size, dark, first, last, out):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "report.html"
        path.write_text(build_page.fill(page, json.dumps(page_fixtures.FIXTURES["large"]())), encoding="utf-8")
        with browser.Browser(browser.find_browser()) as tab:
            tab.open(path.as_uri(), *size, dark=dark)
            top = 0 if first == "summary" else edge(tab, first, "top") - 8
            tab.screenshot(out / name, (0, top, size[0], edge(tab, last, "bottom") + 12 - top))
    written = (out / name).stat().st_size
    if written > MOST_BYTES:
        raise SystemExit(f"{name} has {written} bytes; at most {MOST_BYTES}")
    print(f"{out / name}: {written} bytes")


def edge(tab, section, side):
    return tab.evaluate(f"document.getElementById('{section}').getBoundingClientRect().{side} + scrollY")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--page", type=pathlib.Path, required=True, help="the document that the build put together")
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "docs" / "images")
    options = parser.parse_args()
    if browser.find_browser() is None:
        raise SystemExit("no Chromium here (Debian's chromium-headless-shell or chromium)")
    options.out.mkdir(parents=True, exist_ok=True)
    page = options.page.read_text(encoding="utf-8")
    for picture in PICTURES:
        take(page, *picture, options.out)


if __name__ == "__main__":
    main()
