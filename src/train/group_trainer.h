// Rank 0's trainer of a worker with several ranks: passes every order on to the others, takes part
// itself, and is to the worker one trainer. And the loop in which the other ranks serve. What the
// ranks compute together is the trainers' own matter (rank_group.h); processes are the caller's.
// One thread.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "train/rank_channel.h"
#include "train/rank_group.h"
#include "worker/local_trainer.h"

namespace interlude {

/// Another rank, as rank 0 sees it.
struct RankLink {
  std::string name;     // "rank 1 (cuda:1, process 4711)"
  RankChannel channel;  // at its other end ServeRank
  /// Called once the channel is at its end: "killed by signal 9 (Killed)". Owns the process, which
  /// goes with it.
  std::function<std::string()> how_it_ended;
};

/// Waits until all other ranks have said that they are ready (ServeRank's first answer), then
/// connects all. `own` is this rank's trainer, which uses `group`. Errors as the trainer's
/// TrainRound.
///
/// The trainer: a round's samples and mean loss are those of all ranks, its last loss and load are
/// rank 0's own; an evaluation is divided among them. An error of one of them, or its death or
/// silence for longer than `timeout` after rank 0 is done (a second, where rank 0's part failed
/// because of it), is an error that names it, and then of each later call.
StatusOr<std::unique_ptr<LocalTrainer>> CreateGroupTrainer(std::unique_ptr<RankGroup> group,
                                                           std::unique_ptr<LocalTrainer> own,
                                                           std::vector<RankLink> others,
                                                           Nanoseconds timeout);

/// Does what rank 0 orders until rank 0 is gone, which is OK; else the error that it was told.
/// `trainer` is this rank's, which uses `group`; an error in its place is told and returned.
Status ServeRank(RankChannel& channel, RankGroup& group,
                 StatusOr<std::unique_ptr<LocalTrainer>> trainer);

}  // namespace interlude
