#include "analysis/decisions.h"

#include <algorithm>

namespace interlude {

Decisions::Decisions(const PhaseTimes& times) {
  const std::span<const ChunkStamp> stamps = times.Of(Phase::kDecide, kNoWorker);
  stamps_.assign(stamps.begin(), stamps.end());
  std::erase_if(stamps_, [](const ChunkStamp& stamp) { return stamp.chunk == kNoChunk; });
  std::stable_sort(stamps_.begin(), stamps_.end(),
                   [](const ChunkStamp& a, const ChunkStamp& b) { return a.chunk < b.chunk; });
  ordered_.resize(stamps_.size());
}

std::optional<ChunkStamp> Decisions::Order(uint32_t chunk, int64_t ns) {
  auto it = std::lower_bound(
      stamps_.begin(), stamps_.end(), chunk,
      [](const ChunkStamp& stamp, uint32_t wanted) { return stamp.chunk < wanted; });
  std::optional<size_t> found;
  for (; it != stamps_.end() && it->chunk == chunk && it->end_ns <= ns; ++it)
    found = static_cast<size_t>(it - stamps_.begin());
  if (!found) return std::nullopt;
  ordered_[*found] = true;
  return stamps_[*found];
}

std::vector<ChunkStamp> Decisions::Rest() const {
  std::vector<ChunkStamp> rest;
  for (size_t i = 0; i < stamps_.size(); ++i) {
    if (!ordered_[i]) rest.push_back(stamps_[i]);
  }
  return rest;
}

}  // namespace interlude
