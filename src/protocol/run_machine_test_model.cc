#include "protocol/run_machine_test_model.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "protocol/run_machine_test_util.h"

namespace interlude {
namespace {

std::set<WorkerId> SetOf(const std::vector<WorkerId>& workers) {
  return {workers.begin(), workers.end()};
}

}  // namespace

const RunModel::Round* RunModel::Open(uint32_t round) const {
  const auto found = rounds_.find(round);
  return end_ || found == rounds_.end() || found->second.ended ? nullptr : &found->second;
}

bool RunModel::MayJoin(std::optional<WorkerId> requested) const {
  if (end_ || finishing_) return false;
  const auto taken = [&](WorkerId w) {
    return joined_.contains(w) || ready_.contains(w) || caught_up_.contains(w) ||
           members_.contains(w);
  };
  if (requested)
    return *requested >= 0 && *requested < static_cast<WorkerId>(plan_.workers) &&
           !taken(*requested);
  return joined_.size() + ready_.size() + caught_up_.size() + members_.size() < plan_.workers;
}

bool RunModel::MayBeReady(WorkerId w) const { return !end_ && !finishing_ && joined_.contains(w); }

bool RunModel::MaySendBase(WorkerId w) const { return !end_ && asked_ == w && !base_received_; }

bool RunModel::MayHaveCaughtUp(WorkerId w, uint32_t round) const {
  if (end_ || rounds_.empty() || round > Committed()) return false;
  return caught_up_.contains(w) || members_.contains(w) || (ready_.contains(w) && !finishing_);
}

bool RunModel::MayBegin(WorkerId w, uint32_t round, uint64_t samples) const {
  const Round* r = Open(round);
  if (!r || !r->present.contains(w) || samples == 0) return false;
  return !r->samples.contains(w) || r->samples.at(w) == samples;
}

bool RunModel::MayDeliver(WorkerId w, uint32_t round, uint32_t chunk) const {
  const Round* r = Open(round);
  return r && r->present.contains(w) && r->samples.contains(w) && chunk < chunks_;
}

bool RunModel::IsNew(WorkerId w, uint32_t round, uint32_t chunk) const {
  const auto& delivered = rounds_.at(round).delivered;
  return !delivered.contains(chunk) || !delivered.at(chunk).contains(w);
}

bool RunModel::MayReport(WorkerId w, uint32_t round, const Hash128& root) const {
  const Round* r = Open(round);
  return r && r->committed && r->present.contains(w) && root == RootOf(round);
}

bool RunModel::MayEvaluate(WorkerId w, uint32_t after) const {
  if (end_) return false;
  if (after == plan_.rounds) return finish_awaited_.contains(w);
  const Round* r = Open(after + 1);
  return r && r->evaluate && r->present.contains(w) && !r->evaluated.contains(w);
}

void RunModel::Ready(WorkerId w) {
  joined_.erase(w);
  ready_.insert(w);
  if (!rounds_.empty()) to_be_asked_.insert(w);
}

void RunModel::CaughtUp(WorkerId w, uint32_t round) {
  if (!ready_.contains(w)) return;
  if (round + 1 < Committed()) {
    to_be_asked_.insert(w);
  } else {
    ready_.erase(w);
    caught_up_.insert(w);
  }
}

void RunModel::WrongRoot(WorkerId w, uint32_t round) {
  for (auto& [number, r] : rounds_) {
    if (number <= round || r.ended) continue;
    r.present.erase(w);
    for (auto& [chunk, from] : r.delivered) from.erase(w);
  }
}

void RunModel::Evaluated(WorkerId w, uint32_t after) {
  if (after == plan_.rounds) {
    finish_awaited_.erase(w);
    finish_evaluated_.insert(w);
  } else {
    rounds_.at(after + 1).evaluated.insert(w);
  }
}

void RunModel::Left(WorkerId w) {
  joined_.erase(w);
  ready_.erase(w);
  to_be_asked_.erase(w);
  caught_up_.erase(w);
  members_.erase(w);
  finish_awaited_.erase(w);
  if (asked_ == w && !base_received_) asked_.reset();
  for (auto& [number, r] : rounds_) r.present.erase(w);
}

bool RunModel::Complete(const Round& round, WorkerId w) const {
  for (uint32_t c = 0; c < chunks_; ++c) {
    if (!round.delivered.contains(c) || !round.delivered.at(c).contains(w)) return false;
  }
  return true;
}

bool RunModel::Hopeless(const Round& round) const {
  if (!round.present.empty() || round.committed) return false;
  for (uint32_t c = 0; c < chunks_; ++c) {
    if (!round.delivered.contains(c) || round.delivered.at(c).empty()) return true;
  }
  return false;
}

bool RunModel::Mergeable(const Round& round, uint32_t chunk) const {
  if (!round.delivered.contains(chunk) || round.delivered.at(chunk).empty()) return false;
  return std::all_of(round.present.begin(), round.present.end(), [&](WorkerId w) {
    return round.delivered.at(chunk).contains(w) && (!plan_.barrier || Complete(round, w));
  });
}

bool RunModel::AllReported(const Round& round) const {
  return std::includes(round.reported.begin(), round.reported.end(), round.present.begin(),
                       round.present.end());
}

uint32_t RunModel::OldestOpen() const {
  for (const auto& [number, r] : rounds_) {
    if (!r.ended) return number;
  }
  return static_cast<uint32_t>(rounds_.size()) + 1;
}

uint32_t RunModel::Committed() const {
  return static_cast<uint32_t>(std::count_if(
      rounds_.begin(), rounds_.end(), [](const auto& entry) { return entry.second.committed; }));
}

/// All rounds started so far are committed, and with a barrier ended.
bool RunModel::MayStartNext() const {
  return std::all_of(rounds_.begin(), rounds_.end(), [&](const auto& entry) {
    return entry.second.committed && (!plan_.barrier || entry.second.ended);
  });
}

void RunModel::Act(const Action& action, const RunMachine& machine) {
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
  if (!rounds_.empty()) {
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
  if (action.round == 1) {
    EXPECT_EQ(action.members.size(), plan_.workers);
  }
  EXPECT_TRUE(std::is_sorted(action.members.begin(), action.members.end()));
  members_.merge(caught_up_);
  EXPECT_TRUE(caught_up_.empty());
  EXPECT_EQ(SetOf(action.members), members_);
  EXPECT_FALSE(members_.empty());
  rounds_[action.round].present = members_;
  rounds_[action.round].evaluate = action.evaluate;
  EXPECT_GE(OldestOpen() + 1, action.round) << "more than two rounds are open";
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
  EXPECT_FALSE(order.contributors.empty());
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
  EXPECT_EQ(SetOf(action.members), members_);
  finishing_ = true;
  finish_awaited_ = members_;
}

void RunModel::On(const DropWorker& action) {
  // No Finish comes where no member outlived the last commit.
  EXPECT_TRUE(finishing_ || (members_.empty() && rounds_.size() == plan_.rounds && MayStartNext()));
  EXPECT_FALSE(members_.contains(action.worker));
  EXPECT_EQ(action.reason.code(), StatusCode::kUnavailable);
}

void RunModel::On(const EndRun& action) {
  end_ = action.status;
  if (stopped_) return;
  const bool done = finishing_ && finish_awaited_.empty() && OldestOpen() > plan_.rounds;
  if (action.status.ok()) {
    EXPECT_TRUE(done && !finish_evaluated_.empty());
    return;
  }
  EXPECT_EQ(action.status.code(), StatusCode::kUnavailable);
  if (!finishing_ && OldestOpen() > rounds_.size() && rounds_.size() < plan_.rounds) {
    EXPECT_TRUE(ready_.empty()) << "one that catches up could go on";
  }
  EXPECT_TRUE(members_.empty() ||
              (OldestOpen() <= rounds_.size() && rounds_.at(OldestOpen()).present.empty()))
      << action.status.ToString();
}

void RunModel::CheckTimes(uint32_t round, const RoundExchange& exchange) {
  const RoundTimes& times = exchange.times();
  if (round > 1) {
    EXPECT_EQ(times.begin, rounds_.at(round - 1).end) << "rounds must tile";
  }
  EXPECT_GT(times.first_delta, Nanoseconds{0});
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
    if (ready_.size() == plan_.workers) {
      EXPECT_TRUE(asked_ && !base_received_) << "all are ready and nothing happens";
    }
    return;
  }
  const uint32_t oldest = OldestOpen();
  if (oldest <= rounds_.size()) {
    const Round& r = rounds_.at(oldest);
    EXPECT_FALSE(Hopeless(r)) << "round " << oldest
                              << " can never be committed and the run goes on";
    EXPECT_FALSE(r.committed && AllReported(r))
        << "round " << oldest << " is over and was not ended";
    for (uint32_t c = 0; c < chunks_; ++c) {
      EXPECT_EQ(r.ordered.contains(c), Mergeable(r, c) || r.committed)
          << "chunk " << c << " of round " << oldest;
    }
  }
  // Only where no member is left does the next round wait for a worker that catches up.
  const bool waits =
      members_.empty() && caught_up_.empty() && !ready_.empty() && rounds_.size() < plan_.rounds;
  EXPECT_EQ(finishing_ || waits, MayStartNext()) << "the next round (or the finish) is overdue";
  if (finishing_) {
    EXPECT_FALSE(finish_awaited_.empty() && oldest > plan_.rounds) << "the end is overdue";
  }
}

}  // namespace interlude
