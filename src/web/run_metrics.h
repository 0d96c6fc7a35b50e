// A run's figures as OpenMetrics, for Prometheus and its like. Pure but for the database; one
// thread at a time on that.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "base/status.h"
#include "ledger/run_database.h"

namespace interlude {

/// Workers with this id and above share the label "other", so that no run has more series than
/// somebody planned for.
inline constexpr int32_t kMostLabelledWorkers = 256;

/// What docs/live.md lists, from the rounds that are finished. `path_seconds`: the newest round's
/// critical path by what it went through; empty where it is not known. Errors are the database's.
/// Cost: one pass over spans and samples.
StatusOr<std::string> FormatRunMetrics(const RunDatabase& database,
                                       const std::map<std::string, double>& path_seconds = {});

}  // namespace interlude
