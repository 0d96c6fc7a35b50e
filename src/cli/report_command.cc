// interlude report: where a run's time went, from its run.db; as text, as JSON or as an HTML page.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <span>
#include <string>

#include "analysis/analyze_run.h"
#include "cli/commands.h"
#include "cli/exit_codes.h"
#include "report/html_report.h"
#include "report/run_report.h"
#include "store/atomic_file.h"

namespace interlude {
namespace {

struct ReportCommandOptions {
  std::string directory;
  std::string html;  // where to write the page; empty: nowhere
  bool json = false;
  bool all = false;
};

/// The file is whole or as it was: people look at it while it is written again.
Status WriteFile(const std::string& path, const std::string& text) {
  INTERLUDE_ASSIGN_OR_RETURN(AtomicFile file, AtomicFile::Create(path));
  INTERLUDE_RETURN_IF_ERROR(file.Write(std::as_bytes(std::span(text))));
  return file.Commit();
}

int WritePage(const std::string& path, const RunSummary& run) {
  const Status written = WriteFile(path, FormatHtmlReport(FormatRunJson(run, -1)));
  if (!written.ok()) return Fail(written.WithContext("the page could not be written"), kExitFailed);
  return kExitOk;
}

int Run(const ReportCommandOptions& options) {
  const auto run = AnalyzeRunDirectory(options.directory);
  if (!run.ok()) return Fail(run.status(), ExitCodeFor(run.status()));
  if (!options.html.empty()) return WritePage(options.html, *run);
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
  command
      ->add_option("--html", options->html,
                   "Write a page for a browser to this file instead; it needs no network")
      ->type_name("FILE")
      ->excludes("--json")
      ->excludes("--all");
  command->footer(
      "Example:\n  interlude report runs/first\n  interlude report runs/first --json | jq .rounds\n"
      "  interlude report runs/first --html report.html");
  command->callback([options, &chosen] { chosen = [options] { return Run(*options); }; });
}

}  // namespace interlude
