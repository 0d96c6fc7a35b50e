// The clock estimates of a run, to be asked for round by round. Pure; any thread.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "ledger/run_database.h"

namespace interlude {

/// Of each worker the estimate that counts for `round`: the final one, unless what was known when
/// the round ended speaks against it (the worker was started again, perhaps on another machine).
std::vector<ClockEstimate> ClocksFor(const RoundRecord& round,
                                     const std::vector<ClockRecord>& clocks);

class RunClocks {
 public:
  /// Of all workers and rounds, as run.db has them.
  explicit RunClocks(const std::vector<ClockRecord>& records);

  /// ClocksFor. Cost: the workers, not the rounds.
  std::vector<ClockEstimate> For(const RoundRecord& round) const;

 private:
  std::vector<ClockRecord> final_;
  std::unordered_map<uint32_t, std::vector<ClockRecord>> live_;  // by round
};

}  // namespace interlude
