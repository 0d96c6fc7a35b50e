// Prints one line for each benchmark: the median of its repetitions and their spread. Google
// Benchmark's own table takes a line for each statistic; its JSON and CSV files
// (--benchmark_out=FILE) are as ever.
#pragma once

#include <benchmark/benchmark.h>

#include <string>
#include <vector>

namespace interlude {

/// Names of the counters that the table shows.
inline constexpr char kBandwidthCounter[] = "GB/s";
inline constexpr char kRatioCounter[] = "of memcpy";

/// Expects the statistics "min" and "max" beside the usual ones, unless there is but one
/// repetition.
class BenchTable : public benchmark::BenchmarkReporter {
 public:
  explicit BenchTable(std::string heading) : heading_(std::move(heading)) {}

  bool ReportContext(const Context& context) override;
  void ReportRuns(const std::vector<Run>& runs) override;

  /// Whether a benchmark found its own result wrong.
  bool failed() const { return failed_; }

 private:
  const std::string heading_;
  bool failed_ = false;
};

}  // namespace interlude
