"""Unit tests of check_files.py, on made-up trees."""

import pathlib
import tempfile
import unittest

import check_files


def check(checker, files):
    with tempfile.TemporaryDirectory() as folder:
        for name, text in files.items():
            path = pathlib.Path(folder) / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return checker.check(folder)


class CheckFilesTest(unittest.TestCase):
    def test_header_needs_pragma_once(self):
        self.assertEqual([], check(check_files, {"src/base/a.h": "// text\n#pragma once\n"}))
        self.assertEqual(["src/base/a.h:1: no #pragma once"], check(check_files, {"src/base/a.h": "// #pragma\n"}))

    def test_source_must_be_listed_in_its_folder_or_above(self):
        listed = {"src/base/a_test.cc": "", "src/base/CMakeLists.txt": "interlude_test(x SOURCES a_test.cc)\n"}
        self.assertEqual([], check(check_files, listed))
        self.assertEqual([], check(check_files, {"src/base/deep/a.cc": "",
                                                 "src/base/CMakeLists.txt": "x(deep/a.cc)\n"}))
        commented = {"src/base/a_test.cc": "", "src/base/CMakeLists.txt": "# a_test.cc\n"}
        self.assertEqual(1, len(check(check_files, commented)))

    def test_tests_must_not_sleep(self):
        files = {"src/base/a_test.cc": "\nstd::this_thread::sleep_for(1ms);\n", "src/base/CMakeLists.txt": "a_test.cc"}
        problems = check(check_files, files)
        self.assertEqual(1, len(problems))
        self.assertTrue(problems[0].startswith("src/base/a_test.cc:2:"), problems)


if __name__ == "__main__":
    unittest.main()
