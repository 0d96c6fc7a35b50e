// What the run machine wants done. The service around it carries each out, in order, on the round
// thread.
#pragma once

#include <cstdint>
#include <string>
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
/// To a member that was late: it leaves the round it is in.
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
/// The members score the final base and report. Said again where nobody was there any more before
/// any part of it came.
struct Finish {
  std::vector<WorkerId> members;
};
/// End this worker's session with the reason, then call WorkerLeft.
struct DropWorker {
  WorkerId worker = 0;
  Status reason;
};
/// The open round goes on without this member, which is late. What it has delivered of chunks that
/// are not ordered yet still counts. CatchUp or DropWorker follows.
struct MemberLate {
  WorkerId worker = 0;
  uint32_t round = 0;
  uint32_t chunk = 0;           // the first that is closed without it
  uint32_t chunks_missing = 0;  // of its delta
  std::string reason;           // for people, with the evidence
};
/// No worker is left that could go on; the run waits for one to come.
struct AwaitWorkers {
  std::string reason;
};
/// Nothing more will happen. OK, or the reason with which it was stopped.
struct EndRun {
  Status status;
};
using Action = std::variant<AskForBase, CatchUp, StartRound, MergeChunk, SendSyncChunk, CommitRound,
                            EndRound, Finish, DropWorker, MemberLate, AwaitWorkers, EndRun>;

}  // namespace interlude
