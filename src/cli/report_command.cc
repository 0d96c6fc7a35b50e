// interlude report: where a run's time went, from its run.db.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>

#include "analysis/analyze_run.h"
#include "cli/commands.h"
#include "cli/exit_codes.h"
#include "report/run_report.h"

namespace interlude {
namespace {

struct ReportCommandOptions {
  std::string directory;
  bool json = false;
  bool all = false;
};

int Run(const ReportCommandOptions& options) {
  const auto run = AnalyzeRunDirectory(options.directory);
  if (!run.ok()) return Fail(run.status(), ExitCodeFor(run.status()));
  ReportOptions format;
  format.color = isatty(STDOUT_FILENO) == 1 && std::getenv("NO_COLOR") == nullptr;
  if (options.all) format.max_rounds = 0;
  const std::string text = options.json ? FormatRunJson(*run) : FormatRunReport(*run, format);
  const bool written =
      std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0;
  return written ? kExitOk : kExitFailed;
}

}  // namespace

void AddReportCommand(CLI::App& app, Action& chosen) {
  auto options = std::make_shared<ReportCommandOptions>();
  CLI::App* command =
      app.add_subcommand("report", "Where a run's time went, round by round and phase by phase");
  command->add_option("DIR", options->directory, "The run's directory, as given to --dir")
      ->type_name(" ")
      ->required();
  command->add_flag("--json", options->json, "The same as JSON, with every round");
  command->add_flag("--all", options->all, "List every round; else the first and the last ones");
  command->footer(
      "Example:\n  interlude report runs/first\n  interlude report runs/first --json | jq .rounds");
  command->callback([options, &chosen] { chosen = [options] { return Run(*options); }; });
}

}  // namespace interlude
