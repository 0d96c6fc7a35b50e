// Joining, the first base, leaving, the end. Rounds are in run_machine_rounds.cc.
#include "protocol/run_machine.h"

#include <algorithm>
#include <utility>

namespace interlude {

std::string_view StageName(RunMachine::Stage stage) {
  switch (stage) {
    case RunMachine::Stage::kGathering:
      return "gathering workers";
    case RunMachine::Stage::kAwaitingBase:
      return "awaiting the first base";
    case RunMachine::Stage::kRounds:
      return "in its rounds";
    case RunMachine::Stage::kFinishing:
      return "finishing";
    case RunMachine::Stage::kEnded:
      return "ended";
  }
  return "unknown";
}

RunMachine::RunMachine(const RunPlan& plan) : plan_(plan), membership_(plan.workers) {
  INTERLUDE_CHECK(plan.workers > 0, "a run without workers");
  INTERLUDE_CHECK(plan.rounds > 0, "a run without rounds");
}

Status RunMachine::CheckPresent(WorkerId worker) const {
  if (stage_ == Stage::kEnded) {
    return UnavailableError("the run has ended ({})", end_status_.ToString());
  }
  if (!membership_.stage(worker)) {
    return FailedPreconditionError("worker {} is not in this run; it has to join first", worker);
  }
  return OkStatus();
}

StatusOr<WorkerId> RunMachine::Join(std::optional<WorkerId> requested, Nanoseconds now) {
  if (stage_ == Stage::kFinishing || stage_ == Stage::kEnded) {
    return UnavailableError(
        "the run is finishing: {} of {} round(s) are committed; nobody can join it any more",
        committed_rounds_, plan_.rounds);
  }
  INTERLUDE_ASSIGN_OR_RETURN(const WorkerId worker, membership_.Join(requested));
  Advance(now);
  return worker;
}

Status RunMachine::WorkerReady(WorkerId worker, uint32_t num_chunks, Nanoseconds now,
                               bool may_provide_base) {
  INTERLUDE_RETURN_IF_ERROR(CheckPresent(worker));
  if (stage_ == Stage::kFinishing) {
    return UnavailableError("worker {} is ready too late: the run is finishing", worker);
  }
  if (num_chunks == 0) return InvalidArgumentError("worker {} has a layout without chunks", worker);
  if (num_chunks_ != 0 && num_chunks != num_chunks_) {
    return InvalidArgumentError(
        "worker {} has a layout of {} chunk(s), the run's has {}: it runs another model", worker,
        num_chunks, num_chunks_);
  }
  INTERLUDE_RETURN_IF_ERROR(membership_.Ready(worker));
  num_chunks_ = num_chunks;
  if (!may_provide_base) without_base_.insert(worker);
  if (stage_ == Stage::kRounds) actions_.emplace_back(CatchUp{.worker = worker});
  Advance(now);
  return OkStatus();
}

Status RunMachine::CaughtUp(WorkerId worker, uint32_t round, Nanoseconds now) {
  INTERLUDE_RETURN_IF_ERROR(CheckPresent(worker));
  if (stage_ == Stage::kGathering || stage_ == Stage::kAwaitingBase) {
    return FailedPreconditionError("worker {} says that it has caught up; the run is {}", worker,
                                   StageName(stage_));
  }
  if (round > committed_rounds_) {
    return InvalidArgumentError(
        "worker {} says that it has caught up with round {}; committed are {}", worker, round,
        committed_rounds_);
  }
  const std::optional<WorkerStage> stage = membership_.stage(worker);
  if (stage == WorkerStage::kCaughtUp || stage == WorkerStage::kMember) return OkStatus();
  if (stage_ == Stage::kFinishing) {
    return UnavailableError("worker {} has caught up too late: the run is finishing", worker);
  }
  // A round's start adds one round to what it is behind by, and two are always retained.
  if (stage == WorkerStage::kReady && round + 1 < committed_rounds_) {
    actions_.emplace_back(CatchUp{.worker = worker});
    return OkStatus();
  }
  INTERLUDE_RETURN_IF_ERROR(membership_.CaughtUp(worker));
  Advance(now);
  return OkStatus();
}

Status RunMachine::BaseReceived(WorkerId worker, Nanoseconds now) {
  INTERLUDE_RETURN_IF_ERROR(CheckPresent(worker));
  if (base_from_ != worker || base_received_) {
    return FailedPreconditionError(
        "worker {} sent a first base and was not asked for one; the run is {}", worker,
        StageName(stage_));
  }
  base_received_ = true;
  if (stage_ == Stage::kAwaitingBase) stage_ = Stage::kGathering;
  Advance(now);
  return OkStatus();
}

void RunMachine::WorkerLeft(WorkerId worker, Nanoseconds now) {
  if (!membership_.Leave(worker) || stage_ == Stage::kEnded) return;
  Forget(worker, now);
  if (base_from_ == worker && !base_received_) base_from_.reset();
  if (stage_ == Stage::kAwaitingBase) stage_ = Stage::kGathering;
  Advance(now);
}

void RunMachine::Forget(WorkerId worker, Nanoseconds now) {
  away_.erase(worker);
  without_base_.erase(worker);
  for (const auto& round : open_) round->exchange.MemberLeft(worker, now);
  final_evaluation_.erase(worker);
}

void RunMachine::WorkerLost(WorkerId worker, Nanoseconds now) {
  if (membership_.stage(worker) != WorkerStage::kMember || stage_ == Stage::kEnded) {
    WorkerLeft(worker, now);
    return;
  }
  away_.try_emplace(worker, now + plan_.away_patience);
  if (stage_ == Stage::kFinishing) Advance(now);
}

Status RunMachine::WorkerReturned(WorkerId worker, Nanoseconds now) {
  INTERLUDE_RETURN_IF_ERROR(CheckPresent(worker));
  if (!is_away(worker)) {
    return FailedPreconditionError("worker {} is not away; it has to join anew", worker);
  }
  if (NobodyIsHere()) {
    // What kept them all away may have ended for the others too, a moment later.
    for (auto& [other, until] : away_) until = std::max(until, now + plan_.away_patience);
  }
  away_.erase(worker);
  said_nobody_ = false;
  Advance(now);
  return OkStatus();
}

std::optional<WorkerId> RunMachine::ReplacedBy(std::optional<WorkerId> requested) const {
  if (stage_ == Stage::kFinishing || stage_ == Stage::kEnded) return std::nullopt;
  if (requested) return is_away(*requested) ? requested : std::nullopt;
  if (membership_.present() < membership_.most() || away_.empty()) return std::nullopt;
  return away_.begin()->first;
}

void RunMachine::Restore(const RestoredRun& run, Nanoseconds now, Nanoseconds patience) {
  INTERLUDE_CHECK(stage_ == Stage::kGathering && num_chunks_ == 0, "restored after it began");
  stage_ = Stage::kRounds;
  num_chunks_ = run.num_chunks;
  base_received_ = true;
  committed_rounds_ = started_rounds_ = run.committed_rounds;
  committed_root_ = run.committed_root;
  last_end_ = now;
  if (!run.open) {
    hold_start_ = now + patience;
    return;
  }
  RestoreRound(*run.open, now, patience);
  Advance(now);
}

void RunMachine::RestoreDelta(RoundExchange& exchange, const RestoredRound::Member& member,
                              Nanoseconds now) {
  Status status = exchange.UploadBegun(member.worker, member.samples);
  for (const uint32_t chunk : member.arrived) {
    if (status.ok()) status = exchange.ChunkReceived(member.worker, chunk, now).status();
  }
  INTERLUDE_CHECK(status.ok(), "restoring: {}", status.ToString());
}

/// Whoever a merge went without had left or was late: it is to join anew.
void RunMachine::RestoreRound(const RestoredRound& open, Nanoseconds now, Nanoseconds patience) {
  std::vector<WorkerId> members;
  for (const RestoredRound::Member& member : open.members) members.push_back(member.worker);
  const bool evaluate = EvaluatesNow();
  open_.push_back(std::make_unique<Round>(
      Round{.exchange = RoundExchange(++started_rounds_, num_chunks_, plan_.barrier, members, now),
            .evaluate = evaluate,
            .evaluated = {},
            .restored = true}));
  RoundExchange& exchange = open_.back()->exchange;
  for (const RestoredRound::Member& member : open.members) {
    if (member.samples > 0) RestoreDelta(exchange, member, now);
    const bool merged_without = std::ranges::any_of(open.orders, [&](const MergeOrder& order) {
      return std::ranges::find(order.contributors, member.worker, &Contributor::worker) ==
             order.contributors.end();
    });
    membership_.RestoreMember(member.worker);
    away_[member.worker] = now + patience;
    if (merged_without) {
      Drop(member.worker, now,
           fmt::format("round {} went on without worker {}", exchange.round(), member.worker));
    }
  }
  for (const MergeOrder& order : open.orders) exchange.RestoreMerged(order, now);
  if (exchange.committed()) actions_.emplace_back(CommitRound{.round = exchange.round()});
}

void RunMachine::Stop(Status reason, Nanoseconds /*now*/) { EndRunWith(std::move(reason)); }

/// Draws the consequences of whatever just happened.
void RunMachine::Advance(Nanoseconds now) {
  if (stage_ == Stage::kGathering) Gather(now);
  if (stage_ == Stage::kRounds || stage_ == Stage::kFinishing) AdvanceRounds(now);
}

/// No more workers than the plan's can be there, so any that leaves brings the run back to
/// gathering: a base that came, or that is still being uploaded, stays good meanwhile.
void RunMachine::Gather(Nanoseconds now) {
  const std::vector<WorkerId> ready = membership_.at(WorkerStage::kReady);
  if (ready.size() < plan_.workers) return;
  if (base_received_) {
    stage_ = Stage::kRounds;
    // Round 1 needs all of them, so they catch up within it.
    for (const WorkerId worker : ready) {
      actions_.emplace_back(CatchUp{.worker = worker});
      const Status caught_up = membership_.CaughtUp(worker);
      INTERLUDE_CHECK(caught_up.ok(), "{}", caught_up.ToString());
    }
    StartNextRound(now);
    return;
  }
  stage_ = Stage::kAwaitingBase;
  if (!base_from_) AskForFirstBase(ready);
}

void RunMachine::AskForFirstBase(const std::vector<WorkerId>& ready) {
  for (const WorkerId worker : ready) {
    if (without_base_.contains(worker)) continue;
    base_from_ = worker;
    actions_.emplace_back(AskForBase{.worker = worker});
    return;
  }
  EndRunWith(FailedPreconditionError(
      "none of the {} worker(s) has the pretrained model that the first base is to be made of: "
      "model.pretrained must be there on the machine of at least one of them",
      ready.size()));
}

void RunMachine::EndRunWith(Status status) {
  if (stage_ == Stage::kEnded) return;
  stage_ = Stage::kEnded;
  end_status_ = status;
  actions_.emplace_back(EndRun{.status = std::move(status)});
}

std::vector<Action> RunMachine::TakeActions() {
  handed_out_ = std::exchange(ended_, {});
  return std::exchange(actions_, {});
}

}  // namespace interlude
