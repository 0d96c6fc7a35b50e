// What a long run's database costs who reads it: makes one, or analyses it. Each in a process of
// its own, so that each has a peak memory of its own; tools/measure_ledger.py runs them.
#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <string>

#include "analysis/analyze_run.h"
#include "base/clock.h"
#include "base/cpu_quota.h"
#include "base/heap.h"
#include "base/process_memory.h"
#include "bench/long_run.h"

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

struct Options {
  std::string what;
  std::string directory;
  LongRunOptions run;
  int threads = 0;
};

StatusOr<std::string> Do(const Options& options) {
  const std::string path = options.directory + "/run.db";
  if (options.what == "analyse") return Analyse(options.directory, options.threads);
  INTERLUDE_RETURN_IF_ERROR(WriteLongRun(path, options.run));
  return fmt::format("\"bytes\": {}", std::filesystem::file_size(path));
}

int Main(int argc, char** argv) {
  Options options;
  CLI::App app("Writes or analyses the database of a long run; figures as JSON.");
  app.add_option("what", options.what)->required()->check(CLI::IsMember({"write", "analyse"}));
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
