#include "analysis/drag.h"

#include <algorithm>
#include <array>
#include <utility>

#include "analysis/wide.h"

namespace interlude {
namespace {

/// A kind of activity; of a link its two parts count each for itself.
constexpr size_t kKinds = 2 * kActivityKinds;
size_t KindOf(const Activity& activity) {
  return 2 * static_cast<size_t>(activity.kind) + (activity.flight ? 1 : 0);
}

using WorkerSums = std::map<int32_t, Wide>;
using Sums = std::array<WorkerSums, kKinds>;

/// Whether the activity would be shorter at a quicker worker.
bool IsWork(const Activity& activity) {
  return activity.worker != kNoWorker && activity.kind != ActivityKind::kJoin &&
         activity.kind != ActivityKind::kWait && activity.kind != ActivityKind::kWaitDeadline &&
         activity.kind != ActivityKind::kAwaitRound;
}

int64_t DurationOf(const Activity& activity) { return activity.end_ns - activity.begin_ns; }

Sums SumByWorker(const ActivityGraph& graph) {
  Sums sums;
  std::array<Wide*, kKinds> of_worker{};  // of the worker before, which is mostly this
  int32_t worker = kNoWorker;
  for (const Activity& activity : graph) {
    if (!IsWork(activity)) continue;
    if (activity.worker != worker) of_worker.fill(nullptr);
    worker = activity.worker;
    Wide*& sum = of_worker[KindOf(activity)];
    if (sum == nullptr) sum = &sums[KindOf(activity)][worker];
    *sum += DurationOf(activity);
  }
  return sums;
}

/// Nothing of no workers.
Wide MedianOf(const WorkerSums& of_workers) {
  if (of_workers.empty()) return 0;
  std::vector<Wide> sums;
  sums.reserve(of_workers.size());
  for (const auto& [worker, sum] : of_workers) sums.push_back(sum);
  const auto middle = sums.begin() + static_cast<std::ptrdiff_t>((sums.size() - 1) / 2);
  std::nth_element(sums.begin(), middle, sums.end());
  return *middle;
}

/// The share of its time that the worker would need, as a quotient of sums; all of it: own is 0.
struct Share {
  Wide median = 0, own = 0;
};
using Shares = std::array<Share, kKinds>;

Shares SharesOf(const Sums& sums, const std::array<Wide, kKinds>& medians, int32_t worker) {
  Shares shares;
  for (size_t kind = 0; kind < kKinds; ++kind) {
    const auto own = sums[kind].find(worker);
    if (own != sums[kind].end() && own->second > medians[kind])
      shares[kind] = {medians[kind], own->second};
  }
  return shares;
}

/// `durations` of all activities, as they would be.
void Shorten(const ActivityGraph& graph, int32_t worker, const Shares& shares,
             std::span<int64_t> durations) {
  for (size_t i = 0; i < graph.size(); ++i) {
    const Activity& activity = graph[i];
    durations[i] = DurationOf(activity);
    if (activity.worker != worker || !IsWork(activity)) continue;
    const Share& share = shares[KindOf(activity)];
    if (share.own == 0) continue;
    durations[i] = static_cast<int64_t>(static_cast<long double>(durations[i]) *
                                        static_cast<long double>(share.median) /
                                        static_cast<long double>(share.own));
  }
}

}  // namespace

std::map<int32_t, int64_t> DragOf(const ActivityGraph& graph, const GraphTimes& times,
                                  uint32_t last, const std::vector<int32_t>& on_path) {
  const Sums sums = SumByWorker(graph);
  std::array<Wide, kKinds> medians{};
  std::transform(sums.begin(), sums.end(), medians.begin(), MedianOf);
  std::map<int32_t, int64_t> drags;
  std::pmr::vector<int64_t> durations(graph.size(), graph.get_allocator());
  for (const int32_t worker : on_path) {
    const Shares shares = SharesOf(sums, medians, worker);
    if (std::none_of(shares.begin(), shares.end(), [](const Share& one) { return one.own != 0; }))
      continue;
    Shorten(graph, worker, shares, durations);
    const Wide shorter = times.Recompute(durations);
    drags[worker] = Narrow(graph[last].end_ns - shorter);
  }
  return drags;
}

}  // namespace interlude
