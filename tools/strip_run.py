#!/usr/bin/env python3
"""Copies a run database without what names the machines it was recorded on, and as small as it gets.

Usage: strip_run.py FROM TO. Hosts become host-1, host-2, ..., also in the texts of events, and of a plug-in's path the
name is left; whatever else looks like a path or an address is named, and nothing is written.
"""

import pathlib
import re
import shutil
import sqlite3
import sys

NAMES_A_PLACE = re.compile(r"/(?:home|root|tmp|work|mnt|var|opt|srv)\b|\b\d{1,3}(?:\.\d{1,3}){3}\b")

PLUGIN = re.compile(r"""(plugin = ["'])[^"'\n]*/([^"'\n]*)""")


def texts(database):
    """(table, column, text) of every text in the file."""
    tables = [name for name, in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    for table in tables:
        for column in [row[1] for row in database.execute('PRAGMA table_info("%s")' % table)]:
            query = 'SELECT DISTINCT "%s" FROM "%s" WHERE typeof("%s") = \'text\'' % (column, table, column)
            for text, in database.execute(query):
                yield table, column, text


def strip(database):
    hosts = [host for host, in database.execute("SELECT DISTINCT host FROM workers ORDER BY worker")]
    for number, host in enumerate(hosts, 1):
        name = "host-%d" % number
        database.execute("UPDATE workers SET host = ? WHERE host = ?", (name, host))
        database.execute("UPDATE events SET text = replace(text, ?, ?)", (host, name))
    for key, text in database.execute("SELECT key, value FROM meta WHERE value LIKE '%plugin%'").fetchall():
        database.execute("UPDATE meta SET value = ? WHERE key = ?", (PLUGIN.sub(r"\1\2", text), key))
    database.commit()
    database.execute("PRAGMA journal_mode = DELETE")
    database.execute("PRAGMA page_size = 1024")
    database.execute("VACUUM")
    return hosts


def main():
    source, target = map(pathlib.Path, sys.argv[1:3])
    shutil.copyfile(source, target)
    target.chmod(0o644)
    database = sqlite3.connect(target)
    hosts = strip(database)
    left = [(table, column, text) for table, column, text in texts(database)
            if NAMES_A_PLACE.search(text) or any(host in text for host in hosts)]
    database.close()
    for table, column, text in left:
        print("%s.%s names a place: %s" % (table, column, text), file=sys.stderr)
    if left:
        target.unlink()
    return 1 if left else 0


if __name__ == "__main__":
    sys.exit(main())
