// Where a worker's clock stood in one round: the shift that brings its times onto the coordinator's
// clock. One shift for the whole round, so no duration within a worker changes. Pure functions.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string_view>

#include "analysis/round_records.h"

namespace interlude {

/// What the messages of a round allow: none arrives before it was sent. A bound is absent where
/// nothing went that way.
struct CausalInterval {
  std::optional<int64_t> least_ns;  // by what the coordinator sent
  std::optional<int64_t> most_ns;   // by what the worker sent
};

/// `worker`'s first byte of each chunk against the coordinator's, both ways, the start message and
/// the report. Beginnings only: a sender may be told of the end of its sending after all has come.
CausalInterval CausalIntervalOf(const PhaseTimes& times, int32_t worker);

enum class ClockSource : uint8_t {
  kNone,       // "none": neither; the worker's times cannot be placed
  kCausality,  // "causality": no probes; the middle of the interval, or its one bound
  kProbes,     // "probes": the estimate, where causality allows it
  kClamped,    // "probes, clamped": the nearest to it that causality allows
};
std::string_view ClockSourceName(ClockSource source);

struct WorkerClock {
  ClockSource source = ClockSource::kNone;
  int64_t shift_ns = 0;  // worker's clock + this = coordinator's clock
  /// Bound, as far as probes and messages give one; the round's length where they do not.
  int64_t error_ns = 0;
  /// By so much the messages contradict each other: drift within the round, or times that are
  /// wrong.
  int64_t contradiction_ns = 0;
  friend bool operator==(const WorkerClock&, const WorkerClock&) = default;
};

/// What `estimate` says is to be added to the worker's clock at the middle of the round; nothing
/// where it is none, or no clock can be like that.
std::optional<int64_t> ShiftAt(const ClockEstimate& estimate, const RoundRecord& round);

/// `estimate` at the middle of the round, held to `allowed`. Where these messages contradict each
/// other, what lies between the contradicting bounds counts as allowed.
WorkerClock PlaceClock(const std::optional<ClockEstimate>& estimate, const CausalInterval& allowed,
                       const RoundRecord& round);

/// Of all workers in `times`.
std::map<int32_t, WorkerClock> PlaceClocks(const RoundRecords& records, const PhaseTimes& times);

}  // namespace interlude
