// What the coordinator knows of its workers' clocks: the probes of this run, and the estimates made
// of them. Owned by the round thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "ledger/clock_fit.h"
#include "protocol/types.h"

namespace interlude {

/// Kind of the event that a worker leaves whose clock is still unknown after its second round.
inline constexpr char kClockUnknownEvent[] = "clock_unknown";

class ClockBook {
 public:
  /// Kept of each worker, some hours' worth; beyond, KeepQuickest thins them out.
  static constexpr size_t kMostProbes = 16384;
  /// A live estimate takes the newest of them only: the bounds of older ones have grown too wide.
  static constexpr size_t kMostLiveProbes = 1024;

  /// Each is put to the worker it names.
  void Keep(const std::vector<ClockProbe>& probes);

  struct RoundEnd {
    ClockEstimate estimate;  // by the newest probes, at the moment of the last
    /// To be said of this worker, once: it had two rounds, and no probe came.
    bool still_unknown = false;
  };
  /// A round ends that the worker took part in.
  RoundEnd EndRound(WorkerId worker);

  /// Of every worker that took part in a round or sent a probe, over the whole run.
  std::vector<ClockEstimate> Final() const;

 private:
  struct WorkerClock {
    std::vector<ClockProbe> probes;
    uint32_t rounds = 0;
  };
  std::map<WorkerId, WorkerClock> clocks_;
};

}  // namespace interlude
