"""What a run has said of its committed rounds, from sources that know nothing of each other: the journal's files as
read here, `interlude journal verify`, and run.db."""

import contextlib
import re
import sqlite3

from faults import journal

VERIFIED = re.compile(r"rounds (\d+) to (\d+) made again[\s\S]*root after round (\d+): ([0-9a-f]{32})")


class Failure(Exception):
    pass


def check(condition, text):
    if not condition:
        raise Failure(text)


class Story:
    """What the journal has said of committed rounds so far; it must never say anything else."""

    def __init__(self, workers):
        self.workers = frozenset(range(workers))
        self.rounds = {}
        self.replayed = set()
        self.looks = 0

    def look(self, run, directory):
        """In a directory in which nobody works; the newest committed round and its root, (0, "") before any."""
        self.looks += 1
        for number, found in journal.rounds(directory).items():
            if found.root:
                check(self.rounds.setdefault(number, found) == found, "round %d was committed as %s and is now %s" % (
                    number, self.rounds[number], found))
        newest = max(self.rounds, default=0)
        if newest == 0:
            return 0, ""
        done = run.verify(directory)
        said = VERIFIED.search(done.stdout)
        check(done.returncode == 0 and said, "journal verify: %s%s" % (done.stdout, done.stderr))
        first, last, numbered, root = int(said[1]), int(said[2]), int(said[3]), said[4]
        check(last == numbered == newest, "round %d was committed, the replay ends after %d" % (newest, last))
        check(root == self.rounds[newest].root, "round %d has root %s, its replay %s" % (
            newest, self.rounds[newest].root, root))
        self.replayed.update(range(first, last + 1))
        return newest, root

    def full(self, number):
        """Whether all workers' deltas went into all of a round."""
        return number in self.rounds and set(self.rounds[number].merges) == {self.workers}


def roots_in_database(directory):
    """{round: root} of those that run.db has, which is not every one that was committed when a coordinator died."""
    with contextlib.closing(sqlite3.connect(directory / "run.db")) as database:
        refused = database.execute("SELECT round, worker, text FROM events WHERE kind = 'refused'").fetchall()
        check(not refused, "honest workers were refused: %s" % refused)
        return dict(database.execute("SELECT round, root_hash FROM rounds"))
