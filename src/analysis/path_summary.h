// The critical paths of several rounds together. Plain values; pure function.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "analysis/round_path.h"

namespace interlude {

/// A worker in all rounds that it took part in.
struct WorkerPathSummary {
  int32_t worker = 0;
  uint32_t rounds = 0;
  uint32_t rounds_on_path = 0;            // in which some piece of the path was its own
  std::optional<double> median_slack_ns;  // over the rounds in which its slack is limited
  double median_drag_ns = 0;
  int64_t drag_ns = 0;          // sum: what being no slower than the median would have saved in all
  double largest_error_ns = 0;  // of its clock
  bool clock_from_causality = false;  // in some round
};

struct PathSummary {
  uint32_t rounds = 0;
  int64_t wall_ns = 0;                     // of the rounds together
  PathSums sums;                           // they add up to wall_ns exactly
  std::vector<WorkerPathSummary> workers;  // ascending
};

/// Without the first round when there are more: it warms connections, caches and memory.
PathSummary SummarizePaths(const std::vector<RoundPath>& paths);

}  // namespace interlude
