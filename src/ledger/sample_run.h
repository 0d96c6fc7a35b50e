// A made-up run with fixed numbers, for tests and for testdata/run_db: 3 workers, 6 rounds, a
// quarter of a million parameters. Worker 2 is slow for want of CPU: its quota throttles it; a
// chunk is repaired; worker 1 leaves at the end. Each worker has a clock of its own.
#pragma once

#include "base/status.h"
#include "ledger/run_database.h"

namespace interlude {

inline constexpr uint32_t kSampleRounds = 6;
inline constexpr int32_t kSampleWorkers = 3;

/// How a worker's clock runs, and what the run's final estimate says of it: the truth, with a bound
/// for an error that it does not have. The run's times on a worker's clock, corrected by this, fit
/// the coordinator's to within 2 ns.
ClockEstimate SampleClock(int32_t worker);

/// Fills an empty run database. The same calls with the same values each time.
Status WriteSampleRun(RunDatabase& database);

}  // namespace interlude
