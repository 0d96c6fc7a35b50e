// One round's records as numbers. Pure functions; any thread.
#pragma once

#include <cstdint>
#include <map>
#include <span>

#include "analysis/run_summary.h"

namespace interlude {

/// What one worker spent in a round.
struct WorkerTimes {
  double train = 0, encode = 0, apply = 0, run_delay = 0;
  bool trained = false;
};

/// By worker, in order of their ids.
std::map<int32_t, WorkerTimes> TimesByWorker(std::span<const Span> spans);

/// Not above 1; 0 of nothing.
double ShareOf(double part, double whole);

/// All but what other rounds are needed for. `spans` and `parts` are the round's own.
RoundSummary SummarizeRound(const RoundRecord& round, std::span<const Span> spans,
                            std::span<const WorkerRoundRecord> parts);

}  // namespace interlude
