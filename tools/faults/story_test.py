"""Unit tests of what the soak holds a run against: it must notice what it is there to notice."""

import pathlib
import shutil
import subprocess
import tempfile
import unittest
from unittest import mock

from faults import journal, story

SAMPLES = pathlib.Path(__file__).resolve().parents[2] / "testdata" / "journal"
WORKERS = 3
ALL = frozenset(range(WORKERS))


class SaysThat:
    """In place of a run: a replay that says this."""

    def __init__(self, last, root, status=0):
        self.done = subprocess.CompletedProcess(
            [], status, "run r: rounds 1 to %d made again from the snapshot after round 0 (9 merges), every hash as "
            "recorded\nroot after round %d: %s\n" % (last, last, root), "")

    def verify(self, _):
        return self.done


def root(letter):
    return letter * 32


def look(told, rounds, run):
    with mock.patch.object(journal, "rounds", return_value=rounds):
        return told.look(run, None)


class StoryTest(unittest.TestCase):
    def test_reads_the_journal_of_the_documentation(self):
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            (folder / "journal").mkdir()
            shutil.copy(SAMPLES / "v2.journal", folder / "journal" / "ring-0.journal")
            self.assertEqual(journal.rounds(folder), {
                7: journal.Round("1" * 16 + "2" * 16, (frozenset([0]), frozenset()))})

    def test_refuses_a_journal_of_another_version(self):
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            (folder / "journal").mkdir()
            shutil.copy(SAMPLES / "v1.journal", folder / "journal" / "ring-0.journal")
            with self.assertRaises(ValueError):
                journal.rounds(folder)

    def test_takes_rounds_as_they_come(self):
        told = story.Story(WORKERS)
        first, second = journal.Round(root("a"), (ALL, ALL)), journal.Round(root("b"), (ALL, ALL - {1}))
        self.assertEqual(look(told, {1: first}, SaysThat(1, root("a"))), (1, root("a")))
        self.assertEqual(look(told, {1: first, 2: second, 3: journal.Round("", (None, None))},
                              SaysThat(2, root("b"))), (2, root("b")))
        self.assertEqual(told.replayed, {1, 2})
        self.assertTrue(told.full(1))
        self.assertFalse(told.full(2))

    def test_notices_a_committed_round_that_becomes_another(self):
        told = story.Story(WORKERS)
        look(told, {1: journal.Round(root("a"), (ALL,))}, SaysThat(1, root("a")))
        with self.assertRaisesRegex(story.Failure, "round 1 was committed as .* and is now"):
            look(told, {1: journal.Round(root("b"), (ALL,))}, SaysThat(1, root("b")))
        told = story.Story(WORKERS)
        look(told, {1: journal.Round(root("a"), (ALL,))}, SaysThat(1, root("a")))
        with self.assertRaisesRegex(story.Failure, "round 1 was committed as .* and is now"):
            look(told, {1: journal.Round(root("a"), (ALL - {0},))}, SaysThat(1, root("a")))

    def test_notices_a_committed_round_that_is_lost(self):
        told = story.Story(WORKERS)
        first, second = journal.Round(root("a"), (ALL,)), journal.Round(root("b"), (ALL,))
        look(told, {1: first, 2: second}, SaysThat(2, root("b")))
        with self.assertRaisesRegex(story.Failure, "round 2 was committed, the replay ends after 1"):
            look(told, {1: first}, SaysThat(1, root("a")))

    def test_notices_a_replay_that_fails_or_comes_to_other_bits(self):
        with self.assertRaisesRegex(story.Failure, "its replay"):
            look(story.Story(WORKERS), {1: journal.Round(root("a"), (ALL,))}, SaysThat(1, root("c")))
        with self.assertRaisesRegex(story.Failure, "journal verify"):
            look(story.Story(WORKERS), {1: journal.Round(root("a"), (ALL,))}, SaysThat(1, root("a"), status=1))


if __name__ == "__main__":
    unittest.main()
