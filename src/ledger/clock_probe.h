// Clock probes: four time stamps that went to the coordinator and back, from which the offset
// between a worker's clock and the coordinator's is estimated. Plain values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "ledger/span.h"

namespace interlude {

/// `sent` and `returned` are on the worker's clock, `received` and `replied` on the coordinator's,
/// in nanoseconds of CLOCK_MONOTONIC.
struct ClockProbe {
  int32_t worker = kNoWorker;
  int64_t sent_ns = 0;
  int64_t received_ns = 0;
  int64_t replied_ns = 0;
  int64_t returned_ns = 0;
  /// How long the probing thread waited for a CPU meanwhile; such a probe says little.
  int64_t run_delay_ns = 0;

  /// The way there and back, without the coordinator's own time.
  /// Defined where IsPossible.
  int64_t round_trip_ns() const { return (returned_ns - sent_ns) - (replied_ns - received_ns); }
  /// False for what no pair of clocks shows: times before 0 or centuries ahead, an end before its
  /// begin, a way that takes less than no time.
  bool IsPossible() const;
  friend bool operator==(const ClockProbe&, const ClockProbe&) = default;
};

/// Drops impossible probes, and thins the others out until at most `most` are left: of each two
/// neighbours the quicker one stays.
void KeepQuickest(std::vector<ClockProbe>& probes, size_t most);

/// How a clock's offset came to be known; the name is what run.db stores.
enum class ClockMethod : uint8_t {
  kNone = 0,      // "none": no usable probe
  kMinimum = 1,   // "minimum": the live estimate, from the smallest round trips so far
  kEnvelope = 2,  // "envelope": the final estimate, a line through the quickest probes of each way
};

/// coordinator time = worker time + offset_ns + drift * (worker time - at_ns), to within error_ns.
struct ClockEstimate {
  int32_t worker = kNoWorker;
  ClockMethod method = ClockMethod::kNone;
  int64_t at_ns = 0;      // on the worker's clock: where offset_ns holds
  int64_t offset_ns = 0;  // to add to the worker's clock
  double drift = 0;       // seconds gained by the coordinator's clock a second of the worker's
  int64_t error_ns = 0;   // bound: half the smallest round trip, or what the envelope leaves open
  uint32_t probes = 0;    // that it rests on

  /// Saturates where there is no such time; keeps the order of times.
  int64_t ToCoordinator(int64_t worker_ns) const;
  friend bool operator==(const ClockEstimate&, const ClockEstimate&) = default;
};

}  // namespace interlude
