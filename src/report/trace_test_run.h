// A small run for the tests of traces, with everything that a trace can show. Worker 0's clock is
// known and drifts; nothing is known of worker 1's.
#pragma once

#include <cstdint>
#include <memory>

#include "ledger/run_database.h"

namespace interlude {

inline constexpr uint32_t kTraceRounds = 3;
inline constexpr uint32_t kTraceChunks = 4;
inline constexpr int64_t kTraceMs = 1'000'000;
inline constexpr int64_t kTraceBegin = 9'000'000 * kTraceMs;  // coordinator's clock, first round
inline constexpr int64_t kTraceRoundNs = 3'000 * kTraceMs;

/// Of worker 0; loses 400 parts in a million, far more than a real one.
ClockEstimate TraceTestClock();

/// In memory.
std::unique_ptr<RunDatabase> MakeTraceTestRun();

}  // namespace interlude
