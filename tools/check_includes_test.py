"""Unit tests of check_includes.py, on made-up trees."""

import pathlib
import tempfile
import unittest

import check_includes


class CheckIncludesTest(unittest.TestCase):
    def problems(self, files):
        with tempfile.TemporaryDirectory() as folder:
            for name, text in files.items():
                path = pathlib.Path(folder) / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text)
            return check_includes.check(folder)

    def test_allowed_includes_with_matching_edges_pass(self):
        self.assertEqual([], self.problems({
            "src/store/a.cc": '#include "store/a.h"\n#include <vector>\n#include "layout/l.h"\n#include "base/s.h"\n',
            "src/store/CMakeLists.txt": "interlude_module(store SOURCES a.cc INTERLUDE_DEPS layout)\n",
            "src/cli/run.cc": '#include "coordinator/c.h"\n',
            "src/cli/CMakeLists.txt": "interlude_module(cli SOURCES run.cc INTERLUDE_DEPS coordinator)\n",
        }))

    def test_include_against_the_layers_names_file_and_line(self):
        problems = self.problems({"src/codec/a.cc": '// text\n#include "protocol/types.h"\n'})
        self.assertEqual(1, len(problems))
        self.assertIn("src/codec/a.cc:2: codec may not include protocol", problems[0])

    def test_tests_follow_the_layers_too(self):
        self.assertEqual(1, len(self.problems({"src/analysis/a_test.cc": '#include "store/journal.h"\n'})))

    def test_libraries_stay_inside_their_borders(self):
        for include, module in (("<torch/torch.h>", "worker"), ("<c10/util/x.h>", "cli"),
                                ("<grpcpp/grpcpp.h>", "protocol"), ('"interlude.pb.h"', "ledger"),
                                ("<google/protobuf/arena.h>", "cli"), ("<sqlite3.h>", "analysis"),
                                ("<SQLiteCpp/Database.h>", "report"), ("<toml++/toml.h>", "cli")):
            with self.subTest(include=include):
                problems = self.problems({f"src/{module}/a.cc": f"#include {include}\n"})
                self.assertEqual(1, len(problems), problems)
                self.assertIn("belongs only in", problems[0])

    def test_libraries_are_allowed_where_they_belong(self):
        self.assertEqual([], self.problems({
            "src/train/a.cc": "#include <torch/torch.h>\n",
            "src/ledger/a.cc": "#include <SQLiteCpp/Database.h>\n#include <sqlite3.h>\n",
            "src/wire/a.cc": '#include <grpcpp/grpcpp.h>\n#include "interlude.pb.h"\n',
        }))

    def test_train_may_include_only_the_interfaces_of_worker(self):
        for header in ("local_trainer.h", "model_copy.h"):
            self.assertEqual([], self.problems({"src/train/a.h": f'#include "worker/{header}"\n'}))
        problems = self.problems({"src/train/a.h": '#include "worker/worker.h"\n'})
        self.assertEqual(1, len(problems))
        self.assertIn("only worker/local_trainer.h", problems[0])

    def test_relative_include_is_refused(self):
        problems = self.problems({"src/base/a.cc": '#include "a.h"\n'})
        self.assertEqual(["src/base/a.cc:1: write \"base/a.h\": includes are from src/"], problems)

    def test_unknown_module_is_refused(self):
        self.assertIn("ALLOWED", self.problems({"src/util/a.cc": "int x;\n"})[0])

    def test_edge_that_the_layers_forbid_is_refused(self):
        problems = self.problems({
            "src/codec/CMakeLists.txt": "# comment (with parenthesis)\n\ninterlude_module(codec\n  SOURCES a.cc\n"
                                        "  INTERLUDE_DEPS base protocol)\n"})
        self.assertEqual(["src/codec/CMakeLists.txt:3: codec may not link protocol"], problems)

    def test_edge_that_an_include_needs_must_be_declared(self):
        problems = self.problems({
            "src/store/a.cc": '#include "layout/l.h"\n#include "codec/c.h"\n',
            "src/store/CMakeLists.txt": "interlude_module(store SOURCES a.cc INTERLUDE_DEPS layout)\n"})
        self.assertEqual(1, len(problems))
        self.assertIn("lacks codec, which src/store/a.cc:2 includes", problems[0])

    def test_edge_of_a_test_must_be_allowed(self):
        problems = self.problems({"src/optim/CMakeLists.txt": "interlude_test(x SOURCES x_test.cc DEPS optim store)\n"})
        self.assertEqual(["src/optim/CMakeLists.txt:1: x may not link store"], problems)

    def test_second_library_of_a_folder_counts_as_its_module(self):
        self.assertEqual([], self.problems({
            "src/ledger/CMakeLists.txt": "interlude_module(ledger SOURCES a.cc)\n"
                                         "interlude_module(sample SOURCES s.cc INTERLUDE_DEPS ledger)\n",
            "src/report/CMakeLists.txt": "interlude_test(t SOURCES t_test.cc DEPS report sample)\n"}))

    def test_library_linked_outside_its_border_is_refused(self):
        problems = self.problems({"src/worker/CMakeLists.txt": 'interlude_module(worker SOURCES a.cc LIBS "${TORCH_LIBRARIES}")\n'})
        self.assertEqual(1, len(problems))
        self.assertIn("LibTorch belongs only in train", problems[0])


if __name__ == "__main__":
    unittest.main()
