// The critical path in the terminal report.
#include <fmt/format.h>

#include <algorithm>

#include "analysis/path_summary.h"
#include "report/report_text.h"
#include "report/table.h"

namespace interlude::internal {
namespace {

constexpr size_t kMostWorkerColumns = 6;

std::string Milliseconds(double ns) { return fmt::format("{:.1f}", ns / 1e6); }

/// The sums of one kind: the coordinator's under kNoWorker.
struct Row {
  ActivityKind what;
  int64_t sum_ns = 0;
  std::map<int32_t, int64_t> by_worker;
};

/// The longest first, the unexplained last, whatever it is.
std::vector<Row> RowsOf(const PathSummary& summary) {
  std::map<ActivityKind, Row> rows;
  for (const auto& [what, sum_ns] : summary.sums) {
    Row& row = rows.try_emplace(what.first, Row{what.first, 0, {}}).first->second;
    row.sum_ns += sum_ns;
    row.by_worker[what.second] += sum_ns;
  }
  rows.try_emplace(ActivityKind::kUnexplained, Row{ActivityKind::kUnexplained, 0, {}});
  std::vector<Row> sorted;
  for (auto& [what, row] : rows) sorted.push_back(std::move(row));
  std::stable_sort(sorted.begin(), sorted.end(), [](const Row& a, const Row& b) {
    const bool a_known = a.what != ActivityKind::kUnexplained;
    const bool b_known = b.what != ActivityKind::kUnexplained;
    return a_known != b_known ? a_known : a.sum_ns > b.sum_ns;
  });
  return sorted;
}

/// Those with most on the path, in order of their ids.
std::vector<int32_t> ColumnsOf(const PathSummary& summary) {
  std::map<int32_t, int64_t> sums;
  for (const auto& [what, sum_ns] : summary.sums) {
    if (what.second != kNoWorker) sums[what.second] += sum_ns;
  }
  std::vector<std::pair<int64_t, int32_t>> most;
  for (const auto& [worker, sum_ns] : sums) most.emplace_back(-sum_ns, worker);
  std::sort(most.begin(), most.end());
  if (most.size() > kMostWorkerColumns) most.resize(kMostWorkerColumns);
  std::vector<int32_t> columns;
  for (const auto& [sum_ns, worker] : most) columns.push_back(worker);
  std::sort(columns.begin(), columns.end());
  return columns;
}

}  // namespace

std::string PathTable(const RunSummary& run) {
  const PathSummary summary = SummarizePaths(run.paths);
  if (summary.wall_ns <= 0) return "";
  const double rounds = summary.rounds;
  const std::vector<int32_t> columns = ColumnsOf(summary);
  std::vector<std::string> header = {"what", "ms", "%", "coordinator"};
  for (const int32_t worker : columns) header.push_back(fmt::format("worker {}", worker));
  Table table(header, 1);
  const auto cell = [rounds](const Row& row, int32_t process) {
    const auto found = row.by_worker.find(process);
    return found == row.by_worker.end() ? std::string()
                                        : Milliseconds(static_cast<double>(found->second) / rounds);
  };
  for (const Row& row : RowsOf(summary)) {
    const auto sum_ns = static_cast<double>(row.sum_ns);
    std::vector<std::string> cells = {
        std::string(ActivityName(row.what)), Milliseconds(sum_ns / rounds),
        fmt::format("{:.1f}", 100 * sum_ns / static_cast<double>(summary.wall_ns)),
        cell(row, kNoWorker)};
    for (const int32_t worker : columns) cells.push_back(cell(row, worker));
    table.Add(std::move(cells));
  }
  table.Add({"sum", Milliseconds(static_cast<double>(summary.wall_ns) / rounds), "100.0"});
  return table.ToString();
}

std::string PathWorkersTable(const RunSummary& run) {
  const PathSummary summary = SummarizePaths(run.paths);
  if (summary.wall_ns <= 0 || summary.workers.empty()) return "";
  Table table({"worker", "rounds", "on the path", "slack", "drag", "drag in all", "clock error"},
              1);
  for (const WorkerPathSummary& worker : summary.workers) {
    table.Add({std::to_string(worker.worker), std::to_string(worker.rounds),
               std::to_string(worker.rounds_on_path),
               worker.median_slack_ns ? Milliseconds(*worker.median_slack_ns) : "-",
               Milliseconds(worker.median_drag_ns),
               Milliseconds(static_cast<double>(worker.drag_ns)),
               fmt::format("{:.3f}{}", worker.largest_error_ns / 1e6,
                           worker.clock_from_causality ? " (by causality)" : "")});
  }
  return table.ToString();
}

}  // namespace interlude::internal
