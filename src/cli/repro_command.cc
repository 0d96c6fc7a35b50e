// interlude repro: scenarios played on this machine. Becomes the Python program repro/run.py, which
// starts the processes, holds them back and reads their records.
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/exit_codes.h"
#include "cli/programs.h"

namespace interlude {
namespace {

namespace fs = std::filesystem;

struct ReproOptions {
  std::vector<std::string> scenarios;
  bool quick = false;
  std::string keep, results, write;
};

/// As installed (bin/ and share/ side by side), or in a checkout (build/PRESET/bin).
StatusOr<std::string> Runner(const fs::path& binaries) {
  for (const char* place : {"../share/interlude/repro/run.py", "../../../repro/run.py"}) {
    std::error_code error;
    const fs::path path = fs::weakly_canonical(binaries / place, error);
    if (!error && fs::is_regular_file(path, error)) return path.string();
  }
  return NotFoundError(
      "the scenarios are not there: they are installed into share/interlude beside {}, or stand in "
      "repro/ of a checkout",
      binaries.string());
}

std::vector<std::string> Command(const std::string& runner, const fs::path& binaries,
                                 const ReproOptions& options) {
  std::vector<std::string> command = {"python3", runner, "--binaries", binaries.string()};
  if (options.quick) command.emplace_back("--quick");
  for (const auto& [name, value] : {std::pair{"--keep", &options.keep},
                                    {"--results", &options.results},
                                    {"--write", &options.write}}) {
    if (!value->empty()) command.insert(command.end(), {name, *value});
  }
  command.emplace_back("--");
  command.insert(command.end(), options.scenarios.begin(), options.scenarios.end());
  return command;
}

int Repro(const ReproOptions& options) {
  const auto own = OwnProgram();
  if (!own.ok()) return Fail(own.status(), kExitFailed);
  const fs::path binaries = fs::path(*own).parent_path();
  const auto runner = Runner(binaries);
  if (!runner.ok()) return Fail(runner.status(), kExitUsage);
  std::vector<std::string> words = Command(*runner, binaries, options);
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  execvp(arguments[0], arguments.data());
  return Fail(ErrnoError(errno, "cannot run python3"), kExitFailed);
}

}  // namespace

void AddReproCommand(CLI::App& app, Action& chosen) {
  auto options = std::make_shared<ReproOptions>();
  CLI::App* command = app.add_subcommand(
      "repro", "What a round costs in a situation: the field report's, or one of your own");
  command
      ->add_option("scenario", options->scenarios,
                   "F1 to F9 (a fact of the field report), all, or a scenario's file (.toml)")
      ->required();
  command->add_flag("--quick", options->quick,
                    "Small and short: whether it works, not what it costs");
  command->add_option("--keep", options->keep, "Leave each run's run.db in a folder there")
      ->type_name("DIR");
  command->add_option("--results", options->results, "Also keep the results there, as JSON")
      ->type_name("DIR");
  command
      ->add_option("--write", options->write,
                   "Replace the scenarios' sections of this page, as docs/field-report.md")
      ->type_name("PAGE");
  command->footer(
      "Lines between places and CPU quotas take root. Exit status: 0 all that is expected is met; "
      "1 something\n"
      "is not, or a run failed; 2 a wrong scenario; 77 this machine allows none of it.\n\n"
      "Example:\n"
      "  interlude repro F1 --quick\n"
      "  interlude repro my-two-sites.toml");
  command->callback([options, &chosen] { chosen = [options] { return Repro(*options); }; });
}

}  // namespace interlude
