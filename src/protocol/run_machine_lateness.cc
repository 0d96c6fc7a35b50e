// Who is late: members that others wait for, beyond what is usual for them.
#include <algorithm>
#include <chrono>
#include <utility>

#include "protocol/run_machine.h"

namespace interlude {
namespace {

/// Nobody is late by less than this: short rounds are not held to their last millisecond.
constexpr Nanoseconds kLeast = std::chrono::seconds(3);

double Seconds(Nanoseconds time) { return std::chrono::duration<double>(time).count(); }

}  // namespace

/// In a committed round reports are awaited, in the one after it deltas.
std::vector<RunMachine::Pending> RunMachine::PendingOnes() const {
  std::vector<Pending> pending;
  if (stage_ != Stage::kRounds && stage_ != Stage::kFinishing) return pending;
  for (const auto& round : open_) {
    for (const RoundExchange::Awaited& awaited : round->exchange.AwaitedByQuorum(plan_.quorum)) {
      if (const auto one = PendingOf(*round, awaited)) pending.push_back(*one);
    }
  }
  return pending;
}

std::optional<RunMachine::Pending> RunMachine::PendingOf(
    Round& round, const RoundExchange::Awaited& awaited) const {
  Pending pending{.round = &round, .awaited = awaited, .deadline = {}, .usual = {}};
  if (const auto away = away_.find(awaited.worker); away != away_.end()) {
    pending.deadline = away->second;
    return pending;
  }
  if (plan_.patience <= 0) return std::nullopt;
  const RoundExchange& exchange = round.exchange;
  const bool report = awaited.chunk == exchange.num_chunks();
  const double part = exchange.num_chunks() == 1
                          ? 1.0
                          : static_cast<double>(awaited.chunk) / (exchange.num_chunks() - 1);
  const std::optional<UsualTime> usual =
      report ? deadlines_.Report(awaited.worker) : deadlines_.Delivery(awaited.worker, part);
  if (usual) pending.usual = *usual;
  const Nanoseconds expected = std::max(pending.usual.time, awaited.others_took);
  const Nanoseconds begin = report ? exchange.times().committed : exchange.started();
  pending.deadline =
      begin + kLeast +
      Nanoseconds(static_cast<int64_t>(static_cast<double>(expected.count()) * plan_.patience));
  return pending;
}

std::string RunMachine::ReasonOf(const Pending& pending, Nanoseconds now) const {
  const RoundExchange& exchange = pending.round->exchange;
  const RoundExchange::Awaited& awaited = pending.awaited;
  const bool report = awaited.chunk == exchange.num_chunks();
  const std::string what = report ? fmt::format("round {} goes on without the report of worker {}",
                                                exchange.round(), awaited.worker)
                                  : fmt::format("chunk {} of round {} is closed without worker {}",
                                                awaited.chunk, exchange.round(), awaited.worker);
  const std::string others =
      fmt::format("{} of {} members are done, the last after {:.1f} s", awaited.done,
                  awaited.members, Seconds(awaited.others_took));
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

void RunMachine::Tick(Nanoseconds now) {
  if (stage_ != Stage::kRounds && stage_ != Stage::kFinishing) return;
  bool any = hold_start_ && now >= *hold_start_;
  for (const Pending& pending : PendingOnes()) {
    if (now < pending.deadline) continue;
    // One that was closed out of the round before is no longer awaited in this one.
    if (!pending.round->exchange.is_present(pending.awaited.worker)) continue;
    CloseOut(pending, now);
    any = true;
  }
  if (stage_ == Stage::kFinishing) DropThoseAwayTooLong(now);
  if (any) Advance(now);
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
  for (const auto& round : open_) {
    if (round->exchange.round() > exchange.round()) {
      round->exchange.Discard(worker, now);
    } else {
      round->exchange.CloseOut(worker, now);
    }
  }
  final_evaluation_.erase(worker);
  if (is_away(worker)) {
    actions_.emplace_back(DropWorker{.worker = worker, .reason = UnavailableError("{}", reason)});
    return;
  }
  membership_.FallBehind(worker);
  if (stage_ == Stage::kRounds) {
    actions_.emplace_back(CatchUp{.worker = worker});
  } else {
    actions_.emplace_back(DropWorker{.worker = worker, .reason = UnavailableError("{}", reason)});
  }
}

void RunMachine::LearnTimes(const RoundExchange& exchange) {
  for (const WorkerId worker : exchange.present()) {
    const auto delivery = exchange.delivery_of(worker);
    if (!delivery) continue;
    deadlines_.Delivered(worker, delivery->first - exchange.started(),
                         delivery->last - exchange.started());
  }
}

/// Before a round starts and at the end: nobody waits for them yet, but soon would.
void RunMachine::DropThoseAwayTooLong(Nanoseconds now) {
  const size_t members =
      membership_.at(WorkerStage::kMember).size() + membership_.at(WorkerStage::kCaughtUp).size();
  if (members == away_.size() && stage_ == Stage::kRounds) return;  // it would be for nobody's sake
  for (const auto& [worker, until] : std::exchange(away_, {})) {
    if (now < until) {
      away_.emplace(worker, until);
      continue;
    }
    membership_.FallBehind(worker);
    final_evaluation_.erase(worker);
    for (const auto& round : open_) round->exchange.MemberLeft(worker, now);
    actions_.emplace_back(DropWorker{
        .worker = worker,
        .reason = UnavailableError("worker {} lost its connection and has not come back", worker)});
  }
}

bool RunMachine::SomebodyElseWaits() const {
  return !membership_.at(WorkerStage::kReady).empty() ||
         !membership_.at(WorkerStage::kCaughtUp).empty();
}

void RunMachine::AwaitSomebody(std::string reason) {
  if (said_nobody_ || SomebodyElseWaits()) return;
  said_nobody_ = true;
  actions_.emplace_back(AwaitWorkers{
      .reason = fmt::format("{}; rounds committed: {} of {}; the run waits for a worker", reason,
                            committed_rounds_, plan_.rounds)});
}

}  // namespace interlude
