#include "analysis/graph_parts.h"

#include <algorithm>
#include <limits>
#include <queue>
#include <tuple>

#include "analysis/nearly_sorted.h"

namespace interlude {
namespace {

constexpr auto kFreeLater = [](const auto& a, const auto& b) { return a.free_ns > b.free_ns; };

}  // namespace

uint32_t GraphBuilder::AddTail(Activity&& activity) {
  for (const uint32_t before : activity.after) {
    if (EndOf(before) <= activity.begin_ns) continue;
    activity.begin_ns = EndOf(before);
    activity.begin_clock = at(before).end_clock;
  }
  if (activity.begin_ns > activity.end_ns) {
    activity.begin_ns = activity.end_ns;
    activity.begin_clock = activity.end_clock;
  }
  return Add(std::move(activity));
}

MaybeActivity GraphBuilder::Join(Places after) {
  if (after.empty()) return std::nullopt;
  const Activity& last = at(*std::max_element(
      after.begin(), after.end(), [&](uint32_t a, uint32_t b) { return EndOf(a) < EndOf(b); }));
  Activity join{.begin_ns = last.end_ns,
                .end_ns = last.end_ns,
                .begin_clock = last.end_clock,
                .end_clock = last.end_clock};
  join.after = std::move(after);
  return Add(std::move(join));
}

void Stage::Sort() {
  SortNearlySorted(by_end_, [](const Entry& a, const Entry& b) { return a.end_ns < b.end_ns; });
  PlaceByChunk();
  by_chunk_.clear();
  if (!of_chunk_.empty()) return;
  by_chunk_ = by_end_;
  SortNearlySorted(by_chunk_, [](const Entry& a, const Entry& b) { return a.chunk < b.chunk; });
}

void Stage::PlaceByChunk() {
  constexpr uint32_t kNone = std::numeric_limits<uint32_t>::max();
  of_chunk_.assign(by_end_.size(), kNone);
  for (const Entry& entry : by_end_) {
    if (entry.chunk < of_chunk_.size() && of_chunk_[entry.chunk] == kNone) {
      of_chunk_[entry.chunk] = entry.activity;
    } else {
      of_chunk_.clear();
      return;
    }
  }
}

Places Stage::All() const {
  Places all;
  all.reserve(by_end_.size());
  for (const Entry& entry : by_end_) all.push_back(entry.activity);
  return all;
}

MaybeActivity Stage::Last() const {
  return by_end_.empty() ? std::nullopt : MaybeActivity(by_end_.back().activity);
}

MaybeActivity Stage::LastBy(int64_t ns) const {
  const auto it =
      std::upper_bound(by_end_.begin(), by_end_.end(), ns,
                       [](int64_t at, const Entry& entry) { return at < entry.end_ns; });
  return it == by_end_.begin() ? std::nullopt : MaybeActivity(std::prev(it)->activity);
}

MaybeActivity Stage::OfRepeated(uint32_t chunk, int64_t ns) const {
  if (chunk == kNoChunk) return Last();
  const auto it = std::upper_bound(
      by_chunk_.begin(), by_chunk_.end(), ns, [chunk](int64_t at, const Entry& entry) {
        return std::tie(chunk, at) < std::tie(entry.chunk, entry.end_ns);
      });
  if (it != by_chunk_.begin() && std::prev(it)->chunk == chunk) return std::prev(it)->activity;
  return FirstOfRepeated(chunk);
}

MaybeActivity Stage::FirstOfRepeated(uint32_t chunk) const {
  const auto find = [&](uint32_t wanted) -> MaybeActivity {
    const auto it =
        std::lower_bound(by_chunk_.begin(), by_chunk_.end(), wanted,
                         [](const Entry& entry, uint32_t of) { return entry.chunk < of; });
    if (it == by_chunk_.end() || it->chunk != wanted) return std::nullopt;
    return it->activity;
  };
  const MaybeActivity first = find(chunk);
  return first ? first : find(kNoChunk);
}

PoolThreads::PoolThreads(const std::pmr::vector<ChunkStamp>& tasks, int32_t known)
    : threads_(tasks.get_allocator()) {
  std::priority_queue<int64_t, std::pmr::vector<int64_t>, std::greater<>> running(
      tasks.get_allocator());
  // No more than there are tasks: a record may say any number.
  size_t most = std::min(static_cast<size_t>(std::max(0, known)), tasks.size());
  for (const ChunkStamp& task : tasks) {
    while (!running.empty() && running.top() <= task.begin_ns) running.pop();
    running.push(task.end_ns);
    most = std::max(most, running.size());
  }
  threads_.assign(most, {std::numeric_limits<int64_t>::min(), std::nullopt});
}

MaybeActivity PoolThreads::Take() {
  if (threads_.empty()) return std::nullopt;
  std::pop_heap(threads_.begin(), threads_.end(), kFreeLater);
  return threads_.back().activity;
}

void PoolThreads::Occupy(int64_t end_ns, uint32_t activity) {
  if (threads_.empty()) return;
  threads_.back() = {end_ns, activity};
  std::push_heap(threads_.begin(), threads_.end(), kFreeLater);
}

std::pmr::vector<ChunkStamp> ByBegin(std::span<const ChunkStamp> stamps,
                                     std::pmr::memory_resource* memory) {
  std::pmr::vector<ChunkStamp> sorted(stamps.begin(), stamps.end(), memory);
  SortNearlySorted(sorted, [](const ChunkStamp& a, const ChunkStamp& b) {
    return std::tie(a.begin_ns, a.end_ns, a.chunk) < std::tie(b.begin_ns, b.end_ns, b.chunk);
  });
  return sorted;
}

}  // namespace interlude
