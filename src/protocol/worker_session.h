// What a worker may be told, and when: checks the coordinator's messages against where the worker is.
// Pure; owned by the worker's main thread.
#pragma once

#include <cstdint>

#include "base/status.h"
#include "protocol/types.h"

namespace interlude {

/// connecting -> joined -> ready -> round (train, exchange, report)* -> finishing -> done
class WorkerSession {
 public:
  enum class Stage : uint8_t { kConnecting, kJoined, kReady, kInRound, kBetweenRounds, kFinishing, kDone };

  /// Each returns FailedPrecondition, naming message and stage, when it must not come now.
  Status Welcomed(WorkerId worker);
  Status OfferedBase();
  Status AskedForBase();
  /// `round` must be the one after the last (any, for the first).
  Status RoundStarted(uint32_t round);
  Status RoundReported(uint32_t round);
  Status ToldToFinish();
  Status Done();

  Stage stage() const { return stage_; }
  WorkerId worker() const { return worker_; }
  uint32_t round() const { return round_; }

 private:
  Stage stage_ = Stage::kConnecting;
  WorkerId worker_ = -1;
  uint32_t round_ = 0;
  bool any_round_ = false;
};

}  // namespace interlude
