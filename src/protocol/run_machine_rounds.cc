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
    for (uint32_t i = 0; i < num_chunks_; ++i)
      actions_.emplace_back(SendSyncChunk{.round = round, .chunk = i});
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
  const StatusOr<Round*> reported = FindOpen(worker, round);
  if (reported.status().code() == StatusCode::kAborted) {
    // It was closed out, or the round ended with the coordinator's crash.
    if (round < committed_rounds_ || root == committed_root_) return OkStatus();
    return DataLossError("worker {} ended round {} with another root than the committed one",
                         worker, round);
  }
  INTERLUDE_RETURN_IF_ERROR(reported.status());
  const bool awaited = (*reported)->exchange.is_present(worker);
  const Status status = (*reported)->exchange.Reported(worker, root, now);
  if (status.ok() && awaited) {
    deadlines_.Reported(worker, now - (*reported)->exchange.times().committed);
  }
  if (status.code() == StatusCode::kDataLoss) {
    for (const auto& later : open_) {
      if (later->exchange.round() > round) later->exchange.Discard(worker, now);
    }
  }
  INTERLUDE_RETURN_IF_ERROR(status);
  Advance(now);
  return OkStatus();
}

void RunMachine::AdvanceRounds(Nanoseconds now) {
  EndFinishedRounds();
  // Only the oldest: a chunk of the next would change the base that members of this one still read.
  if (!open_.empty()) PumpRound(open_.front()->exchange);
  if (stage_ == Stage::kRounds && MayStartNext()) {
    if (started_rounds_ < plan_.rounds) {
      StartNextRound(now);
    } else {
      StartFinishing();
    }
  }
  if (stage_ == Stage::kFinishing) EndWhenEvaluated();
}

void RunMachine::EndFinishedRounds() {
  while (!open_.empty() && open_.front()->exchange.ended()) {
    const RoundExchange& exchange = open_.front()->exchange;
    last_end_ = exchange.times().end;
    LearnTimes(exchange);
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

void RunMachine::StartNextRound(Nanoseconds now) {
  StartRound start{.round = started_rounds_ + kFirstRound};
  start.evaluate = plan_.evaluate_every != 0 && committed_rounds_ != 0 &&
                   committed_rounds_ % plan_.evaluate_every == 0;
  if (hold_start_) {
    const size_t there = membership_.at(WorkerStage::kCaughtUp).size();
    if (there < plan_.workers && (now < *hold_start_ || there == 0)) return;
    hold_start_.reset();
  }
  DropThoseAwayTooLong(now);
  membership_.AdmitCaughtUp();
  start.members = membership_.at(WorkerStage::kMember);
  if (start.members.empty()) {
    AwaitSomebody(fmt::format("all workers left after round {}", committed_rounds_));
    return;
  }
  said_nobody_ = false;
  const bool after_an_ended_one = started_rounds_ > 0 && open_.empty();
  open_.push_back(std::make_unique<Round>(
      Round{.exchange = RoundExchange(start.round, num_chunks_, plan_.barrier, start.members,
                                      after_an_ended_one ? last_end_ : now),
            .evaluate = start.evaluate,
            .evaluated = {}}));
  ++started_rounds_;
  actions_.emplace_back(std::move(start));
}

Status RunMachine::EvaluationReported(WorkerId worker, uint32_t after_rounds, Nanoseconds /*now*/) {
  INTERLUDE_RETURN_IF_ERROR(CheckPresent(worker));
  if (after_rounds == plan_.rounds) return FinalEvaluationReported(worker);
  INTERLUDE_ASSIGN_OR_RETURN(Round* const round, FindOpen(worker, after_rounds + 1));
  if (!round->evaluate || !round->exchange.is_present(worker)) {
    return FailedPreconditionError(
        "worker {} reports an evaluation after {} round(s) and was not asked for one", worker,
        after_rounds);
  }
  if (!round->evaluated.insert(worker).second) {
    return AlreadyExistsError("worker {} reports its evaluation after {} round(s) a second time",
                              worker, after_rounds);
  }
  return OkStatus();
}

Status RunMachine::FinalEvaluationReported(WorkerId worker) {
  if (stage_ != Stage::kFinishing || membership_.stage(worker) != WorkerStage::kMember) {
    return FailedPreconditionError(
        "worker {} reports the last evaluation and was not asked for it; the run is {}", worker,
        StageName(stage_));
  }
  if (final_evaluation_.erase(worker) == 0) {
    return AlreadyExistsError("worker {} reports the last evaluation a second time", worker);
  }
  ++final_evaluations_;
  EndWhenEvaluated();
  return OkStatus();
}

void RunMachine::StartFinishing() {
  if (hold_start_) membership_.AdmitCaughtUp();  // restored, with nothing left to do but to score
  if (membership_.at(WorkerStage::kMember).empty() && open_.empty()) {
    AwaitSomebody("all rounds are committed, and no worker is left for the last evaluation");
    return;
  }
  stage_ = Stage::kFinishing;
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
/// run finished, so that a worker lost in its last minute does not fail it.
void RunMachine::EndWhenEvaluated() {
  if (!final_evaluation_.empty() || !open_.empty()) return;
  if (final_evaluations_ > 0) {
    EndRunWith(OkStatus());
    return;
  }
  EndRunWith(UnavailableError(
      "all {} round(s) are committed, but all workers left before the last evaluation",
      plan_.rounds));
}

}  // namespace interlude
