// How a trace brings a worker's times onto the coordinator's clock: by one shift a round, the one
// that the critical path is found with (analysis/round_clock.h). Pure; any thread.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "analysis/round_clock.h"
#include "ledger/account.h"
#include "ledger/run_database.h"

namespace interlude {

/// One worker's clock. Not empty.
struct TraceClock {
  std::map<uint32_t, WorkerClock> rounds;
  /// For what belongs to no round: from each of these times of its own on, the shift. The first is
  /// when it first recorded anything.
  std::map<int64_t, int64_t> shifts;

  /// In a round that is not there that of the one before it, else of the first.
  int64_t ShiftIn(uint32_t round) const;
  int64_t ShiftAt(int64_t own_ns) const;
  /// The worst of its rounds'.
  int64_t error_ns() const;
  /// Somebody probed it. Otherwise its rounds are placed by their messages; one that finished no
  /// round stands where it joined.
  bool probed() const;

  friend bool operator==(const TraceClock&, const TraceClock&) = default;
};

/// Of all workers that recorded anything. The account's spans and stamps are in order of their
/// rounds.
std::map<int32_t, TraceClock> PlaceTraceClocks(const std::vector<WorkerRecord>& workers,
                                               const std::vector<RoundRecord>& rounds,
                                               const Account& account,
                                               const std::vector<ClockRecord>& records);

}  // namespace interlude
