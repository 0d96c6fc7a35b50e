// Words shared by the state machines: who takes part, and what a round's plan is.
#pragma once

#include <cstdint>
#include <vector>

#include "base/clock.h"

namespace interlude {

/// 0, 1, 2, ...: small numbers, because shards of data and slots of the journal follow from them.
using WorkerId = int32_t;

/// Rounds count from 1, everywhere: round r is the one that makes the base after r rounds.
inline constexpr uint32_t kFirstRound = 1;

/// What the whole run is to do.
struct RunPlan {
  uint32_t workers = 1;  // waited for before the first round, and the most that may take part
  uint32_t rounds = 1;
  uint32_t evaluate_every = 0;  // rounds; 0 means only at the end
  bool barrier = false;         // everything of one stage before the next, for comparison
  /// Share of a round's members still awaited that must have delivered a chunk before it is closed
  /// without one that is late; at least one must.
  double quorum = 0.5;
  /// A member is late beyond so many times its usual time; 0: one that is connected never is.
  double patience = 3;
  /// A member whose connection broke is awaited so long, where others wait for it.
  Nanoseconds away_patience = std::chrono::seconds(2);
};

/// One worker's share in a merge.
struct Contributor {
  WorkerId worker = 0;
  uint64_t samples = 0;

  friend bool operator==(const Contributor&, const Contributor&) = default;
};

/// Chunk `chunk` of round `round` is to be merged from these, which stand in worker-id order. None:
/// nobody delivered it, and the base stays what it is.
struct MergeOrder {
  uint32_t round = 0;
  uint32_t chunk = 0;
  std::vector<Contributor> contributors;

  friend bool operator==(const MergeOrder&, const MergeOrder&) = default;
};

/// When things happened in a round, on the coordinator's clock. Zero: has not happened.
struct RoundTimes {
  Nanoseconds begin{0};        // the round before ended (or the first round started)
  Nanoseconds first_delta{0};  // first delta chunk complete
  Nanoseconds last_delta{0};   // last delta chunk complete
  Nanoseconds first_sync{0};   // first sync chunk free to be sent
  Nanoseconds committed{0};    // all chunks merged
  Nanoseconds end{0};          // last worker reported that it has applied and verified
};

}  // namespace interlude
