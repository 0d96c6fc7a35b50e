// interlude report: where a run's time went, from its run.db; as text, as JSON or as an HTML page.
// With --compare, what changed from one run to another.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "analysis/analyze_run.h"
#include "base/cpu_quota.h"
#include "cli/commands.h"
#include "cli/exit_codes.h"
#include "report/html_report.h"
#include "report/report_compare.h"
#include "report/run_report.h"
#include "store/atomic_file.h"

namespace interlude {
namespace {

struct ReportCommandOptions {
  std::vector<std::string> directories;
  std::string html;  // where to write the page; empty: nowhere
  bool json = false;
  bool all = false;
  bool compare = false;
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

int Print(const std::string& text) {
  const bool written =
      std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0;
  return written ? kExitOk : kExitFailed;
}

ReportOptions FormatOf(const ReportCommandOptions& options) {
  ReportOptions format;
  format.color = isatty(STDOUT_FILENO) == 1 && std::getenv("NO_COLOR") == nullptr;
  if (options.all) format.max_rounds = 0;
  return format;
}

StatusOr<RunSummary> ReadComparable(const std::string& directory) {
  INTERLUDE_ASSIGN_OR_RETURN(RunSummary run,
                             AnalyzeRunDirectory(directory, ReadCpuLimits().UsableCores()));
  const Status comparable = CheckComparable(run);
  if (!comparable.ok()) return comparable.WithContext(directory);
  return run;
}

int Compare(const ReportCommandOptions& options) {
  const std::string &name_a = options.directories[0], &name_b = options.directories[1];
  const auto a = ReadComparable(name_a);
  if (!a.ok()) return Fail(a.status(), ExitCodeFor(a.status()));
  const auto b = ReadComparable(name_b);
  if (!b.ok()) return Fail(b.status(), ExitCodeFor(b.status()));
  const RunComparison comparison = CompareRuns(*a, *b);
  const NamedRun named_a{name_a, *a}, named_b{name_b, *b};
  return Print(options.json ? FormatComparisonJson(comparison, named_a, named_b)
                            : FormatComparison(comparison, named_a, named_b, FormatOf(options)));
}

Status CheckDirectories(const ReportCommandOptions& options) {
  const size_t given = options.directories.size();
  if (options.compare && given != 2) {
    return InvalidArgumentError(
        "--compare takes two directories, the run before and the run after: interlude report "
        "--compare A B");
  }
  if (!options.compare && given != 1) {
    return InvalidArgumentError(
        "a report is of one run; to compare two: interlude report --compare {} {}",
        options.directories[0], options.directories[1]);
  }
  return OkStatus();
}

int Run(const ReportCommandOptions& options) {
  const Status directories = CheckDirectories(options);
  if (!directories.ok()) return Fail(directories, kExitUsage);
  if (options.compare) return Compare(options);
  const auto run = AnalyzeRunDirectory(options.directories[0], ReadCpuLimits().UsableCores());
  if (!run.ok()) return Fail(run.status(), ExitCodeFor(run.status()));
  if (!options.html.empty()) return WritePage(options.html, *run);
  return Print(options.json ? FormatRunJson(*run) : FormatRunReport(*run, FormatOf(options)));
}

}  // namespace

void AddReportCommand(CLI::App& app, Action& chosen) {
  auto options = std::make_shared<ReportCommandOptions>();
  CLI::App* command =
      app.add_subcommand("report", "Where a run's time went, round by round and phase by phase");
  command
      ->add_option("DIR", options->directories,
                   "The run's directory, as given to --dir; with --compare two of them")
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
  command
      ->add_flag("--compare", options->compare,
                 "What changed from the first run to the second, and what of it is noise")
      ->excludes("--html")
      ->excludes("--all");
  command->footer(
      "Example:\n  interlude report runs/first\n  interlude report runs/first --json | jq .rounds\n"
      "  interlude report runs/first --html report.html\n"
      "  interlude report --compare runs/before runs/after");
  command->callback([options, &chosen] { chosen = [options] { return Run(*options); }; });
}

}  // namespace interlude
