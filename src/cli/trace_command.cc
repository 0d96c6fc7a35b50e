// interlude trace: a run as a timeline for the Perfetto UI or chrome://tracing, or as scalars for
// TensorBoard.
#include <fmt/format.h>

#include <charconv>
#include <filesystem>
#include <limits>
#include <memory>
#include <optional>
#include <ostream>
#include <string>

#include "analysis/analyze_run.h"
#include "base/cpu_quota.h"
#include "base/host_name.h"
#include "cli/atomic_buffer.h"
#include "cli/commands.h"
#include "cli/exit_codes.h"
#include "report/chrome_trace.h"
#include "report/perfetto_trace.h"
#include "report/run_trace.h"
#include "report/tensorboard_events.h"

namespace interlude {
namespace {

struct TraceCommandOptions {
  std::string directory;
  std::string out;
  std::string format = "perfetto";
  std::string clock = "corrected";
  std::string rounds;
};

struct RoundRange {
  uint32_t first = 1;
  uint32_t last = std::numeric_limits<uint32_t>::max();
};

/// "7" or "3-7".
StatusOr<RoundRange> ParseRounds(const std::string& text) {
  RoundRange range;
  const char* const end = text.data() + text.size();
  auto parsed = std::from_chars(text.data(), end, range.first);
  range.last = range.first;
  if (parsed.ec == std::errc() && parsed.ptr != end && *parsed.ptr == '-') {
    parsed = std::from_chars(parsed.ptr + 1, end, range.last);
  }
  if (parsed.ec != std::errc() || parsed.ptr != end || range.first > range.last) {
    return InvalidArgumentError("--rounds {}: give a round, or the first and the last one: 3-7",
                                text);
  }
  return range;
}

StatusOr<std::unique_ptr<RunDatabase>> OpenRun(const std::string& directory) {
  return RunDatabase::OpenReadOnly(directory + "/run.db");
}

Status WriteTimeline(const TraceCommandOptions& options) {
  std::optional<RoundRange> range;
  if (!options.rounds.empty()) {
    INTERLUDE_ASSIGN_OR_RETURN(range, ParseRounds(options.rounds));
  }
  INTERLUDE_ASSIGN_OR_RETURN(const auto database, OpenRun(options.directory));
  INTERLUDE_ASSIGN_OR_RETURN(TraceRun run, ReadTraceRun(*database));
  if (range) INTERLUDE_RETURN_IF_ERROR(KeepRounds(run, range->first, range->last));
  const bool perfetto = options.format == "perfetto";
  const TraceClocks clocks = options.clock == "raw" ? TraceClocks::kRaw : TraceClocks::kCorrected;
  INTERLUDE_ASSIGN_OR_RETURN(AtomicFile file, AtomicFile::Create(options.out));
  AtomicBuffer buffer(std::move(file));
  std::ostream out(&buffer);
  WriteTrace(run, clocks, perfetto ? *MakePerfettoSink(out) : *MakeChromeSink(out));
  INTERLUDE_RETURN_IF_ERROR(buffer.Commit());
  for (const std::string& note : TraceNotes(run, clocks)) fmt::print(stderr, "note: {}\n", note);
  fmt::print("{}: {} rounds; open it in {}\n", options.out, run.rounds.size(),
             perfetto ? "https://ui.perfetto.dev" : "chrome://tracing or https://ui.perfetto.dev");
  return OkStatus();
}

Status WriteTensorBoard(const TraceCommandOptions& options) {
  if (!options.rounds.empty() || options.clock != "corrected") {
    return InvalidArgumentError(
        "--rounds and --clock are for timelines; TensorBoard gets a step a round");
  }
  INTERLUDE_ASSIGN_OR_RETURN(const auto database, OpenRun(options.directory));
  INTERLUDE_ASSIGN_OR_RETURN(const RunSummary run,
                             AnalyzeRun(*database, ReadCpuLimits().UsableCores()));
  INTERLUDE_ASSIGN_OR_RETURN(const std::vector<RoundRecord> rounds, database->Rounds());
  std::error_code error;
  std::filesystem::create_directories(options.out, error);
  if (error) return ErrnoError(error.value(), fmt::format("cannot make {}", options.out));
  const std::string path =
      fmt::format("{}/{}", options.out, TensorBoardFileName(run, HostName("unknown")));
  INTERLUDE_ASSIGN_OR_RETURN(AtomicFile file, AtomicFile::Create(path));
  AtomicBuffer buffer(std::move(file));
  std::ostream out(&buffer);
  out << FormatTensorBoardEvents(run, rounds);
  INTERLUDE_RETURN_IF_ERROR(buffer.Commit());
  fmt::print("{}: {} rounds; look at it with tensorboard --logdir {}\n", path, rounds.size(),
             options.out);
  return OkStatus();
}

int Run(const TraceCommandOptions& options) {
  const Status status =
      options.format == "tensorboard" ? WriteTensorBoard(options) : WriteTimeline(options);
  return status.ok() ? kExitOk : Fail(status, ExitCodeFor(status));
}

}  // namespace

void AddTraceCommand(CLI::App& app, Action& chosen) {
  auto options = std::make_shared<TraceCommandOptions>();
  CLI::App* command =
      app.add_subcommand("trace", "A run as a timeline for the Perfetto UI, or for TensorBoard");
  command->add_option("DIR", options->directory, "The run's directory, as given to --dir")
      ->type_name(" ")
      ->required();
  command->add_option("--out", options->out, "The file to write; for tensorboard a directory")
      ->type_name("FILE")
      ->required();
  command->add_option("--format", options->format, "perfetto, chrome-json or tensorboard")
      ->check(CLI::IsMember({"perfetto", "chrome-json", "tensorboard"}))
      ->type_name("NAME")
      ->capture_default_str();
  command
      ->add_option("--clock", options->clock,
                   "corrected: all times on the coordinator's clock; raw: each process's own")
      ->check(CLI::IsMember({"corrected", "raw"}))
      ->type_name("NAME")
      ->capture_default_str();
  command->add_option("--rounds", options->rounds, "Only these rounds; else all")->type_name("A-B");
  command->footer(
      "Examples:\n  interlude trace runs/first --out first.pftrace\n"
      "  interlude trace runs/first --out logs/first --format tensorboard");
  command->callback([options, &chosen] { chosen = [options] { return Run(*options); }; });
}

}  // namespace interlude
