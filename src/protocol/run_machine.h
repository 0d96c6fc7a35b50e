// The whole run as the coordinator sees it: waiting for workers, the first base, rounds one after the
// other, the last evaluation, the end. Events go in, actions come out; the service around it carries them
// out. Pure: no I/O, no threads, no clock. Owned by the coordinator's round thread.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <set>
#include <variant>
#include <vector>

#include "base/hash128.h"
#include "base/status.h"
#include "protocol/membership.h"
#include "protocol/round_exchange.h"
#include "protocol/types.h"

namespace interlude {

/// This worker's parameters become the first base: it is to upload them whole.
struct AskForBase {
  WorkerId worker = 0;
};
/// Members begin the round. Those in `joining` begin with it: their base may differ and is to be repaired.
struct StartRound {
  uint32_t round = 0;
  bool evaluate = false;  // score the base (after `round` rounds) before training
  std::vector<WorkerId> members;
  std::vector<WorkerId> joining;
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
/// Every member reported: the round's record can be written.
struct EndRound {
  uint32_t round = 0;
};
/// The members score the final base and report.
struct Finish {
  std::vector<WorkerId> members;
};
/// End this worker's session with the reason.
struct DropWorker {
  WorkerId worker = 0;
  Status reason;
};
/// Nothing more will happen. OK, or why the run could not be finished.
struct EndRun {
  Status status;
};
using Action = std::variant<AskForBase, StartRound, MergeChunk, SendSyncChunk, CommitRound, EndRound,
                            Finish, DropWorker, EndRun>;

/// The next round starts at the commit of the one before, so a worker trains on as soon as it has applied;
/// with a barrier it starts only when the round before has ended. So up to two rounds are open: the one whose
/// reports are awaited and the one that is trained. A base is changed by round r + 1 only after every member of
/// r + 1 has reported r, because merging a chunk needs that chunk of every member that is there.
class RunMachine {
 public:
  enum class Stage : uint8_t { kGathering, kAwaitingBase, kRounds, kFinishing, kEnded };

  RunMachine(const RunPlan& plan);

  // Events. A returned error refuses what a worker sent; the caller ends that worker's session with it
  // (and then calls WorkerLeft). Unknown workers get FailedPrecondition, after the end all get Unavailable.

  StatusOr<WorkerId> Join(std::optional<WorkerId> requested, Nanoseconds now);
  /// The worker's layout is the run's; `num_chunks` is that layout's number of chunks.
  Status WorkerReady(WorkerId worker, uint32_t num_chunks, Nanoseconds now);
  /// The first base is complete and stored.
  Status BaseReceived(WorkerId worker, Nanoseconds now);
  Status UploadBegun(WorkerId worker, uint32_t round, uint64_t samples, Nanoseconds now);
  /// True for a new chunk, false for a duplicate.
  StatusOr<bool> ChunkReceived(WorkerId worker, uint32_t round, uint32_t chunk, Nanoseconds now);
  void ChunkMerged(uint32_t round, uint32_t chunk, Nanoseconds now);
  void RoundCommitted(uint32_t round, const Hash128& root, Nanoseconds now);
  Status RoundReported(WorkerId worker, uint32_t round, const Hash128& root, Nanoseconds now);
  /// The worker's part of the evaluation after `after_rounds` rounds.
  Status EvaluationReported(WorkerId worker, uint32_t after_rounds, Nanoseconds now);
  /// The worker is gone, whoever noticed it and why. In kGathering its place is free again. When the last
  /// member is gone before the run is finished, the run ends with Unavailable.
  void WorkerLeft(WorkerId worker, Nanoseconds now);
  /// A person or a full disk ends the run.
  void Stop(Status reason, Nanoseconds now);

  /// What is to be done now, in order; the caller carries all out. Empty when there is nothing to do.
  std::vector<Action> TakeActions();

  Stage stage() const { return stage_; }
  const Membership& membership() const { return membership_; }
  /// An open round's exchange, or null.
  const RoundExchange* open_round(uint32_t round) const;
  /// Rounds committed so far.
  uint32_t committed_rounds() const { return committed_rounds_; }

 private:
  void StartNextRound(Nanoseconds now);
  void PumpRound(RoundExchange& exchange);
  void EndFinishedRounds(Nanoseconds now);
  void EndRunWith(Status status);
  RoundExchange* FindRound(uint32_t round);

  const RunPlan plan_;
  Stage stage_ = Stage::kGathering;
  Membership membership_;
  uint32_t num_chunks_ = 0;
  std::optional<WorkerId> base_from_;  // kAwaitingBase: who was asked
  std::deque<std::unique_ptr<RoundExchange>> open_;
  uint32_t next_round_ = 0;
  uint32_t committed_rounds_ = 0;
  std::set<WorkerId> final_evaluation_;  // kFinishing: reports awaited
  std::vector<Action> actions_;
};

}  // namespace interlude
