// What the run machine wants done. The service around it carries each out, in order, on the round
// thread.
#pragma once

#include <cstdint>
#include <variant>
#include <vector>

#include "base/status.h"
#include "protocol/types.h"

namespace interlude {

/// This worker's parameters become the first base: it is to upload them whole.
struct AskForBase {
  WorkerId worker = 0;
};
/// This worker makes its base the run's, from chunks and retained sync deltas, and says CaughtUp.
/// Asked again when it took so long that it is behind by more than a round's start can make good.
struct CatchUp {
  WorkerId worker = 0;
};
/// Members begin the round.
struct StartRound {
  uint32_t round = 0;
  bool evaluate = false;  // score the base, which stands after `round` - 1 rounds, before training
  std::vector<WorkerId> members;
};
/// Merge one chunk, then call ChunkMerged.
struct MergeChunk {
  MergeOrder order;
};
/// This sync chunk may be sent to the members.
struct SendSyncChunk {
  uint32_t round = 0;
  uint32_t chunk = 0;
};
/// All chunks are merged. The service computes the root and calls RoundCommitted.
struct CommitRound {
  uint32_t round = 0;
};
/// The round is committed and every member still there reported: its record can be written.
/// RunMachine::open_round still finds it while this action is carried out.
struct EndRound {
  uint32_t round = 0;
};
/// The members score the final base and report.
struct Finish {
  std::vector<WorkerId> members;
};
/// End this worker's session with the reason, then call WorkerLeft.
struct DropWorker {
  WorkerId worker = 0;
  Status reason;
};
/// Nothing more will happen. OK, or why the run could not be finished.
struct EndRun {
  Status status;
};
using Action = std::variant<AskForBase, CatchUp, StartRound, MergeChunk, SendSyncChunk, CommitRound,
                            EndRound, Finish, DropWorker, EndRun>;

}  // namespace interlude
