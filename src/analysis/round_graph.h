// The graph of one round: what was done, and what it had to wait for, on the coordinator's clock.
// Built from the records alone; what they lack leaves a gap. Pure function; any thread.
#pragma once

#include <cstdint>
#include <map>

#include "analysis/activity_graph.h"
#include "analysis/round_clock.h"
#include "analysis/round_records.h"

namespace interlude {

struct RoundGraph {
  ActivityGraph activities;
  uint32_t last = 0;  // the round's end
};

/// What depends on what is in docs/report.md ("The critical path"). `times` are on the
/// coordinator's clock, all of them. A worker whose clock cannot be placed is left out, but for
/// what the coordinator recorded about it. The round's times must be in order and within 36 years.
/// Cost: with n activities and their dependencies n log n.
RoundGraph BuildRoundGraph(const RoundRecords& records, const PhaseTimes& times,
                           const std::map<int32_t, WorkerClock>& clocks);

}  // namespace interlude
