// A made-up run with fixed numbers, for tests and for testdata/run_db: 3 workers, 6 rounds, a
// quarter of a million parameters. Worker 2 is slow for want of CPU; a chunk is repaired; worker 1
// leaves at the end.
#pragma once

#include "base/status.h"
#include "ledger/run_database.h"

namespace interlude {

inline constexpr uint32_t kSampleRounds = 6;
inline constexpr int32_t kSampleWorkers = 3;

/// Fills an empty run database. The same calls with the same values each time.
Status WriteSampleRun(RunDatabase& database);

}  // namespace interlude
