// Rounds: uploads, merges, commits, reports, and the evaluation after the last one.
#include <algorithm>
#include <utility>

#include "protocol/run_machine.h"

namespace interlude {

std::string RunMachine::OpenRoundsText() const {
  if (open_.empty()) return "none";
  std::vector<uint32_t> rounds;
  for (const auto& round : open_) rounds.push_back(round->exchange.round());
  return fmt::format("{}", fmt::join(rounds, ", "));
}

StatusOr<RunMachine::Round*> RunMachine::FindOpen(WorkerId worker, uint32_t round) const {
  INTERLUDE_RETURN_IF_ERROR(CheckPresent(worker));
  for (const auto& open : open_) {
    if (open->exchange.round() == round) return open.get();
  }
  if (round >= kFirstRound && round <= committed_rounds_) {
    return AbortedError("worker {} comes too late for round {}: it is over", worker, round);
  }
  return FailedPreconditionError(
      "worker {} speaks of round {}, which is not open (open: {}; the run is {})", worker, round,
      OpenRoundsText(), StageName(stage_));
}

const RoundExchange* RunMachine::open_round(uint32_t round) const {
  for (const Rounds* rounds : {&open_, &ended_, &handed_out_}) {
    for (const auto& candidate : *rounds) {
      if (candidate->exchange.round() == round) return &candidate->exchange;
    }
  }
  return nullptr;
}

Status RunMachine::UploadBegun(WorkerId worker, uint32_t round, uint64_t samples,
                               Nanoseconds /*now*/) {
  INTERLUDE_ASSIGN_OR_RETURN(Round* const open, FindOpen(worker, round));
  return open->exchange.UploadBegun(worker, samples);
}

StatusOr<bool> RunMachine::ChunkReceived(WorkerId worker, uint32_t round, uint32_t chunk,
                                         Nanoseconds now) {
  INTERLUDE_ASSIGN_OR_RETURN(Round* const open, FindOpen(worker, round));
  INTERLUDE_ASSIGN_OR_RETURN(const bool fresh, open->exchange.ChunkReceived(worker, chunk, now));
  if (fresh) Advance(now);
  return fresh;
}

void RunMachine::ChunkMerged(uint32_t round, uint32_t chunk, Nanoseconds now) {
  if (stage_ == Stage::kEnded) return;
  INTERLUDE_CHECK(!open_.empty() && open_.front()->exchange.round() == round,
                  "chunk {} of round {} is merged, open are: {}", chunk, round, OpenRoundsText());
  RoundExchange& exchange = open_.front()->exchange;
  exchange.ChunkMerged(chunk, now);
  if (!plan_.barrier) {
    actions_.emplace_back(SendSyncChunk{.round = round, .chunk = chunk});
  } else if (exchange.committed()) {
    for (uint32_t i = 0; i < num_chunks_; ++i) {
      if (exchange.was_restored(i)) continue;
      actions_.emplace_back(SendSyncChunk{.round = round, .chunk = i});
    }
  }
  if (exchange.committed()) actions_.emplace_back(CommitRound{.round = round});
}

void RunMachine::RoundCommitted(uint32_t round, const Hash128& root, Nanoseconds now) {
  if (stage_ == Stage::kEnded) return;
  INTERLUDE_CHECK(!open_.empty() && open_.front()->exchange.round() == round,
                  "round {} is committed, open are: {}", round, OpenRoundsText());
  open_.front()->exchange.SetCommittedRoot(root);
  committed_root_ = root;
  ++committed_rounds_;
  Advance(now);
}

Status RunMachine::RoundReported(WorkerId worker, uint32_t round, const Hash128& root,
                                 Nanoseconds now) {
  const StatusOr<Round*> open = FindOpen(worker, round);
  const bool awaited = open.ok() && (*open)->exchange.is_present(worker);
  Status status = open.ok() ? (*open)->exchange.Reported(worker, root, now) : open.status();
  if (status.code() == StatusCode::kAborted) {  // it was late, or the coordinator was killed
    if (round != committed_rounds_ || root == committed_root_) return OkStatus();
    status = DataLossError("worker {} ended round {} with another root than the committed one",
                           worker, round);
  }
  if (status.code() == StatusCode::kDataLoss) {
    for (const auto& later : open_) {
      if (later->exchange.round() > round) later->exchange.Discard(worker, now);
    }
  }
  INTERLUDE_RETURN_IF_ERROR(status);
  if (awaited) deadlines_.Reported(worker, now - (*open)->exchange.times().committed);
  Advance(now);
  return OkStatus();
}

void RunMachine::AdvanceRounds(Nanoseconds now) {
  EndFinishedRounds();
  // Only the oldest: a chunk of the next would change the base that members of this one still read.
  if (!open_.empty()) PumpRound(open_.front()->exchange);
  if (stage_ == Stage::kRounds && MayStartNext() && !HoldsStart(now)) {
    if (DropThoseAwayTooLong(now)) EndFinishedRounds();
    if (started_rounds_ < plan_.rounds) {
      StartNextRound(now);
    } else {
      StartFinishing(now);
    }
  }
  if (stage_ == Stage::kFinishing) EndWhenEvaluated(now);
}

void RunMachine::EndFinishedRounds() {
  while (!open_.empty() && open_.front()->exchange.ended()) {
    const RoundExchange& exchange = open_.front()->exchange;
    last_end_ = exchange.times().end;
    if (!open_.front()->restored) LearnTimes(exchange);
    actions_.emplace_back(EndRound{.round = exchange.round()});
    ended_.push_back(std::move(open_.front()));
    open_.pop_front();
    if (!open_.empty()) open_.front()->exchange.SetBegin(last_end_);
  }
}

void RunMachine::PumpRound(RoundExchange& exchange) {
  const bool close_empty = exchange.abandoned() && SomebodyElseWaits();
  while (std::optional<MergeOrder> order = exchange.NextMerge(close_empty)) {
    actions_.emplace_back(MergeChunk{.order = *std::move(order)});
  }
  if (exchange.abandoned()) {
    AwaitSomebody(fmt::format(
        "all workers left in round {} before it could be committed ({} of {} chunk(s) merged)",
        exchange.round(), exchange.merged_chunks(), num_chunks_));
  }
}

bool RunMachine::MayStartNext() const {
  return committed_rounds_ == started_rounds_ && (!plan_.barrier || open_.empty());
}

bool RunMachine::HoldsStart(Nanoseconds now) {
  if (!hold_start_) return false;
  const size_t there = membership_.at(WorkerStage::kCaughtUp).size();
  if (there < plan_.workers && (now < *hold_start_ || there == 0)) return true;
  hold_start_.reset();
  return false;
}

bool RunMachine::EvaluatesNow() const {
  return plan_.evaluate_every != 0 && committed_rounds_ != 0 &&
         committed_rounds_ % plan_.evaluate_every == 0;
}

void RunMachine::StartNextRound(Nanoseconds now) {
  StartRound start{
      .round = started_rounds_ + kFirstRound, .evaluate = EvaluatesNow(), .members = {}};
  membership_.AdmitCaughtUp();
  start.members = membership_.at(WorkerStage::kMember);
  if (start.members.empty()) {
    AwaitSomebody(fmt::format("all workers left after round {}", committed_rounds_));
    return;
  }
  said_nobody_ = false;
  const bool after_an_ended_one = started_rounds_ > 0 && open_.empty();
  open_.push_back(std::make_unique<Round>(
      Round{.exchange = RoundExchange(start.round, num_chunks_, plan_.barrier, start.members, now),
            .evaluate = start.evaluate,
            .evaluated = {}}));
  if (after_an_ended_one) open_.back()->exchange.SetBegin(last_end_);
  ++started_rounds_;
  actions_.emplace_back(std::move(start));
}

Status RunMachine::EvaluationReported(WorkerId worker, uint32_t after_rounds, Nanoseconds now) {
  INTERLUDE_RETURN_IF_ERROR(CheckPresent(worker));
  if (after_rounds == plan_.rounds) return FinalEvaluationReported(worker, now);
  const StatusOr<Round*> open = FindOpen(worker, after_rounds + 1);
  if (open.status().code() == StatusCode::kAborted) return OkStatus();
  INTERLUDE_RETURN_IF_ERROR(open.status());
  Round* const round = *open;
  if (!round->evaluate || !round->exchange.is_member(worker)) {
    return FailedPreconditionError(
        "worker {} reports an evaluation after {} round(s) and was not asked for one", worker,
        after_rounds);
  }
  if (!round->exchange.is_present(worker)) return OkStatus();  // it was late
  if (!round->evaluated.insert(worker).second) {
    return AlreadyExistsError("worker {} reports its evaluation after {} round(s) a second time",
                              worker, after_rounds);
  }
  return OkStatus();
}

Status RunMachine::FinalEvaluationReported(WorkerId worker, Nanoseconds now) {
  if (stage_ != Stage::kFinishing || membership_.stage(worker) != WorkerStage::kMember) {
    return FailedPreconditionError(
        "worker {} reports the last evaluation and was not asked for it; the run is {}", worker,
        StageName(stage_));
  }
  if (final_evaluation_.erase(worker) == 0) {
    return AlreadyExistsError("worker {} reports the last evaluation a second time", worker);
  }
  if (++final_evaluations_ == 1) first_part_took_ = now - finish_began_;
  EndWhenEvaluated(now);
  return OkStatus();
}

void RunMachine::StartFinishing(Nanoseconds now) {
  // Where no member is there those that have caught up score.
  if (AllMembersAreAway()) membership_.AdmitCaughtUp();
  if (AllMembersAreAway()) {
    if (away_.empty())
      AwaitSomebody("all rounds are committed, and no worker is left for the last evaluation");
    return;
  }
  stage_ = Stage::kFinishing;
  finish_began_ = now;
  const std::vector<WorkerId> members = membership_.at(WorkerStage::kMember);
  final_evaluation_ = {members.begin(), members.end()};
  if (!members.empty()) actions_.emplace_back(Finish{.members = members});
  for (const WorkerStage waiting :
       {WorkerStage::kJoined, WorkerStage::kReady, WorkerStage::kCaughtUp}) {
    for (const WorkerId worker : membership_.at(waiting)) {
      actions_.emplace_back(
          DropWorker{.worker = worker,
                     .reason = UnavailableError(
                         "the run is finishing: worker {} joined too late to take part", worker)});
    }
  }
}

/// The model stands after the last commit; one part of the last evaluation is enough to call the
/// run finished, so that a worker lost in its last minute does not fail it. Without any, the run
/// waits for a worker that makes one.
void RunMachine::EndWhenEvaluated(Nanoseconds now) {
  if (final_evaluations_ == 0 && AllMembersAreAway()) {
    stage_ = Stage::kRounds;
    return StartFinishing(now);
  }
  if (final_evaluation_.empty() && open_.empty()) EndRunWith(OkStatus());
}

}  // namespace interlude
