// What a worker may be told, and when: checks the coordinator's messages against where the worker
// is. Not the worker's loop (worker/). Pure; owned by the worker's main thread.
#pragma once

#include <cstdint>

#include "base/status.h"
#include "protocol/types.h"

namespace interlude {

/// connecting -> joined -> ready (catch up) -> round (train, exchange, report)* -> finishing ->
/// done
///
/// In pipelined mode the coordinator says "start round r + 1" and "finish" at the commit of round
/// r, which a worker may read before it has applied and reported r. It takes them up after its own
/// report: the calls here are made when the worker acts on a message, not when the message arrives.
class WorkerSession {
 public:
  enum class Stage : uint8_t {
    kConnecting,
    kJoined,
    kReady,
    kInRound,
    kBetweenRounds,
    kFinishing,
    kDone
  };

  // Each returns FailedPrecondition, naming message and stage, when it must not come now, and
  // leaves the stage as it was.

  /// The coordinator gave an id. InvalidArgument for a negative one.
  Status Welcomed(WorkerId worker);
  /// The worker made its model and said that it is ready: its parameters may become the first base.
  Status OfferedBase();
  /// The coordinator wants this worker's parameters as the first base.
  Status AskedForBase();
  /// The coordinator wants this worker's base to become the run's. In a round: the worker is late
  /// and leaves it.
  Status AskedToCatchUp();
  /// `round` must be the one after the last (any from kFirstRound on, for the first).
  Status RoundStarted(uint32_t round);
  /// The worker has applied, verified and reported the round it is in.
  Status RoundReported(uint32_t round);
  /// All rounds are done: score the final base. To one that is ready: it caught up, and nobody else
  /// was there to score.
  Status ToldToFinish();
  /// The coordinator ended the run.
  Status Done();

  Stage stage() const { return stage_; }
  /// -1 before the welcome.
  WorkerId worker() const { return worker_; }
  /// The round it is in or reported last; 0 before the first.
  uint32_t round() const { return round_; }

 private:
  Stage stage_ = Stage::kConnecting;
  WorkerId worker_ = -1;
  uint32_t round_ = 0;
};

}  // namespace interlude
