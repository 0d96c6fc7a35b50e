#include "analysis/round_records.h"

#include <algorithm>
#include <tuple>

#include "analysis/nearly_sorted.h"

namespace interlude {
namespace {

/// Differences of times within these bounds stay within 64 bits.
constexpr int64_t kMostNs = int64_t{1} << 60;

bool CanBe(const ChunkStamp& stamp) {
  return stamp.begin_ns >= -kMostNs && stamp.end_ns <= kMostNs && stamp.begin_ns <= stamp.end_ns;
}

bool HasStamps(Phase phase) {
  switch (phase) {
    case Phase::kEncode:
    case Phase::kUpload:
    case Phase::kDownload:
    case Phase::kApply:
    case Phase::kReceive:
    case Phase::kMerge:
    case Phase::kSend:
      return true;
    default:
      return false;
  }
}

}  // namespace

PhaseTimes::PhaseTimes(const RoundRecords& records) {
  const uint32_t round = records.round.round;
  const auto key_of = [](const auto& record) {
    return Key{record.phase,
               IsWorkerPhase(record.phase) ? record.recorded_by : record.about_worker};
  };
  for (const ChunkStamps& stamps : records.stamps) {
    if (stamps.round != round) continue;
    std::vector<ChunkStamp>* times = nullptr;
    for (const ChunkStamp& stamp : stamps.stamps) {
      if (stamp.chunk == kNoChunk || !CanBe(stamp)) continue;
      if (times == nullptr) times = &TimesOf(key_of(stamps));
      times->push_back(stamp);
    }
  }
  std::set<Key> stamped;
  for (const auto& [key, times] : times_) stamped.insert(key);
  for (const Span& span : records.spans) {
    if (span.round != round || stamped.contains(key_of(span))) continue;
    const ChunkStamp whole{kNoChunk, span.begin_ns, span.end_ns};
    if (CanBe(whole)) TimesOf(key_of(span)).push_back(whole);
    coarse_ = coarse_ || HasStamps(span.phase);
  }
  for (auto& [key, times] : times_) {
    SortNearlySorted(times, [](const ChunkStamp& a, const ChunkStamp& b) {
      return std::tie(a.end_ns, a.begin_ns, a.chunk) < std::tie(b.end_ns, b.begin_ns, b.chunk);
    });
  }
}

std::vector<ChunkStamp>& PhaseTimes::TimesOf(const Key& key) {
  if (key.second != kNoWorker) workers_.insert(key.second);
  return times_[key];
}

size_t PhaseTimes::size() const {
  size_t sum = 0;
  for (const auto& [key, times] : times_) sum += times.size();
  return sum;
}

const std::vector<ChunkStamp>& PhaseTimes::Of(Phase phase, int32_t worker) const {
  static const std::vector<ChunkStamp> none;
  const auto found = times_.find({phase, worker});
  return found == times_.end() ? none : found->second;
}

}  // namespace interlude
