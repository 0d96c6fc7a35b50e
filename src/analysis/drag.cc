#include "analysis/drag.h"

#include <algorithm>
#include <array>
#include <utility>

#include "analysis/wide.h"

namespace interlude {
namespace {

/// A kind of activity; of a link its two parts count each for itself.
using Kind = std::pair<ActivityKind, bool>;
using Sums = std::map<Kind, std::map<int32_t, Wide>>;

/// Whether the activity would be shorter at a quicker worker.
bool IsWork(const Activity& activity) {
  return activity.worker != kNoWorker && activity.kind != ActivityKind::kJoin &&
         activity.kind != ActivityKind::kWait && activity.kind != ActivityKind::kWaitDeadline &&
         activity.kind != ActivityKind::kAwaitRound;
}

int64_t DurationOf(const Activity& activity) { return activity.end_ns - activity.begin_ns; }

Sums SumByWorker(const ActivityGraph& graph) {
  Sums sums;
  std::array<Wide*, 2 * kActivityKinds> of_worker{};  // of the worker before, which is mostly this
  int32_t worker = kNoWorker;
  for (const Activity& activity : graph) {
    if (!IsWork(activity)) continue;
    if (activity.worker != worker) of_worker.fill(nullptr);
    worker = activity.worker;
    Wide*& sum = of_worker[2 * static_cast<size_t>(activity.kind) + (activity.flight ? 1 : 0)];
    if (sum == nullptr) sum = &sums[{activity.kind, activity.flight}][worker];
    *sum += DurationOf(activity);
  }
  return sums;
}

Wide MedianOf(const std::map<int32_t, Wide>& of_workers) {
  std::vector<Wide> sums;
  sums.reserve(of_workers.size());
  for (const auto& [worker, sum] : of_workers) sums.push_back(sum);
  const auto middle = sums.begin() + static_cast<std::ptrdiff_t>((sums.size() - 1) / 2);
  std::nth_element(sums.begin(), middle, sums.end());
  return *middle;
}

/// The share of its time that the worker would need, as a quotient of sums.
struct Share {
  Wide median, own;
};

std::map<Kind, Share> SharesOf(const Sums& sums, const std::map<Kind, Wide>& medians,
                               int32_t worker) {
  std::map<Kind, Share> shares;
  for (const auto& [kind, of_workers] : sums) {
    const auto own = of_workers.find(worker);
    if (own != of_workers.end() && own->second > medians.at(kind))
      shares[kind] = {medians.at(kind), own->second};
  }
  return shares;
}

std::vector<int64_t> Shortened(const ActivityGraph& graph, int32_t worker,
                               const std::map<Kind, Share>& shares) {
  std::vector<int64_t> durations(graph.size());
  for (size_t i = 0; i < graph.size(); ++i) {
    const Activity& activity = graph[i];
    durations[i] = DurationOf(activity);
    if (activity.worker != worker || !IsWork(activity)) continue;
    const auto found = shares.find({activity.kind, activity.flight});
    if (found == shares.end()) continue;
    durations[i] = static_cast<int64_t>(static_cast<long double>(durations[i]) *
                                        static_cast<long double>(found->second.median) /
                                        static_cast<long double>(found->second.own));
  }
  return durations;
}

}  // namespace

std::map<int32_t, int64_t> DragOf(const ActivityGraph& graph, const GraphTimes& times,
                                  uint32_t last, const std::vector<int32_t>& on_path) {
  const Sums sums = SumByWorker(graph);
  std::map<Kind, Wide> medians;
  for (const auto& [kind, of_workers] : sums) medians[kind] = MedianOf(of_workers);
  std::map<int32_t, int64_t> drags;
  for (const int32_t worker : on_path) {
    const std::map<Kind, Share> shares = SharesOf(sums, medians, worker);
    if (shares.empty()) continue;
    const Wide shorter = times.Recompute(Shortened(graph, worker, shares));
    drags[worker] = Narrow(graph[last].end_ns - shorter);
  }
  return drags;
}

}  // namespace interlude
