// Where a span's wall time went, in parts that add up to it: on a CPU, waiting for one, asleep, and
// between the phase's chunks. Safe for any values that a database may hold. Pure functions; any
// thread.
#pragma once

#include <cstdint>

#include "ledger/span.h"

namespace interlude {

/// on_cpu + run_delay + blocked + between = end - begin of the span, to the nanosecond.
///
/// The first three are those of the mean thread of the phase: with several threads side by side
/// their times are scaled to the time in which at least one of them was in the phase (busy_ns).
struct SpanSplit {
  int64_t on_cpu_ns = 0;
  int64_t run_delay_ns = 0;  // contains throttling by a quota
  int64_t blocked_ns = 0;
  int64_t between_ns = 0;  // no thread was in the phase: it waited for the phase before it

  int64_t busy_ns() const { return on_cpu_ns + run_delay_ns + blocked_ns; }
  int64_t inside_ns() const { return busy_ns() + between_ns; }
  SpanSplit& operator+=(const SpanSplit& other);
  friend bool operator==(const SpanSplit&, const SpanSplit&) = default;
};

/// True for phases whose cpu_ns holds the CPU time of a library's threads while delay and blocked
/// time are those of the one thread that called it (worker/process_phase.h).
constexpr bool ChargesWholeProcess(Phase phase) {
  return phase == Phase::kTrain || phase == Phase::kEvaluate;
}

/// What is neither on a CPU nor a recorded wait is asleep: databases before schema version 3 have
/// no blocked_ns. All zero for a span that ended before it began. No length is above 2^60 ns.
SpanSplit SplitSpan(const Span& span);

}  // namespace interlude
