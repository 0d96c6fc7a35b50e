#include "protocol/round_exchange.h"

#include <algorithm>
#include <cmath>
#include <string>

namespace interlude {
namespace {

/// Enough of a hash to tell two apart by eye.
std::string ShortHex(const Hash128& hash) { return hash.ToHex().substr(0, 12); }

}  // namespace

RoundExchange::RoundExchange(uint32_t round, uint32_t num_chunks, bool barrier,
                             std::vector<WorkerId> members, Nanoseconds begin)
    : round_(round), barrier_(barrier), chunks_(num_chunks), started_(begin) {
  INTERLUDE_CHECK(num_chunks > 0, "round {} without chunks", round);
  INTERLUDE_CHECK(!members.empty(), "round {} without members", round);
  for (const WorkerId worker : members) members_[worker].arrived.resize(num_chunks);
  INTERLUDE_CHECK(members_.size() == members.size(), "round {} has a member twice", round);
  present_ = delivering_ = unreported_ = static_cast<uint32_t>(members.size());
  for (Chunk& chunk : chunks_) chunk.awaited = present_;
  times_.begin = begin;
}

StatusOr<RoundExchange::Member*> RoundExchange::FindAccepted(WorkerId worker) {
  const auto found = members_.find(worker);
  if (found == members_.end()) {
    return FailedPreconditionError(
        "worker {} is no member of round {}; it takes part from the next round that is started for "
        "it",
        worker, round_);
  }
  if (!found->second.accepted) {
    return AbortedError(
        "worker {} is out of round {}; it takes part again from the next round that is started for "
        "it",
        worker, round_);
  }
  return &found->second;
}

Status RoundExchange::UploadBegun(WorkerId worker, uint64_t samples) {
  INTERLUDE_ASSIGN_OR_RETURN(Member* const member, FindAccepted(worker));
  if (samples == 0) {
    return InvalidArgumentError("worker {} uploads a delta of round {} made from no samples",
                                worker, round_);
  }
  if (member->begun && member->samples != samples) {
    return InvalidArgumentError("worker {} says {} samples for round {}; before it said {}", worker,
                                samples, round_, member->samples);
  }
  member->begun = true;
  member->samples = samples;
  return OkStatus();
}

StatusOr<bool> RoundExchange::ChunkReceived(WorkerId worker, uint32_t chunk, Nanoseconds now) {
  INTERLUDE_ASSIGN_OR_RETURN(Member* const member, FindAccepted(worker));
  if (!member->begun) {
    return FailedPreconditionError(
        "chunk {} of round {} from worker {}, which has not begun to upload", chunk, round_,
        worker);
  }
  if (chunk >= num_chunks()) {
    return OutOfRangeError("chunk {} of round {} from worker {}; the layout has {} chunk(s)", chunk,
                           round_, worker, num_chunks());
  }
  if (member->arrived[chunk] || chunks_[chunk].ordered) return false;
  member->arrived[chunk] = true;
  if (++member->arrived_count == 1) member->delivery.first = now;
  member->delivery.last = now;
  while (member->first_missing < num_chunks() && member->arrived[member->first_missing])
    ++member->first_missing;
  ++chunks_[chunk].delivered;
  chunks_[chunk].last_delivered = now;
  if (!Delivering(*member)) last_whole_ = now;
  if (member->awaited) {
    if (!Delivering(*member)) --delivering_;
    --chunks_[chunk].awaited;
  }
  if (!any_delta_) times_.first_delta = now;
  any_delta_ = true;
  times_.last_delta = now;
  return true;
}

void RoundExchange::MemberLeft(WorkerId worker, Nanoseconds now) {
  const auto found = members_.find(worker);
  if (found == members_.end()) return;
  found->second.accepted = false;
  StopAwaiting(found->second, now);
}

void RoundExchange::CloseOut(WorkerId worker, Nanoseconds now) {
  const auto found = members_.find(worker);
  if (found != members_.end()) StopAwaiting(found->second, now);
}

void RoundExchange::StopAwaiting(Member& member, Nanoseconds now) {
  if (!member.awaited) return;
  member.awaited = false;
  --present_;
  if (Delivering(member)) --delivering_;
  for (uint32_t i = 0; i < num_chunks(); ++i) chunks_[i].awaited -= member.arrived[i] ? 0 : 1;
  last_left_ = now;
  if (member.reported) return;
  --unreported_;
  if (ended()) times_.end = now;
}

void RoundExchange::Discard(WorkerId worker, Nanoseconds now) {
  MemberLeft(worker, now);
  const auto found = members_.find(worker);
  if (found == members_.end()) return;
  Member& member = found->second;
  for (uint32_t i = 0; i < num_chunks(); ++i) {
    if (!member.arrived[i] || chunks_[i].ordered) continue;
    --chunks_[i].delivered;
    --member.arrived_count;
    member.arrived[i] = false;
  }
}

void RoundExchange::ChunkMerged(uint32_t chunk, Nanoseconds now) {
  INTERLUDE_CHECK(chunk < num_chunks() && chunks_[chunk].ordered && !chunks_[chunk].merged,
                  "chunk {} of round {} is merged and was not ordered", chunk, round_);
  chunks_[chunk].merged = true;
  ++merged_;
  if (barrier_ ? committed() : merged_ == 1) times_.first_sync = now;
  if (committed()) times_.committed = now;
}

void RoundExchange::SetCommittedRoot(const Hash128& root) {
  INTERLUDE_CHECK(committed() && !committed_root_,
                  "a root for round {}, which is not just committed", round_);
  committed_root_ = root;
  if (ended()) times_.end = std::max(times_.committed, last_left_);
}

Status RoundExchange::Reported(WorkerId worker, const Hash128& root, Nanoseconds now) {
  INTERLUDE_ASSIGN_OR_RETURN(Member* const member, FindAccepted(worker));
  if (!committed_root_) {
    return FailedPreconditionError(
        "worker {} reports round {}, which is not committed: {} of {} chunk(s) are merged", worker,
        round_, merged_, num_chunks());
  }
  if (root != *committed_root_) {
    return DataLossError(
        "worker {} ended round {} with root {}, the committed root is {}: its parameters differ; "
        "let it join "
        "again to be repaired",
        worker, round_, ShortHex(root), ShortHex(*committed_root_));
  }
  if (member->reported || !member->awaited) return OkStatus();
  member->reported = true;
  last_report_ = now;
  --unreported_;
  if (ended()) times_.end = now;
  return OkStatus();
}

std::optional<MergeOrder> RoundExchange::NextMerge(bool with_nobody) {
  while (first_unordered_ < num_chunks() && chunks_[first_unordered_].ordered) ++first_unordered_;
  if (abandoned() && !with_nobody) return std::nullopt;
  for (uint32_t i = first_unordered_; i < num_chunks(); ++i) {
    const bool of_nobody = present_ == 0 && chunks_[i].delivered == 0 && !chunks_[i].ordered;
    if (!MayMerge(chunks_[i]) && !of_nobody) continue;
    chunks_[i].ordered = true;
    MergeOrder order{.round = round_, .chunk = i, .contributors = {}};
    for (const auto& [worker, member] : members_) {
      if (member.arrived[i]) order.contributors.push_back({worker, member.samples});
    }
    return order;
  }
  return std::nullopt;
}

bool RoundExchange::MayMerge(const Chunk& chunk) const {
  if (chunk.ordered || chunk.delivered == 0) return false;
  return barrier_ ? delivering_ == 0 : chunk.awaited == 0;
}

bool RoundExchange::Delivering(const Member& member) const {
  return member.arrived_count < num_chunks();
}

bool RoundExchange::Sendable(uint32_t chunk) const {
  return chunk < num_chunks() && chunks_[chunk].merged && (!barrier_ || committed());
}

bool RoundExchange::abandoned() const {
  return present_ == 0 && std::any_of(chunks_.begin(), chunks_.end(), [](const Chunk& chunk) {
           return chunk.delivered == 0 && !chunk.ordered;
         });
}

RoundExchange::Awaited RoundExchange::AwaitedDelta(WorkerId worker, const Member& member) const {
  // With a barrier all wait for the whole of it.
  Awaited awaited{.worker = worker,
                  .chunk = barrier_ ? num_chunks() - 1 : member.first_missing,
                  .members = present_};
  const Chunk& chunk = chunks_[awaited.chunk];
  if (barrier_) {
    awaited.done = static_cast<uint32_t>(std::count_if(
        members_.begin(), members_.end(), [&](const auto& m) { return !Delivering(m.second); }));
    awaited.done_and_there = present_ - delivering_;
  } else {
    awaited.done = chunk.delivered;
    awaited.done_and_there = present_ - chunk.awaited;
  }
  if (awaited.done > 0) {
    awaited.others_took = (barrier_ ? last_whole_ : chunk.last_delivered) - started_;
  }
  return awaited;
}

RoundExchange::Awaited RoundExchange::AwaitedReport(WorkerId worker) const {
  Awaited awaited{.worker = worker, .chunk = num_chunks(), .members = present_};
  awaited.done = awaited.done_and_there = present_ - unreported_;
  if (awaited.done > 0) awaited.others_took = last_report_ - times_.committed;
  return awaited;
}

std::vector<RoundExchange::Awaited> RoundExchange::AwaitedByQuorum(double quorum,
                                                                   bool gone_too) const {
  const uint32_t needed = std::max(1u, static_cast<uint32_t>(std::ceil(quorum * present_ - 1e-9)));
  std::vector<Awaited> result = AwaitedBy(needed);
  if (gone_too) return result;
  std::erase_if(result, [&](const Awaited& awaited) { return awaited.done_and_there < needed; });
  return result;
}

std::vector<RoundExchange::Awaited> RoundExchange::AwaitedBy(uint32_t done) const {
  std::vector<Awaited> result;
  for (const auto& [worker, member] : members_) {
    if (!member.awaited) continue;
    const bool report = committed_root_ && !member.reported;
    if (!report && !Delivering(member)) continue;
    const Awaited awaited = report ? AwaitedReport(worker) : AwaitedDelta(worker, member);
    if (awaited.done >= done) result.push_back(awaited);
  }
  return result;
}

std::optional<RoundExchange::Delivery> RoundExchange::delivery_of(WorkerId worker) const {
  const auto found = members_.find(worker);
  if (found == members_.end() || Delivering(found->second)) return std::nullopt;
  return found->second.delivery;
}

void RoundExchange::RestoreMerged(const MergeOrder& order, Nanoseconds now) {
  Chunk& chunk = chunks_.at(order.chunk);
  chunk.ordered = chunk.restored = true;
  ChunkMerged(order.chunk, now);
}

std::vector<WorkerId> RoundExchange::present() const {
  std::vector<WorkerId> workers;
  for (const auto& [worker, member] : members_) {
    if (member.awaited) workers.push_back(worker);
  }
  return workers;
}

bool RoundExchange::is_present(WorkerId worker) const {
  const auto found = members_.find(worker);
  return found != members_.end() && found->second.awaited;
}

std::vector<Contributor> RoundExchange::contributors() const {
  std::vector<Contributor> result;
  for (const auto& [worker, member] : members_) {
    if (member.arrived_count > 0) result.push_back({worker, member.samples});
  }
  return result;
}

uint32_t RoundExchange::chunks_from(WorkerId worker) const {
  const auto found = members_.find(worker);
  return found == members_.end() ? 0 : found->second.arrived_count;
}

}  // namespace interlude
