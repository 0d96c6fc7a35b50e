"""The measured sections of a page: what stands between <!-- NAME: begin --> and <!-- NAME: end -->."""

import pathlib
import sys


def replace(path, name, text):
    """Puts the text in the section's place; the page has both marks."""
    path = pathlib.Path(path)
    begin_mark, end_mark = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
    before, begin, rest = path.read_text().partition(begin_mark)
    _, end, after = rest.partition(end_mark)
    if not begin or not end:
        sys.exit(f"{path} has no section between {begin_mark} and {end_mark}")
    path.write_text(f"{before}{begin_mark}\n{text}\n{end_mark}{after}")
