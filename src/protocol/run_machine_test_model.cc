#include "protocol/run_machine_test_model.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "protocol/run_machine_test_util.h"

namespace interlude {

const RunModel::Round* RunModel::Open(uint32_t round) const {
  const auto found = rounds_.find(round);
  return end_ || found == rounds_.end() || found->second.ended ? nullptr : &found->second;
}

bool RunModel::MayJoin(std::optional<WorkerId> requested) const {
  if (end_ || finishing_) return false;
  if (requested)
    return *requested >= 0 && *requested < static_cast<WorkerId>(plan_.workers) &&
           !InRun(*requested);
  return joined_.size() + ready_.size() + caught_up_.size() + members_.size() < plan_.workers;
}

bool RunModel::MayBeReady(WorkerId w) const { return !end_ && !finishing_ && joined_.contains(w); }

bool RunModel::MaySendBase(WorkerId w) const { return !end_ && asked_ == w && !base_received_; }

bool RunModel::MayHaveCaughtUp(WorkerId w, uint32_t round) const {
  if (end_ || (rounds_.empty() && !hold_until_) || round > Committed()) return false;
  return caught_up_.contains(w) || members_.contains(w) || (ready_.contains(w) && !finishing_);
}

bool RunModel::InRun(WorkerId w) const {
  return joined_.contains(w) || ready_.contains(w) || caught_up_.contains(w) ||
         members_.contains(w);
}

bool RunModel::MayBegin(WorkerId w, uint32_t round, uint64_t samples) const {
  const Round* r = Open(round);
  if (!r || !InRun(w) || !r->accepted.contains(w) || samples == 0) return false;
  return !r->samples.contains(w) || r->samples.at(w) == samples;
}

bool RunModel::MayDeliver(WorkerId w, uint32_t round, uint32_t chunk) const {
  const Round* r = Open(round);
  return r && InRun(w) && r->accepted.contains(w) && r->samples.contains(w) && chunk < chunks_;
}

bool RunModel::IsNew(WorkerId w, uint32_t round, uint32_t chunk) const {
  const Round& r = rounds_.at(round);
  if (r.ordered.contains(chunk)) return false;
  return !r.delivered.contains(chunk) || !r.delivered.at(chunk).contains(w);
}

bool RunModel::MayReport(WorkerId w, uint32_t round, const Hash128& root) const {
  const auto found = rounds_.find(round);
  if (end_ || !InRun(w) || found == rounds_.end()) return false;
  const Round& r = found->second;
  const bool over = r.ended || (r.members.contains(w) && !r.accepted.contains(w));
  if (over) return round != Committed() || root == RootOf(round);  // too late, and no harm
  return r.committed && r.members.contains(w) && root == RootOf(round);
}

bool RunModel::MayEvaluate(WorkerId w, uint32_t after) const {
  if (end_ || !InRun(w)) return false;
  if (after == plan_.rounds) return finish_awaited_.contains(w);
  const auto found = rounds_.find(after + 1);
  if (found == rounds_.end()) return false;
  const Round& r = found->second;
  if (r.ended) return true;  // too late, and no harm
  return r.evaluate && r.members.contains(w) &&
         (!r.present.contains(w) || !r.evaluated.contains(w));
}

void RunModel::Ready(WorkerId w) {
  joined_.erase(w);
  ready_.insert(w);
  if (!rounds_.empty() || hold_until_) to_be_asked_.insert(w);
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
    r.accepted.erase(w);
    for (auto& [chunk, from] : r.delivered) {
      if (!r.ordered.contains(chunk)) from.erase(w);
    }
  }
}

void RunModel::Evaluated(WorkerId w, uint32_t after) {
  if (after == plan_.rounds) {
    finish_awaited_.erase(w);
    finish_evaluated_.insert(w);
  } else if (rounds_.at(after + 1).present.contains(w)) {
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
  away_.erase(w);
  to_be_dropped_.erase(w);
  if (asked_ == w && !base_received_) asked_.reset();
  for (auto& [number, r] : rounds_) {
    if (r.ended) continue;
    r.present.erase(w);
    r.accepted.erase(w);
  }
  GiveUpFinish();
}

void RunModel::Lost(WorkerId w, Nanoseconds now) {
  if (!members_.contains(w) || end_) return Left(w);
  away_.try_emplace(w, now + plan_.away_patience);
  GiveUpFinish();
}

void RunModel::GiveUpFinish() {
  if (!finish_evaluated_.empty() || members_.size() != away_.size()) return;
  finishing_ = false;
  finish_awaited_.clear();
}

void RunModel::Returned(WorkerId w, Nanoseconds now) {
  if (NobodyIsHere()) {
    for (auto& [other, until] : away_) until = std::max(until, now + plan_.away_patience);
  }
  away_.erase(w);
}

void RunModel::Restored(const RestoredRun& run, Nanoseconds now, Nanoseconds patience) {
  for (auto* workers : {&joined_, &ready_, &caught_up_, &members_, &to_be_asked_, &to_be_dropped_,
                        &finish_awaited_, &finish_evaluated_}) {
    workers->clear();
  }
  away_.clear();
  finishing_ = said_nobody_ = false;
  base_received_ = true;
  hold_until_.reset();
  rounds_.erase(rounds_.upper_bound(run.committed_rounds + (run.open ? 1 : 0)), rounds_.end());
  for (auto& [number, r] : rounds_) {
    r.committed = r.ended = number <= run.committed_rounds;
    r.end = Nanoseconds(0);  // is not known any more
  }
  restored_round_ = static_cast<uint32_t>(rounds_.size());
  if (!run.open) {
    hold_until_ = now + patience;
    return;
  }
  Round& r = rounds_.at(run.committed_rounds + 1);
  Round open{.members = r.members, .started = now, .restored = true, .evaluate = r.evaluate};
  for (const RestoredRound::Member& member : run.open->members) {
    if (member.samples > 0) open.samples[member.worker] = member.samples;
    for (const uint32_t chunk : member.arrived) open.delivered[chunk].insert(member.worker);
    open.accepted.insert(member.worker);
  }
  for (const MergeOrder& order : run.open->orders) {
    open.ordered.insert(order.chunk);
    open.sent.insert(order.chunk);
    std::erase_if(open.accepted, [&](WorkerId w) {
      return std::ranges::find(order.contributors, w, &Contributor::worker) ==
             order.contributors.end();
    });
  }
  members_ = open.present = open.accepted;
  for (const WorkerId w : members_) away_[w] = now + patience;
  for (const WorkerId w : open.members) {
    if (!members_.contains(w)) to_be_dropped_.insert(w);
  }
  r = std::move(open);
}

bool RunModel::Complete(const Round& round, WorkerId w) const {
  for (uint32_t c = 0; c < chunks_; ++c) {
    if (!round.delivered.contains(c) || !round.delivered.at(c).contains(w)) return false;
  }
  return true;
}

size_t RunModel::Delivered(const Round& round, uint32_t chunk) const {
  return round.delivered.contains(chunk) ? round.delivered.at(chunk).size() : 0;
}

/// Nobody is awaited and some chunk was delivered by none.
bool RunModel::Hopeless(const Round& round) const {
  if (!round.present.empty() || round.committed) return false;
  for (uint32_t c = 0; c < chunks_; ++c) {
    if (Delivered(round, c) == 0 && !round.ordered.contains(c)) return true;
  }
  return false;
}

bool RunModel::Mergeable(const Round& round, uint32_t chunk) const {
  if (Hopeless(round)) return OthersWait();
  if (Delivered(round, chunk) == 0) return false;
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

}  // namespace interlude
