// The critical paths of all rounds of a run. Pure functions; any thread.
#pragma once

#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "analysis/round_path.h"
#include "ledger/run_database.h"

namespace interlude {

using SpansByRound = std::unordered_map<uint32_t, std::vector<Span>>;

/// Of each of `rounds`, in their order; the arguments are a run database's rows. Cost: records and
/// dependencies n log n.
std::vector<RoundPath> FindRunPaths(const std::vector<RoundRecord>& rounds,
                                    const std::vector<WorkerRecord>& workers,
                                    const std::vector<EventRecord>& events,
                                    const std::map<std::string, std::string>& meta,
                                    const SpansByRound& spans, std::vector<ChunkStamps> all_stamps,
                                    const std::vector<ClockRecord>& all_clocks);

/// Of each worker the estimate that counts for `round`: the final one, unless what was known when
/// the round ended speaks against it (the worker was started again, perhaps on another machine).
std::vector<ClockEstimate> ClocksFor(const RoundRecord& round,
                                     const std::vector<ClockRecord>& clocks);

}  // namespace interlude
