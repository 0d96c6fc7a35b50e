// Who takes part: from the first word of a worker to its leaving. Pure; owned by the round thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "protocol/types.h"

namespace interlude {

/// A worker's way: joined -> ready -> caught up -> member; gone from any of them.
enum class WorkerStage : uint8_t {
  kJoined,    // has an id and the run's configuration; makes its model
  kReady,     // its layout is the run's; waits for the first base, or catches up beside the rounds
  kCaughtUp,  // its base is the run's, or nearly; waits for a round to begin
  kMember,    // takes part in rounds
};

class Membership {
 public:
  /// At most `most` workers at a time, ids 0 .. most - 1.
  explicit Membership(uint32_t most) : most_(most) {}

  /// Gives an id: the requested one or, where none was requested, the lowest free one.
  /// ResourceExhausted when all ids are taken; the message says how many workers the run was
  /// started for. AlreadyExists when an id was requested that somebody present has; OutOfRange for
  /// one beyond `most`.
  StatusOr<WorkerId> Join(std::optional<WorkerId> requested);

  /// FailedPrecondition unless the worker is kJoined.
  Status Ready(WorkerId worker);

  /// FailedPrecondition unless the worker is kReady.
  Status CaughtUp(WorkerId worker);

  /// All workers that have caught up become members.
  void AdmitCaughtUp();

  /// A member no longer takes part: it is to catch up again. Nothing for one that is no member.
  void FallBehind(WorkerId worker);

  /// As it was before the coordinator was killed.
  void RestoreMember(WorkerId worker) { stages_[worker] = WorkerStage::kMember; }

  /// Removes a worker; false when there is none of that id.
  bool Leave(WorkerId worker);

  std::optional<WorkerStage> stage(WorkerId worker) const;
  std::vector<WorkerId> at(WorkerStage stage) const;
  uint32_t most() const { return most_; }
  uint32_t present() const { return static_cast<uint32_t>(stages_.size()); }

 private:
  /// To the stage after `from`.
  Status Advance(WorkerId worker, WorkerStage from, std::string_view what);

  const uint32_t most_;
  std::map<WorkerId, WorkerStage> stages_;
};

}  // namespace interlude
