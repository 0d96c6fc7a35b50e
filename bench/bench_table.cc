#include "bench/bench_table.h"

#include <fmt/format.h>

#include <algorithm>

namespace interlude {
namespace {

using Run = benchmark::BenchmarkReporter::Run;

/// The run that holds a statistic; of a single repetition, that repetition.
const Run& Statistic(const std::vector<Run>& runs, const std::string& name) {
  const auto found = std::find_if(runs.begin(), runs.end(),
                                  [&](const Run& run) { return run.aggregate_name == name; });
  return found == runs.end() ? runs.front() : *found;
}

double CounterOf(const Run& run, const char* name) {
  const auto found = run.counters.find(name);
  return found == run.counters.end() ? 0.0 : found->second.value;
}

}  // namespace

bool BenchTable::ReportContext(const Context&) {
  GetOutputStream() << heading_
                    << fmt::format("{:<28}{:>10}{:>9}{:>12}   {}\n", "", "ms", "GB/s", "of memcpy",
                                   "(least - most)");
  return true;
}

void BenchTable::ReportRuns(const std::vector<Run>& runs) {
  if (runs.empty()) return;
  const std::string& name = runs.front().run_name.function_name;
  for (const Run& run : runs) {
    if (!run.error_occurred) continue;
    failed_ = true;
    GetOutputStream() << fmt::format("{:<28}WRONG: {}\n", name, run.error_message) << std::flush;
    return;
  }
  const Run& median = Statistic(runs, "median");
  GetOutputStream() << fmt::format("{:<28}{:>10.2f}{:>9.2f}{:>12.2f}   ({:.2f} - {:.2f})\n", name,
                                   median.GetAdjustedRealTime(),
                                   CounterOf(median, kBandwidthCounter),
                                   CounterOf(median, kRatioCounter),
                                   CounterOf(Statistic(runs, "min"), kRatioCounter),
                                   CounterOf(Statistic(runs, "max"), kRatioCounter))
                    << std::flush;
}

}  // namespace interlude
