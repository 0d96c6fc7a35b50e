// The account's parts of the JSON: critical paths, findings, timeline, clocks, memory. Internal to
// report/. The fields: docs/report.md. Pure functions.
#pragma once

#include <nlohmann/json.hpp>

#include "analysis/run_summary.h"

namespace interlude::internal {

using Json = nlohmann::ordered_json;

/// The most points in time of one process's memory; more are thinned out, the largest kept.
inline constexpr size_t kMostMemoryPoints = 600;

/// Each worker with its cause in `run.causes`.
Json JsonOfPath(const RunSummary& run, const RoundPath& path);
Json JsonOfFindings(const RunSummary& run);
/// The spans that run.records keeps, each with its chunks' stamps.
Json JsonOfTimeline(const RunSummary& run);
/// Of each round, how each worker's clock was placed for its path.
Json JsonOfClocks(const RunSummary& run);
Json JsonOfMemory(const RunSummary& run);

}  // namespace interlude::internal
