#!/usr/bin/env python3
"""Puts the report page together at build time: one HTML document with its style, D3 and its own
modules inline, and the hashes of these in its Content-Security-Policy, so that nothing else runs.

Writes the page with its two gaps still in it (@CONNECT@ and @DATA@; see fill) and, for the program,
a C++ source with the parts between the gaps. Nothing is fetched: D3 and esbuild are Debian's.
"""

import argparse
import base64
import hashlib
import json
import pathlib
import subprocess

GAPS = ("@CONNECT@", "@DATA@")
PIECE = 8192  # characters a string literal; longer ones are not portable
DELIMITER = "page"

CPP = """// Made by tools/build_page.py; do not edit.
#include "report/page_parts.h"

namespace interlude::internal {{

{parts}
}}  // namespace interlude::internal
"""


def bundle(esbuild, main):
    """The modules that `main` imports, as one script."""
    command = [esbuild, str(main), "--bundle", "--format=iife", "--target=es2020", "--charset=utf8",
               "--log-level=warning"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def source_hash(text):
    digest = hashlib.sha256(text.encode("utf-8")).digest()
    return "'sha256-" + base64.b64encode(digest).decode("ascii") + "'"


def inline_script(text):
    if "</script" in text.lower() or "<!--" in text:
        raise SystemExit("a script of the page would end its own element")
    return text


def build(page_dir, d3_path, d3_license, esbuild):
    page_dir = pathlib.Path(page_dir)
    page = (page_dir / "index.html").read_text(encoding="utf-8")
    style = (page_dir / "style.css").read_text(encoding="utf-8")
    license_text = pathlib.Path(d3_license).read_text(encoding="utf-8")
    d3 = inline_script(f"/*\n{license_text}*/\n" + pathlib.Path(d3_path).read_text(encoding="utf-8"))
    main = inline_script(bundle(esbuild, page_dir / "main.js"))
    values = {"@STYLE@": style, "@D3@": d3, "@MAIN@": main, "@STYLE_HASH@": source_hash(style),
              "@SCRIPT_HASHES@": source_hash(d3) + " " + source_hash(main)}
    for gap, value in values.items():
        if page.count(gap) != 1:
            raise SystemExit(f"index.html must have {gap} once")
        page = page.replace(gap, value)
    for gap in GAPS:
        if page.count(gap) != 1:
            raise SystemExit(f"the page must have {gap} once")
    return page


def fill(page, report):
    """What FormatHtmlReport does in C++: the page with this report (JSON text) in it."""
    return page.replace("@CONNECT@", "'none'").replace("@DATA@", report.replace("<", "\\u003c"))


def fill_live(page, source, every_ms):
    """What FormatLivePage does in C++."""
    where = json.dumps({"source": source, "every_ms": every_ms})
    return page.replace("@CONNECT@", "'self'").replace("@DATA@", where.replace("<", "\\u003c"))


def literal(text):
    pieces = [text[i:i + PIECE] for i in range(0, len(text), PIECE)] or [""]
    return "\n".join(f'R"{DELIMITER}({piece}){DELIMITER}"' for piece in pieces)


def cpp_source(page):
    if f"){DELIMITER}\"" in page:
        raise SystemExit("the page has the delimiter of its own C++ literals in it")
    parts, rest = [], page
    for gap in GAPS:
        before, rest = rest.split(gap)
        parts.append(before)
    parts.append(rest)
    names = ("kPageBegin", "kPageMiddle", "kPageEnd")
    lines = [f"const std::string_view {name} =\n{literal(part)};\n" for name, part in zip(names, parts)]
    return CPP.format(parts="\n".join(lines))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--page", required=True, help="folder with index.html, style.css and main.js")
    parser.add_argument("--d3", required=True)
    parser.add_argument("--d3-license", required=True)
    parser.add_argument("--esbuild", default="esbuild")
    parser.add_argument("--html", required=True, help="the page with its gaps, to write")
    parser.add_argument("--cpp", required=True, help="the C++ source, to write")
    options = parser.parse_args()
    page = build(options.page, options.d3, options.d3_license, options.esbuild)
    pathlib.Path(options.html).write_text(page, encoding="utf-8")
    pathlib.Path(options.cpp).write_text(cpp_source(page), encoding="utf-8")


if __name__ == "__main__":
    main()
