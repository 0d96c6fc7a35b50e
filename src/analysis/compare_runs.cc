#include "analysis/compare_runs.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "analysis/path_summary.h"

namespace interlude {
namespace {

constexpr char kMetaSchemaVersion[] = "schema_version";
constexpr int kFirstVersionWithAccount = 3;

/// The last round that both recorded.
std::optional<std::pair<const RoundSummary*, const RoundSummary*>> LastOfBoth(const RunSummary& a,
                                                                              const RunSummary& b) {
  auto of_a = a.rounds.rbegin();
  auto of_b = b.rounds.rbegin();
  while (of_a != a.rounds.rend() && of_b != b.rounds.rend()) {
    if (of_a->round == of_b->round) return std::pair(&*of_a, &*of_b);
    of_a->round > of_b->round ? ++of_a : ++of_b;
  }
  return std::nullopt;
}

SameParameters CompareParameters(const RunSummary& a, const RunSummary& b) {
  SameParameters same;
  auto of_b = b.rounds.begin();
  for (const RoundSummary& of_a : a.rounds) {
    while (of_b != b.rounds.end() && of_b->round < of_a.round) ++of_b;
    if (of_b == b.rounds.end()) break;
    if (of_b->round != of_a.round || of_a.root_hash.empty() || of_b->root_hash.empty()) continue;
    ++same.rounds;
    if (same.first_differs) continue;
    (of_a.root_hash == of_b->root_hash ? same.last_same : same.first_differs) = of_a.round;
  }
  return same;
}

/// The most that the coordinator, or a worker, ever had resident.
std::optional<double> PeakBytes(const RunSummary& run, bool of_workers) {
  std::optional<double> peak;
  for (const ProcessSample& sample : run.records.samples) {
    const int64_t bytes = std::max(sample.peak_rss_bytes, sample.rss_bytes);
    if ((sample.recorded_by != kNoWorker) != of_workers || bytes < 0) continue;
    peak = std::max(peak.value_or(0), static_cast<double>(bytes));
  }
  return peak;
}

/// What the coordinator's last sample has resident, where it is of after the last round.
std::optional<double> HeldBytes(const RunSummary& run) {
  const ProcessSample* last = nullptr;
  for (const ProcessSample& sample : run.records.samples) {
    if (sample.recorded_by != kNoWorker || sample.rss_bytes < 0) continue;
    if (last == nullptr || sample.at_ns >= last->at_ns) last = &sample;
  }
  if (last == nullptr || run.paths.empty() || last->at_ns <= run.paths.back().end_ns)
    return std::nullopt;
  return static_cast<double>(last->rss_bytes);
}

std::optional<double> FirstRoundSeconds(const RunSummary& run) {
  return run.rounds.empty() ? std::nullopt : std::optional(run.rounds.front().wall_seconds);
}

std::vector<FigureChange> CompareFigures(const RunSummary& a, const RunSummary& b) {
  std::vector<FigureChange> figures;
  const auto add = [&](std::string_view name, std::string_view text, FigureUnit unit,
                       const auto& figure) {
    figures.push_back({name, text, unit, figure(a), figure(b)});
  };
  using Run = const RunSummary&;
  using Maybe = std::optional<double>;
  const auto number = [](auto value) { return Maybe(static_cast<double>(value)); };
  add("workers", "workers", FigureUnit::kCount, [&](Run r) { return number(r.workers.size()); });
  add("workers_left", "workers that left", FigureUnit::kCount,
      [&](Run r) { return number(r.workers_left); });
  add("rounds", "rounds", FigureUnit::kCount, [&](Run r) { return number(r.rounds.size()); });
  add("wall_seconds", "wall time", FigureUnit::kSeconds,
      [](Run r) { return Maybe(r.wall_seconds); });
  add("first_round_seconds", "first round", FigureUnit::kSeconds, FirstRoundSeconds);
  add("samples_per_second", "samples a second", FigureUnit::kCount,
      [](Run r) { return Maybe(r.samples_per_second); });
  add("upload_bytes", "up, a worker and round", FigureUnit::kBytes,
      [](Run r) { return Maybe(r.typical.upload_bytes); });
  add("download_bytes", "down, a worker and round", FigureUnit::kBytes,
      [](Run r) { return Maybe(r.typical.download_bytes); });
  add("repaired_chunks", "repaired chunks", FigureUnit::kCount,
      [&](Run r) { return number(r.repaired_chunks); });
  const auto both = LastOfBoth(a, b);
  figures.push_back({"loss_in_last_of_both", "training loss, last round of both", FigureUnit::kLoss,
                     both ? Maybe(both->first->mean_loss) : Maybe(),
                     both ? Maybe(both->second->mean_loss) : Maybe()});
  add("final_accuracy", "accuracy, last evaluation", FigureUnit::kShare,
      [](Run r) { return r.final_accuracy; });
  add("coordinator_peak_bytes", "coordinator, most memory", FigureUnit::kBytes,
      [](Run r) { return PeakBytes(r, /*of_workers=*/false); });
  add("worker_peak_bytes", "largest worker, most memory", FigureUnit::kBytes,
      [](Run r) { return PeakBytes(r, /*of_workers=*/true); });
  add("coordinator_held_bytes", "coordinator, held after the run", FigureUnit::kBytes, HeldBytes);
  return figures;
}

bool AreOne(const Finding& a, const Finding& b) {
  const auto is_of_b = [&](int32_t worker) { return b.workers.contains(worker); };
  return a.id == b.id &&
         (a.workers == b.workers || std::any_of(a.workers.begin(), a.workers.end(), is_of_b));
}

/// What saves most first within each of new, gone and both; the findings have that order.
std::vector<FindingChange> CompareFindings(const std::vector<Finding>& a,
                                           const std::vector<Finding>& b) {
  std::vector<FindingChange> fresh, gone, both;
  std::vector<bool> taken(a.size(), false);
  for (const Finding& of_b : b) {
    size_t at = 0;
    while (at < a.size() && (taken[at] || !AreOne(a[at], of_b))) ++at;
    if (at == a.size()) {
      fresh.push_back({std::nullopt, of_b});
    } else {
      taken[at] = true;
      both.push_back({a[at], of_b});
    }
  }
  for (size_t i = 0; i < a.size(); ++i) {
    if (!taken[i]) gone.push_back({a[i], std::nullopt});
  }
  fresh.insert(fresh.end(), gone.begin(), gone.end());
  fresh.insert(fresh.end(), both.begin(), both.end());
  return fresh;
}

std::map<int32_t, WorkerFigures> WorkersOf(const RunSummary& run) {
  std::map<int32_t, WorkerFigures> workers;
  for (const WorkerSummary& worker : run.workers) {
    workers[worker.record.worker] = {.train_seconds = worker.train_seconds,
                                     .encode_seconds = worker.encode_seconds,
                                     .apply_seconds = worker.apply_seconds};
  }
  for (const WorkerPathSummary& path : SummarizePaths(run.paths).workers)
    workers[path.worker].drag_seconds = path.median_drag_ns * 1e-9;
  return workers;
}

std::vector<WorkerChange> CompareWorkers(const RunSummary& a, const RunSummary& b) {
  const std::map<int32_t, WorkerFigures> of_a = WorkersOf(a), of_b = WorkersOf(b);
  std::vector<WorkerChange> changes;
  for (const auto& [worker, figures] : of_a) {
    const auto found = of_b.find(worker);
    if (found != of_b.end()) changes.push_back({worker, figures, found->second});
  }
  return changes;
}

}  // namespace

Status CheckComparable(const RunSummary& run) {
  const auto version = run.meta.find(kMetaSchemaVersion);
  if (version != run.meta.end() && std::atoi(version->second.c_str()) < kFirstVersionWithAccount) {
    return InvalidArgumentError(
        "its run.db is of version {}, which has no record of when each chunk went through each "
        "phase: there is no critical path to compare. Run it again with this version",
        version->second);
  }
  if (run.rounds.empty())
    return InvalidArgumentError("no round has finished: there is nothing to compare yet");
  const bool comparable = std::any_of(run.paths.begin(), run.paths.end(), internal::IsWhole);
  const auto account = run.meta.find(kMetaAccount);
  if (!comparable && account != run.meta.end() && account->second == kNoAccount) {
    return InvalidArgumentError(
        "it was recorded without an account (INTERLUDE_WITHOUT_ACCOUNT=1): there is no critical "
        "path to compare. Run it again with one");
  }
  if (!comparable) {
    return InvalidArgumentError(
        "none of its {} rounds has a critical path with all workers on it: there is no record of "
        "theirs, or a clock is not known ('clocks' in 'interlude report DIR --json' says whose)",
        run.rounds.size());
  }
  return OkStatus();
}

RunComparison CompareRuns(const RunSummary& a, const RunSummary& b) {
  return {.path = internal::ComparePaths(a.paths, b.paths),
          .settings = internal::CompareSettings(a, b),
          .figures = CompareFigures(a, b),
          .parameters = CompareParameters(a, b),
          .findings = CompareFindings(a.findings, b.findings),
          .workers = CompareWorkers(a, b)};
}

}  // namespace interlude
