// Who is late: members that others wait for, beyond what is usual for them.
#include <algorithm>
#include <chrono>
#include <utility>

#include "protocol/run_machine.h"

namespace interlude {
namespace {

/// Nobody is late by less than this: short rounds are not held to their last millisecond.
constexpr Nanoseconds kLeast = std::chrono::seconds(3);
/// Nor by less than this in a round that a killed coordinator has left: how long it had run then,
/// and what is usual in this run, is not known any more.
constexpr Nanoseconds kLeastRestored = std::chrono::minutes(10);
/// Each time that a member is late it is given twice the patience, until it is in time again; more
/// often than so it may hang rather than be slow.
constexpr uint32_t kMostInARow = 4;
/// The last evaluation comes once in a run, so that nothing is learnt about it.
constexpr Nanoseconds kLeastEvaluation = std::chrono::seconds(30);

double Seconds(Nanoseconds time) { return std::chrono::duration<double>(time).count(); }

}  // namespace

/// In a committed round reports are awaited, in the one after it deltas.
std::vector<RunMachine::Pending> RunMachine::PendingOnes() const {
  std::vector<Pending> pending;
  if (stage_ != Stage::kRounds && stage_ != Stage::kFinishing) return pending;
  for (const auto& round : open_) {
    for (const RoundExchange::Awaited& awaited :
         round->exchange.AwaitedByQuorum(plan_.quorum, SomebodyElseWaits())) {
      if (is_away(awaited.worker) || !SomebodyIsHereBesides()) continue;
      if (const auto one = PendingOf(*round, awaited)) pending.push_back(*one);
    }
    AddThoseAway(*round, pending);
  }
  return pending;
}

/// One that is away has as good as left: it needs no quorum, only somebody who waits, be it one
/// that is not in this round.
void RunMachine::AddThoseAway(Round& round, std::vector<Pending>& pending) const {
  if (away_.empty() || NobodyIsHere()) return;
  const bool all_away = std::ranges::all_of(round.exchange.present(),
                                            [this](WorkerId worker) { return is_away(worker); });
  for (const RoundExchange::Awaited& awaited : round.exchange.AwaitedBy(all_away ? 0 : 1)) {
    const auto away = away_.find(awaited.worker);
    if (away == away_.end()) continue;
    pending.push_back({.round = &round, .awaited = awaited, .deadline = away->second, .usual = {}});
  }
}

std::optional<RunMachine::Pending> RunMachine::PendingOf(
    Round& round, const RoundExchange::Awaited& awaited) const {
  Pending pending{.round = &round, .awaited = awaited, .deadline = {}, .usual = {}};
  const RoundExchange& exchange = round.exchange;
  const bool report = awaited.chunk == exchange.num_chunks();
  if (plan_.patience <= 0) return std::nullopt;
  const double part = exchange.num_chunks() == 1
                          ? 1.0
                          : static_cast<double>(awaited.chunk) / (exchange.num_chunks() - 1);
  const std::optional<UsualTime> usual =
      report ? deadlines_.Report(awaited.worker) : deadlines_.Delivery(awaited.worker, part);
  if (usual) pending.usual = *usual;
  const Nanoseconds expected = std::max(pending.usual.time, awaited.others_took);
  const Nanoseconds begin = report ? exchange.times().committed : exchange.started();
  const Nanoseconds least = round.restored && !report ? kLeastRestored : kLeast;
  // One that has become slower for good is late a few times and then awaited.
  const auto late = late_in_a_row_.find(awaited.worker);
  const uint32_t in_a_row = late == late_in_a_row_.end() ? 0 : std::min(late->second, kMostInARow);
  pending.deadline = begin + least + Patience(expected) * (1u << in_a_row);
  return pending;
}

Nanoseconds RunMachine::Patience(Nanoseconds usual) const {
  return Nanoseconds(static_cast<int64_t>(static_cast<double>(usual.count()) * plan_.patience));
}

std::string RunMachine::ReasonOf(const Pending& pending, Nanoseconds now) const {
  const RoundExchange& exchange = pending.round->exchange;
  const RoundExchange::Awaited& awaited = pending.awaited;
  const bool report = awaited.chunk == exchange.num_chunks();
  const std::string what = report ? fmt::format("round {} goes on without the report of worker {}",
                                                exchange.round(), awaited.worker)
                                  : fmt::format("chunk {} of round {} is closed without worker {}",
                                                awaited.chunk, exchange.round(), awaited.worker);
  const std::string others = awaited.done == 0
                                 ? "others wait to go on"
                                 : fmt::format("{} other(s) are done, the last after {:.1f} s",
                                               awaited.done, Seconds(awaited.others_took));
  if (is_away(awaited.worker)) {
    return fmt::format("{}: its connection broke and it has not come back in time; {}", what,
                       others);
  }
  const Nanoseconds begin = report ? exchange.times().committed : exchange.started();
  const std::string usual = pending.usual.rounds == 0
                                ? "its usual time is not known"
                                : fmt::format("its p95 of {} rounds is {:.1f} s",
                                              pending.usual.rounds, Seconds(pending.usual.time));
  return fmt::format("{}: {:.1f} s have passed, {}; {}", what, Seconds(now - begin), usual, others);
}

std::optional<RunMachine::Pending> RunMachine::FirstLate(Nanoseconds now) const {
  for (const Pending& pending : PendingOnes()) {
    if (now >= pending.deadline) return pending;
  }
  return std::nullopt;
}

void RunMachine::Tick(Nanoseconds now) {
  if (stage_ != Stage::kRounds && stage_ != Stage::kFinishing) return;
  bool any = hold_start_ && now >= *hold_start_;
  // One after the other: whoever is closed out no longer counts as one that waits.
  while (const auto late = FirstLate(now)) {
    CloseOut(*late, now);
    any = true;
  }
  if (stage_ == Stage::kFinishing && DropThoseAwayTooLong(now)) any = true;
  if (const auto deadline = EvaluationDeadline(); deadline && now >= *deadline) {
    for (const WorkerId worker : std::set<WorkerId>(final_evaluation_)) {
      Drop(
          worker, now,
          fmt::format("the run ends without worker {}'s part of the last evaluation: {:.1f} s have "
                      "passed, the first part came after {:.1f} s",
                      worker, Seconds(now - finish_began_), Seconds(first_part_took_)));
    }
    any = true;
  }
  if (any) Advance(now);
}

std::optional<Nanoseconds> RunMachine::EvaluationDeadline() const {
  if (stage_ != Stage::kFinishing || plan_.patience <= 0 || final_evaluations_ == 0 ||
      final_evaluation_.empty()) {
    return std::nullopt;
  }
  return finish_began_ + kLeastEvaluation + Patience(first_part_took_);
}

std::optional<Nanoseconds> RunMachine::NextDeadline() const {
  std::optional<Nanoseconds> next;
  const auto consider = [&next](Nanoseconds deadline) {
    next = next ? std::min(*next, deadline) : deadline;
  };
  for (const Pending& pending : PendingOnes()) consider(pending.deadline);
  if (stage_ == Stage::kFinishing) {
    for (const auto& [worker, until] : away_) consider(until);
  }
  if (const auto deadline = EvaluationDeadline()) consider(*deadline);
  if (stage_ == Stage::kRounds && hold_start_ && !membership_.at(WorkerStage::kCaughtUp).empty()) {
    consider(*hold_start_);
  }
  return next;
}

/// Of the round and those after it: what it would still deliver stands on a base that nobody has
/// proven.
void RunMachine::CloseOut(const Pending& pending, Nanoseconds now) {
  const RoundExchange& exchange = pending.round->exchange;
  const WorkerId worker = pending.awaited.worker;
  const std::string reason = ReasonOf(pending, now);
  actions_.emplace_back(
      MemberLate{.worker = worker,
                 .round = exchange.round(),
                 .chunk = std::min(pending.awaited.chunk, exchange.num_chunks()),
                 .chunks_missing = exchange.num_chunks() - exchange.chunks_from(worker),
                 .reason = reason});
  if (!is_away(worker)) ++late_in_a_row_[worker];
  for (const auto& round : open_) {
    if (round->exchange.round() > exchange.round()) {
      round->exchange.Discard(worker, now);
    } else {
      round->exchange.CloseOut(worker, now);
    }
  }
  if (is_away(worker) || stage_ == Stage::kFinishing) return Drop(worker, now, reason);
  membership_.FallBehind(worker);
  actions_.emplace_back(CatchUp{.worker = worker});
}

void RunMachine::Drop(WorkerId worker, Nanoseconds now, std::string reason) {
  membership_.Leave(worker);
  Forget(worker, now);
  actions_.emplace_back(
      DropWorker{.worker = worker, .reason = UnavailableError("{}", std::move(reason))});
}

/// Of members that were there to the end and so in time.
void RunMachine::LearnTimes(const RoundExchange& exchange) {
  for (const WorkerId worker : exchange.present()) {
    const auto delivery = exchange.delivery_of(worker);
    if (!delivery) continue;
    deadlines_.Delivered(worker, delivery->first - exchange.started(),
                         delivery->last - exchange.started());
    late_in_a_row_.erase(worker);
  }
}

/// Before a round starts and at the end: nobody waits for them yet, but soon would.
bool RunMachine::DropThoseAwayTooLong(Nanoseconds now) {
  if (stage_ == Stage::kRounds && NobodyIsHere()) return false;
  std::vector<WorkerId> too_long;
  for (const auto& [worker, until] : away_) {
    if (now >= until) too_long.push_back(worker);
  }
  for (const WorkerId worker : too_long) {
    Drop(worker, now, fmt::format("worker {} lost its connection and has not come back", worker));
  }
  return !too_long.empty();
}

/// Besides a member that is connected.
bool RunMachine::SomebodyIsHereBesides() const {
  return membership_.at(WorkerStage::kMember).size() > away_.size() + 1 || SomebodyElseWaits();
}

bool RunMachine::AllMembersAreAway() const {
  return membership_.at(WorkerStage::kMember).size() == away_.size();
}

bool RunMachine::SomebodyElseWaits() const {
  return !membership_.at(WorkerStage::kReady).empty() ||
         !membership_.at(WorkerStage::kCaughtUp).empty();
}

void RunMachine::AwaitSomebody(std::string reason) {
  if (said_nobody_ || SomebodyElseWaits()) {
    said_nobody_ = !SomebodyElseWaits();
    return;
  }
  said_nobody_ = true;
  actions_.emplace_back(AwaitWorkers{
      .reason = fmt::format("{}; rounds committed: {} of {}; the run waits for a worker", reason,
                            committed_rounds_, plan_.rounds)});
}

}  // namespace interlude
