// What a long run's database costs who reads it: makes one, or analyses it. Each in a process of
// its own, so that each has a peak memory of its own; tools/measure_ledger.py runs them. And what
// it costs to record, for tools/measure_account.py.
#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <string>

#include "analysis/analyze_run.h"
#include "base/clock.h"
#include "base/cpu_quota.h"
#include "base/heap.h"
#include "base/process_memory.h"
#include "bench/long_run.h"
#include "ledger/recorder.h"

namespace interlude {
namespace {

double CpuSeconds() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

StatusOr<std::string> Analyse(const std::string& directory, int threads) {
  INTERLUDE_ASSIGN_OR_RETURN(const RunSummary run, AnalyzeRunDirectory(directory, threads));
  return fmt::format("\"rounds\": {}, \"causes\": {}, \"findings\": {}, \"run_seconds\": {:.0f}",
                     run.rounds.size(), run.causes.size(), run.findings.size(), run.wall_seconds);
}

/// CPU time of `what`, the least of some repetitions of `times`, in ns each.
template <typename What>
double CpuOf(int times, What what) {
  double least = 1e9;
  for (int repetition = 0; repetition < 20; ++repetition) {
    const int64_t begin = ReadThreadTimes().cpu_ns;
    for (int i = 0; i < times; ++i) what(i);
    least = std::min(least, static_cast<double>(ReadThreadTimes().cpu_ns - begin) / times);
  }
  return least;
}

/// Of one stamp: the scope that takes it, and its bytes, written once to be sent and read once.
/// That they are written again to be stored is in the coordinator's spans of `ledger`. Of one span:
/// all that a phase without chunks needs.
std::string CostsOfRecords() {
  constexpr int kStamps = 316;
  const Clock& clock = SystemClock();
  Recorder recorder;
  const double stamp = CpuOf(10, [&](int round) {
    PhaseTimer timer(Phase::kEncode, static_cast<uint32_t>(round), 0, clock);
    for (uint32_t chunk = 0; chunk < kStamps; ++chunk) {
      const auto scope = timer.Enter(chunk);
      timer.AddBytes(1);
      timer.AddChunk();
    }
    recorder.Record(timer);
    const Account account = recorder.Take();
    DecodeStamps(EncodeStamps(account.stamps.at(0).stamps)).value();
  });
  const double span = CpuOf(1000, [&](int round) {
    PhaseTimer timer(Phase::kTrain, static_cast<uint32_t>(round), 0, clock);
    { const auto scope = timer.Enter(); }
    recorder.Record(timer);
    if (round % 20 == 0) recorder.Take();
  });
  return fmt::format("\"stamp_ns\": {:.0f}, \"span_ns\": {:.0f}", stamp / kStamps, span);
}

struct Options {
  std::string what;
  std::string directory;
  LongRunOptions run;
  int threads = 0;
};

StatusOr<std::string> Do(const Options& options) {
  const std::string path = options.directory + "/run.db";
  if (options.what == "record") return CostsOfRecords();
  if (options.what == "analyse") return Analyse(options.directory, options.threads);
  INTERLUDE_RETURN_IF_ERROR(WriteLongRun(path, options.run));
  return fmt::format("\"bytes\": {}", std::filesystem::file_size(path));
}

int Main(int argc, char** argv) {
  Options options;
  CLI::App app("Writes or analyses the database of a long run, or records; figures as JSON.");
  app.add_option("what", options.what)
      ->required()
      ->check(CLI::IsMember({"write", "analyse", "record"}));
  app.add_option("directory", options.directory, "of run.db")
      ->required()
      ->check(CLI::ExistingDirectory);
  app.add_option("--spans", options.run.spans, "of the run that is written")->capture_default_str();
  app.add_option("--workers", options.run.workers)->check(CLI::Range(1, 64))->capture_default_str();
  app.add_option("--chunks", options.run.chunks)
      ->check(CLI::Range(1, 1 << 16))
      ->capture_default_str();
  app.add_option("--threads", options.threads, "of the analysis; by default as the report's")
      ->check(CLI::Range(1, 1024));
  CLI11_PARSE(app, argc, argv);
  KeepFreedMemory();  // as the programs do
  if (options.threads == 0) options.threads = ReadCpuLimits().UsableCores();
  const Nanoseconds begin = SystemClock().Now();
  const StatusOr<std::string> done = Do(options);
  if (!done.ok()) {
    fmt::print(stderr, "{}\n", done.status().ToString());
    return 1;
  }
  fmt::print("{{{}, \"wall_seconds\": {:.3f}, \"cpu_seconds\": {:.3f}, \"peak_bytes\": {}}}\n",
             *done, std::chrono::duration<double>(SystemClock().Now() - begin).count(),
             CpuSeconds(), ReadProcessMemory(::getpid()).value_or(ProcessMemory{}).peak_resident);
  return 0;
}

}  // namespace
}  // namespace interlude

int main(int argc, char** argv) { return interlude::Main(argc, argv); }
