// The whole run as the coordinator sees it: waiting for workers, the first base, rounds one after
// the other, the last evaluation, the end. Events go in, actions come out; the service around it
// carries them out. Pure: no I/O, no threads, no clock. Owned by the coordinator's round thread.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/hash128.h"
#include "base/status.h"
#include "protocol/actions.h"
#include "protocol/deadlines.h"
#include "protocol/membership.h"
#include "protocol/round_exchange.h"
#include "protocol/types.h"

namespace interlude {

/// A round as it was when the coordinator was killed: the one after the committed ones.
struct RestoredRound {
  struct Member {
    WorkerId worker = 0;
    uint64_t samples = 0;           // 0: it had not begun to upload
    std::vector<uint32_t> arrived;  // chunks of its delta that are in
  };
  std::vector<Member> members;     // at least one
  std::vector<MergeOrder> orders;  // all of which are carried out
};
/// What is left of a run whose coordinator was killed.
struct RestoredRun {
  uint32_t num_chunks = 0;
  uint32_t committed_rounds = 0;
  Hash128 committed_root;
  std::optional<RestoredRound> open;
};

/// The next round starts at the commit of the one before, so a worker trains on as soon as it has
/// applied; with a barrier it starts only when the round before has ended. So up to two rounds are
/// open: the one whose reports are awaited and the one that is trained. No chunk of round r + 1 is
/// merged before round r has ended, so the base stays what it is until every member has applied,
/// repaired and reported it; an upload that overtakes its worker's report is taken and waits.
class RunMachine {
 public:
  enum class Stage : uint8_t { kGathering, kAwaitingBase, kRounds, kFinishing, kEnded };

  /// At least one worker and one round.
  explicit RunMachine(const RunPlan& plan);

  // Events. A returned error refuses what a worker sent and changes nothing; the caller ends that
  // worker's session with it (and then calls WorkerLeft). Unknown workers get FailedPrecondition,
  // after the end all get Unavailable. A round that is not open: FailedPrecondition, naming those
  // that are; Aborted, with which no session ends, when it is over or goes on without the worker.

  /// Errors as Membership::Join; Unavailable once the last round is committed.
  StatusOr<WorkerId> Join(std::optional<WorkerId> requested, Nanoseconds now);
  /// The worker's layout is the run's; `num_chunks` is that layout's number of chunks, the same
  /// from all (else InvalidArgument). While rounds run it is asked to catch up beside them. The
  /// first base is asked only of one that `may_provide_base`; the run ends where all are there and
  /// none may.
  Status WorkerReady(WorkerId worker, uint32_t num_chunks, Nanoseconds now,
                     bool may_provide_base = true);
  /// The first base is complete and stored. FailedPrecondition from any but the worker that was
  /// asked.
  Status BaseReceived(WorkerId worker, Nanoseconds now);
  /// The worker's base is that after `round` rounds. One that is at most one round behind becomes a
  /// member when the next round starts, one further behind is asked again. From a worker that is
  /// no longer behind it changes nothing. FailedPrecondition from one that was not asked;
  /// InvalidArgument for a round that is not committed.
  Status CaughtUp(WorkerId worker, uint32_t round, Nanoseconds now);
  Status UploadBegun(WorkerId worker, uint32_t round, uint64_t samples, Nanoseconds now);
  /// True for a new chunk, false for a duplicate.
  StatusOr<bool> ChunkReceived(WorkerId worker, uint32_t round, uint32_t chunk, Nanoseconds now);
  /// What MergeChunk ordered is done. Ignored after the end.
  void ChunkMerged(uint32_t round, uint32_t chunk, Nanoseconds now);
  /// What CommitRound ordered is done. Ignored after the end.
  void RoundCommitted(uint32_t round, const Hash128& root, Nanoseconds now);
  /// DataLoss for a wrong root: what this worker uploaded for the next round came from a wrong base
  /// and is discarded.
  Status RoundReported(WorkerId worker, uint32_t round, const Hash128& root, Nanoseconds now);
  /// The worker's part of the evaluation after `after_rounds` rounds. AlreadyExists for a second
  /// one.
  Status EvaluationReported(WorkerId worker, uint32_t after_rounds, Nanoseconds now);
  /// The worker is gone, whoever noticed it and why; its id is free again. When the last member is
  /// gone the run waits for workers that have caught up; what nobody delivered of the open round is
  /// then closed as it is.
  void WorkerLeft(WorkerId worker, Nanoseconds now);
  /// Its connection broke without a word. A member is awaited for a while: it is away. Any other
  /// has left.
  void WorkerLost(WorkerId worker, Nanoseconds now);
  /// It is back, and is what it was. FailedPrecondition when it is not away: it has to join anew.
  Status WorkerReturned(WorkerId worker, Nanoseconds now);
  /// Whom a worker that joins with this request replaces: an away one whose id it asks for or,
  /// where all ids are taken, any. The caller ends that one's stay first.
  std::optional<WorkerId> ReplacedBy(std::optional<WorkerId> requested) const;
  /// Time has passed: those who are late are closed out.
  void Tick(Nanoseconds now);
  /// When Tick has something to decide if nothing else happens before.
  std::optional<Nanoseconds> NextDeadline() const;

