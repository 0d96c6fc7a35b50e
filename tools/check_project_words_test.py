"""Unit tests of check_project_words.py, on made-up trees."""

import pathlib
import tempfile
import unittest

import check_project_words


class CheckProjectWordsTest(unittest.TestCase):
    def problems(self, line, name="docs/a.md"):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / name
            path.parent.mkdir(parents=True)
            path.write_text(line + "\n")
            return check_project_words.check(folder)

    def test_paths_of_one_machine_are_refused(self):
        for path in ("/" + "work/main/x", "/root/x", "see /home/somebody"):
            self.assertEqual(1, len(self.problems(path)), path)
        for path in ("framework/main", "/usr/share/datasets", "src/work/root", "../root/x"):
            self.assertEqual([], self.problems(path), path)

    def test_issue_numbers_are_refused(self):
        self.assertEqual(1, len(self.problems("as issue 12 says")))
        self.assertEqual([], self.problems("an issue of two workers"))

    def test_only_public_hosts_are_allowed(self):
        self.assertEqual([], self.problems("http://www.apache.org/licenses and http://localhost:5000"))
        self.assertEqual(1, len(self.problems("https://packages.example.internal/debian")))
        self.assertEqual(1, len(self.problems("https://user:x@notgithub.com/a")))

    def test_words_outside_the_vocabulary_are_refused_in_prose(self):
        self.assertEqual(1, len(self.problems("each client sends its delta")))
        self.assertEqual(1, len(self.problems("int x;  // asks the Server", "src/base/a.h")))

    def test_code_and_quoted_terms_keep_their_words(self):
        self.assertEqual([], self.problems("context->peer(); std::unique_ptr<grpc::Server> server;", "src/base/a.cc"))
        self.assertEqual([], self.problems("a `grpc::Server` is a gRPC server"))


if __name__ == "__main__":
    unittest.main()
