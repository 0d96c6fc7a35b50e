// The critical paths of all rounds of a run database. Reads; any thread that may use the database.
#pragma once

#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "analysis/round_path.h"
#include "base/status.h"
#include "ledger/run_database.h"

namespace interlude {

using SpansByRound = std::unordered_map<uint32_t, std::vector<Span>>;

/// Of each of `rounds`, in their order; the other arguments are the database's rows. Reads stamps
/// and clocks besides, whose errors are its own. Cost: records and dependencies n log n.
StatusOr<std::vector<RoundPath>> FindRunPaths(const RunDatabase& database,
                                              const std::vector<RoundRecord>& rounds,
                                              const std::vector<WorkerRecord>& workers,
                                              const std::vector<EventRecord>& events,
                                              const std::map<std::string, std::string>& meta,
                                              const SpansByRound& spans);

/// Of each worker the estimate that counts for `round`: the final one, unless what was known when
/// the round ended speaks against it (the worker was started again, perhaps on another machine).
std::vector<ClockEstimate> ClocksFor(const RoundRecord& round,
                                     const std::vector<ClockRecord>& clocks);

}  // namespace interlude
