// Which actions may come when, and what must have come when all is quiet.
#include <gtest/gtest.h>

#include <algorithm>

#include "protocol/run_machine_test_model.h"
#include "protocol/run_machine_test_util.h"

namespace interlude {
namespace {

std::set<WorkerId> SetOf(const std::vector<WorkerId>& workers) {
  return {workers.begin(), workers.end()};
}

}  // namespace

void RunModel::Act(const Action& action, const RunMachine& machine, Nanoseconds now) {
  now_ = now;
  EXPECT_FALSE(end_) << "after the end: " << ActionText(action);
  if (const auto* end = std::get_if<EndRound>(&action)) {
    const RoundExchange* exchange = machine.open_round(end->round);
    ASSERT_NE(exchange, nullptr)
        << "the record of a round must be there when its end is carried out";
    CheckTimes(end->round, *exchange);
  }
  std::visit([this](const auto& a) { On(a); }, action);
}

void RunModel::On(const AskForBase& action) {
  EXPECT_FALSE(asked_) << "a base was asked from two";
  EXPECT_FALSE(base_received_);
  EXPECT_EQ(ready_.size(), plan_.workers);
  EXPECT_EQ(action.worker, *ready_.begin());
  asked_ = action.worker;
}

void RunModel::On(const CatchUp& action) {
  EXPECT_TRUE(ready_.contains(action.worker));
  if (!rounds_.empty() || hold_until_) {
    EXPECT_EQ(to_be_asked_.erase(action.worker), 1u) << "asked twice to catch up";
    return;
  }
  // What the first base is has just become known: all catch up within round 1.
  EXPECT_TRUE(base_received_);
  ready_.erase(action.worker);
  caught_up_.insert(action.worker);
}

void RunModel::On(const StartRound& action) {
  EXPECT_TRUE(base_received_);
  EXPECT_EQ(action.round, rounds_.size() + 1) << "rounds start in order, each once";
  EXPECT_LE(action.round, plan_.rounds);
  EXPECT_TRUE(MayStartNext()) << "round " << action.round << " started too early";
  const uint32_t after = action.round - 1;
  EXPECT_EQ(action.evaluate,
            plan_.evaluate_every != 0 && after != 0 && after % plan_.evaluate_every == 0);
  if (action.round == 1 && !hold_until_) {
    EXPECT_EQ(action.members.size(), plan_.workers);
  }
  CheckHold(action.members);
  EXPECT_TRUE(std::is_sorted(action.members.begin(), action.members.end()));
  members_.merge(caught_up_);
  EXPECT_TRUE(caught_up_.empty());
  EXPECT_EQ(SetOf(action.members), members_);
  EXPECT_FALSE(members_.empty());
  Round& r = rounds_[action.round];
  r.members = r.accepted = r.present = members_;
  r.started = now_;
  r.evaluate = action.evaluate;
  said_nobody_ = false;
  for (const auto& [w, until] : away_) {
    EXPECT_TRUE(now_ < until || NobodyIsHere()) << "worker " << w << " was away too long";
  }
  EXPECT_GE(OldestOpen() + 1, action.round) << "more than two rounds are open";
}

/// After a restart without an open round all are waited for, for a while.
void RunModel::CheckHold(const std::vector<WorkerId>& members) {
  if (hold_until_ && now_ < *hold_until_) {
    EXPECT_EQ(members.size(), plan_.workers);
  }
  hold_until_.reset();
}

void RunModel::On(const MergeChunk& action) {
  const MergeOrder& order = action.order;
  Round& r = rounds_.at(order.round);
  EXPECT_EQ(order.round, OldestOpen()) << "the base of an unfinished round would change";
  EXPECT_TRUE(Mergeable(r, order.chunk)) << ActionText(action);
  EXPECT_TRUE(r.ordered.insert(order.chunk).second) << "ordered twice: " << ActionText(action);
  std::vector<Contributor> expected;
  for (const WorkerId w : r.delivered[order.chunk]) expected.push_back({w, r.samples.at(w)});
  EXPECT_EQ(order.contributors, expected);
  if (order.contributors.empty()) {
    EXPECT_TRUE(r.present.empty() && OthersWait());
  }
}

void RunModel::On(const SendSyncChunk& action) {
  Round& r = rounds_.at(action.round);
  EXPECT_TRUE(r.ordered.contains(action.chunk)) << "sent before merged";
  if (plan_.barrier) {
    EXPECT_EQ(r.ordered.size(), chunks_) << "sent before all were merged";
  }
  EXPECT_TRUE(r.sent.insert(action.chunk).second) << "sent twice";
}

void RunModel::On(const CommitRound& action) {
  Round& r = rounds_.at(action.round);
  EXPECT_FALSE(r.committed);
  EXPECT_EQ(r.ordered.size(), chunks_);
  EXPECT_EQ(r.sent.size(), chunks_);
  r.committed = true;
  r.committed_at = now_;
}

void RunModel::On(const EndRound& action) {
  EXPECT_EQ(action.round, OldestOpen()) << "rounds end in order";
  Round& r = rounds_.at(action.round);
  EXPECT_TRUE(r.committed);
  EXPECT_TRUE(AllReported(r));
  EXPECT_FALSE(r.ended);
  r.ended = true;
}

void RunModel::On(const Finish& action) {
  EXPECT_FALSE(finishing_);
  EXPECT_EQ(rounds_.size(), plan_.rounds);
  EXPECT_TRUE(MayStartNext());
  if (members_.size() == away_.size()) members_.merge(caught_up_);
  EXPECT_GT(members_.size(), away_.size()) << "nobody is there to score";
  EXPECT_EQ(SetOf(action.members), members_);
  CheckHold(action.members);
  finishing_ = true;
  finish_began_ = now_;
  finish_awaited_ = members_;
}

void RunModel::On(const DropWorker& action) {
  EXPECT_EQ(action.reason.code(), StatusCode::kUnavailable);
  const auto away = away_.find(action.worker);
  const bool away_too_long = away != away_.end() && now_ >= away->second;
  const bool too_late_to_join = finishing_ && !members_.contains(action.worker);
  const bool too_late_to_score = finish_awaited_.contains(action.worker) &&
                                 !finish_evaluated_.empty() &&
                                 now_ - finish_began_ >= std::chrono::seconds(30);
  EXPECT_TRUE(away_too_long || too_late_to_join || too_late_to_score ||
              to_be_dropped_.contains(action.worker));
}

/// Of those that are awaited with it, how many have done what is awaited.
size_t RunModel::DoneBefore(const Round& round, WorkerId w, uint32_t chunk) const {
  EXPECT_FALSE(round.reported.contains(w));
  if (round.committed) {
    return static_cast<size_t>(std::ranges::count_if(
        round.reported, [&](WorkerId other) { return round.present.contains(other); }));
  }
  // Those that left stand for others only.
  const std::set<WorkerId>& counted =
      OthersWait() || away_.contains(w) ? round.members : round.present;
  return static_cast<size_t>(std::ranges::count_if(counted, [&](WorkerId other) {
    if (plan_.barrier) return Complete(round, other);
    return round.delivered.contains(chunk) && round.delivered.at(chunk).contains(other);
  }));
}

bool RunModel::AllAway(const Round& round) const {
  return std::ranges::all_of(round.present, [&](WorkerId w) { return away_.contains(w); });
}

void RunModel::On(const MemberLate& action) {
  const WorkerId w = action.worker;
  Round& r = rounds_.at(action.round);
  EXPECT_TRUE(!r.ended && r.present.contains(w));
  EXPECT_FALSE(action.reason.empty());
  size_t missing = 0;
  for (uint32_t c = 0; c < chunks_; ++c)
    missing += r.delivered.contains(c) && r.delivered.at(c).contains(w) ? 0 : 1;
  EXPECT_EQ(action.chunks_missing, missing);
  EXPECT_EQ(action.chunk == chunks_, r.committed);
  const size_t done = DoneBefore(r, w, action.chunk);
  if (away_.contains(w)) {
    EXPECT_GE(now_, away_.at(w)) << "worker " << w << " might still come back";
    EXPECT_FALSE(NobodyIsHere()) << "it is closed for nobody's sake";
    EXPECT_TRUE(done > 0 || AllAway(r)) << "nobody waits for worker " << w;
  } else {
    EXPECT_TRUE(members_.size() > away_.size() + 1 || OthersWait());
    EXPECT_GT(plan_.patience, 0.0);
    EXPECT_GT(done, 0u);
    const auto least =
        r.restored && !r.committed ? std::chrono::seconds(600) : std::chrono::seconds(3);
    EXPECT_GE(now_ - (r.committed ? r.committed_at : r.started), least);
  }
  for (auto& [number, open] : rounds_) {
    if (open.ended) continue;
    open.present.erase(w);
    if (number <= action.round) continue;
    open.accepted.erase(w);
    for (auto& [chunk, from] : open.delivered) from.erase(w);
  }
  finish_awaited_.erase(w);
  if (away_.contains(w) || finishing_) {
    to_be_dropped_.insert(w);
    members_.erase(w);
    away_.erase(w);
    return;
  }
  members_.erase(w);
  ready_.insert(w);
  to_be_asked_.insert(w);
}

bool RunModel::WaitsForSomebody() const {
  if (end_ || finishing_ || OthersWait()) return false;
  const uint32_t oldest = OldestOpen();
  if (oldest <= rounds_.size() && Hopeless(rounds_.at(oldest))) return true;
  return (!rounds_.empty() || restored_round_ > 0) && MayStartNext() && members_.empty() &&
         !hold_until_;
}

void RunModel::On(const AwaitWorkers& action) {
  EXPECT_FALSE(action.reason.empty());
  EXPECT_TRUE(WaitsForSomebody());
  said_nobody_ = true;
}

void RunModel::On(const EndRun& action) {
  end_ = action.status;
  if (stopped_) return;
  EXPECT_TRUE(finishing_ && finish_awaited_.empty() && OldestOpen() > plan_.rounds)
      << action.status.ToString();
  EXPECT_FALSE(finish_evaluated_.empty());
  EXPECT_TRUE(action.status.ok());
}

void RunModel::CheckTimes(uint32_t round, const RoundExchange& exchange) {
  const RoundTimes& times = exchange.times();
  if (round > 1 && rounds_.at(round - 1).end > Nanoseconds(0)) {
    EXPECT_EQ(times.begin, rounds_.at(round - 1).end) << "rounds must tile";
  }
  const Round& r = rounds_.at(round);
  const bool any =
      std::ranges::any_of(r.delivered, [](const auto& d) { return !d.second.empty(); });
  if (any) {
    EXPECT_GT(times.first_delta, Nanoseconds{0});
  }
  EXPECT_GT(times.committed, Nanoseconds{0});
  EXPECT_LE(times.first_delta, times.last_delta);
  EXPECT_LE(times.last_delta, times.committed);
  EXPECT_LE(times.first_sync, times.committed);
  EXPECT_LE(times.committed, times.end);
  EXPECT_LE(times.begin, times.end);
  rounds_.at(round).end = times.end;
}

void RunModel::CheckQuiet() const {
  if (end_) return;
  EXPECT_TRUE(to_be_asked_.empty()) << "a worker is ready and not asked to catch up";
  if (rounds_.empty()) {
    if (!hold_until_ && ready_.size() == plan_.workers) {
      EXPECT_TRUE(asked_ && !base_received_) << "all are ready and nothing happens";
    }
    return;
  }
  const uint32_t oldest = OldestOpen();
  if (oldest <= rounds_.size()) {
    const Round& r = rounds_.at(oldest);
    EXPECT_FALSE(Hopeless(r) && OthersWait())
        << "round " << oldest << " is of nobody, and others wait for its end";
    EXPECT_FALSE(r.committed && AllReported(r))
        << "round " << oldest << " is over and was not ended";
    for (uint32_t c = 0; c < chunks_; ++c) {
      EXPECT_TRUE(r.ordered.contains(c) || !Mergeable(r, c))
          << "chunk " << c << " of round " << oldest;
    }
  }
  // Only where no member is left does the next round wait for a worker that catches up.
  const bool last = rounds_.size() == plan_.rounds;
  const bool waits = caught_up_.empty() &&
                     members_.size() == (last ? away_.size() : 0);  // away ones may come back
  if (MayStartNext()) {
    EXPECT_TRUE(finishing_ || waits || hold_until_) << "the next round (or the finish) is overdue";
  }
  EXPECT_EQ(WaitsForSomebody() && !said_nobody_, false) << "the run waits and does not say so";
  EXPECT_TRUE(!finishing_ || MayStartNext());
  if (finishing_) {
    EXPECT_FALSE(finish_awaited_.empty() && oldest > plan_.rounds) << "the end is overdue";
  }
}

void RunModel::CheckOnTime(Nanoseconds now) const {
  if (end_ || NobodyIsHere()) return;
  for (const auto& [w, until] : away_) {
    if (now < until) continue;
    EXPECT_FALSE(finishing_) << "worker " << w << " is away, and the finish waits for it";
    for (const auto& [number, r] : rounds_) {
      if (r.ended || !r.present.contains(w) || r.reported.contains(w)) continue;
      uint32_t chunk = 0;
      while (chunk < chunks_ && r.delivered.contains(chunk) && r.delivered.at(chunk).contains(w))
        ++chunk;
      if (!r.committed && chunk == chunks_) continue;
      EXPECT_TRUE(DoneBefore(r, w, chunk) == 0 && !AllAway(r))
          << "round " << number << " waits for worker " << w << ", which is away too long";
    }
  }
}

}  // namespace interlude