  /// Instead of all that came before: the run goes on after a crash of the coordinator. The open
  /// round's members are away, awaited for `patience`; the rounds before have ended. Without an
  /// open round the next one starts when all workers have caught up or, once `patience` is over,
  /// the first has. Once, before any event.
  void Restore(const RestoredRun& run, Nanoseconds now, Nanoseconds patience);
  /// A person or a full disk ends the run.
  void Stop(Status reason, Nanoseconds now);

  /// What is to be done now, in order; the caller carries all out. Empty when there is nothing to
  /// do.
  std::vector<Action> TakeActions();

  Stage stage() const { return stage_; }
  const Membership& membership() const { return membership_; }
  /// An open round's exchange, or that of one whose EndRound the last TakeActions returned; else
  /// null.
  const RoundExchange* open_round(uint32_t round) const;
  bool is_away(WorkerId worker) const { return away_.contains(worker); }
  /// Rounds committed so far.
  uint32_t committed_rounds() const { return committed_rounds_; }

 private:
  struct Round {
    RoundExchange exchange;
    bool evaluate = false;
    std::set<WorkerId> evaluated;
    bool restored = false;  // when its deltas came is not known
  };
  using Rounds = std::deque<std::unique_ptr<Round>>;

  /// Someone whom others wait for, and until when.
  struct Pending {
    Round* round = nullptr;
    RoundExchange::Awaited awaited;
    Nanoseconds deadline{0};
    UsualTime usual;
  };

  // run_machine.cc: who is there.
  Status CheckPresent(WorkerId worker) const;
  void Advance(Nanoseconds now);
  void Gather(Nanoseconds now);
  void AskForFirstBase(const std::vector<WorkerId>& ready);
  void EndRunWith(Status status);
  /// Nothing waits for it any more, and nothing of what it says counts.
  void Forget(WorkerId worker, Nanoseconds now);
  void RestoreRound(const RestoredRound& open, Nanoseconds now, Nanoseconds patience);
  static void RestoreDelta(RoundExchange& exchange, const RestoredRound::Member& member,
                           Nanoseconds now);

  // run_machine_lateness.cc: who is late.
  std::vector<Pending> PendingOnes() const;
  void AddThoseAway(Round& round, std::vector<Pending>& pending) const;
  std::optional<Pending> PendingOf(Round& round, const RoundExchange::Awaited& awaited) const;
  std::optional<Pending> FirstLate(Nanoseconds now) const;
  void CloseOut(const Pending& pending, Nanoseconds now);
  std::string ReasonOf(const Pending& pending, Nanoseconds now) const;
  Nanoseconds Patience(Nanoseconds usual) const;
  /// When those whose part of the last evaluation is missing are late.
  std::optional<Nanoseconds> EvaluationDeadline() const;
  void LearnTimes(const RoundExchange& exchange);
  /// With a reason: said once until there is a worker again.
  void AwaitSomebody(std::string reason);
  /// Catches up, or waits for a round to begin.
  bool SomebodyElseWaits() const;
  bool AllMembersAreAway() const;
  bool SomebodyIsHereBesides() const;
  /// Nothing is done for anybody's sake.
  bool NobodyIsHere() const { return AllMembersAreAway() && !SomebodyElseWaits(); }
  bool DropThoseAwayTooLong(Nanoseconds now);
  /// It has left, which the machine says first.
  void Drop(WorkerId worker, Nanoseconds now, std::string reason);

  // run_machine_rounds.cc: rounds, and the last evaluation.
  StatusOr<Round*> FindOpen(WorkerId worker, uint32_t round) const;
  std::string OpenRoundsText() const;
  void AdvanceRounds(Nanoseconds now);
  void EndFinishedRounds();
  void PumpRound(RoundExchange& exchange);
  bool MayStartNext() const;
  /// The run was restored, and workers may still come that were there before.
  bool HoldsStart(Nanoseconds now);
  bool EvaluatesNow() const;
  void StartNextRound(Nanoseconds now);
  Status FinalEvaluationReported(WorkerId worker, Nanoseconds now);
  void StartFinishing(Nanoseconds now);
  void EndWhenEvaluated(Nanoseconds now);

  const RunPlan plan_;
  Stage stage_ = Stage::kGathering;
  Membership membership_;
  uint32_t num_chunks_ = 0;            // 0 until the first worker is ready
  std::set<WorkerId> without_base_;    // may not provide the first base
  std::optional<WorkerId> base_from_;  // who was asked for the base
  bool base_received_ = false;
  Rounds open_;        // oldest first
  Rounds ended_;       // their EndRound stands in actions_
  Rounds handed_out_;  // their EndRound was returned by the last TakeActions
  Nanoseconds last_end_{0};
  uint32_t started_rounds_ = 0;  // also the number of the newest one
  uint32_t committed_rounds_ = 0;
  Hash128 committed_root_;  // after committed_rounds_ rounds
  Deadlines deadlines_;
  std::map<WorkerId, uint32_t> late_in_a_row_;
  std::map<WorkerId, Nanoseconds> away_;   // until when each is awaited
  std::optional<Nanoseconds> hold_start_;  // restored: until then all workers are waited for
  bool said_nobody_ = false;
  std::set<WorkerId> final_evaluation_;  // kFinishing: reports awaited
  uint32_t final_evaluations_ = 0;       // reports that came
  Nanoseconds finish_began_{0};
  Nanoseconds first_part_took_{0};
  Status end_status_;
  std::vector<Action> actions_;
};

/// "gathering", "awaiting the base", ... for messages.
std::string_view StageName(RunMachine::Stage stage);

}  // namespace interlude
