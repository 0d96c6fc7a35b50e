#include "analysis/path_summary.h"

#include <algorithm>
#include <map>
#include <set>

#include "analysis/spread.h"
#include "analysis/wide.h"

namespace interlude {
namespace {

struct Series {
  WorkerPathSummary summary;
  std::vector<double> slack, drag;
};

void AddWorkers(const RoundPath& path, std::map<int32_t, Series>& workers) {
  std::set<int32_t> on_path;
  for (const PathPiece& piece : path.pieces) on_path.insert(piece.worker);
  for (const WorkerPath& worker : path.workers) {
    Series& series = workers[worker.worker];
    WorkerPathSummary& summary = series.summary;
    summary.worker = worker.worker;
    ++summary.rounds;
    summary.rounds_on_path += on_path.contains(worker.worker) ? 1 : 0;
    AddTo(summary.drag_ns, worker.drag_ns);
    summary.largest_error_ns =
        std::max(summary.largest_error_ns, static_cast<double>(worker.clock.error_ns));
    summary.clock_from_causality =
        summary.clock_from_causality || worker.clock.source == ClockSource::kCausality;
    series.drag.push_back(static_cast<double>(worker.drag_ns));
    if (worker.slack_ns != kUnlimitedSlack)
      series.slack.push_back(static_cast<double>(worker.slack_ns));
  }
}

}  // namespace

PathSummary SummarizePaths(const std::vector<RoundPath>& paths) {
  PathSummary summary;
  std::map<int32_t, Series> workers;
  for (size_t i = paths.size() > 1 ? 1 : 0; i < paths.size(); ++i) {
    const RoundPath& path = paths[i];
    ++summary.rounds;
    AddTo(summary.wall_ns, path.end_ns - path.begin_ns);
    for (const auto& [what, sum_ns] : SumPieces(path.pieces)) AddTo(summary.sums[what], sum_ns);
    AddWorkers(path, workers);
  }
  for (auto& [worker, series] : workers) {
    if (!series.slack.empty()) series.summary.median_slack_ns = MedianOf(std::move(series.slack));
    series.summary.median_drag_ns = MedianOf(std::move(series.drag));
    summary.workers.push_back(series.summary);
  }
  return summary;
}

}  // namespace interlude
