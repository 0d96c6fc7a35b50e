// Threads against cores, hosts with several workers, memory that grows or stays, clocks.
#include <fmt/format.h>

#include <algorithm>

#include "analysis/finding_rules.h"
#include "analysis/span_split.h"
#include "base/human_text.h"

namespace interlude::internal {
namespace {

/// Of a worker's own phases: waiting for a CPU that is worth a sentence.
constexpr double kWaits = 0.10;
constexpr double kGrows = 0.10;
constexpr int64_t kGrowsBytes = 64 << 20;
constexpr size_t kGrowsRounds = 10;
constexpr double kHeld = 0.1;  // of the model in fp32
constexpr double kClockError = 0.05;

/// The share of its own phases in the measured rounds that each worker waited for a CPU.
std::map<int32_t, double> WaitShares(const FindingContext& context) {
  const std::span<const Phase> own = OwnPhases();
  std::map<int32_t, std::pair<double, double>> sums;
  for (const Span& span : context.input.tables.spans) {
    if (!context.measured.contains(span.round) || span.recorded_by < 0 ||
        std::find(own.begin(), own.end(), span.phase) == own.end())
      continue;
    const SpanSplit split = SplitSpan(span);
    sums[span.recorded_by].first += static_cast<double>(split.run_delay_ns);
    sums[span.recorded_by].second += static_cast<double>(split.busy_ns());
  }
  std::map<int32_t, double> shares;
  for (const auto& [worker, sum] : sums)
    shares[worker] = sum.second > 0 ? sum.first / sum.second : 0;
  return shares;
}

void FindThreads(const FindingContext& context, const std::map<int32_t, double>& waits,
                 Findings& out) {
  std::set<int32_t> workers;
  const WorkerRecord* example = nullptr;
  for (const WorkerRecord& record : context.input.tables.workers) {
    const auto waited = waits.find(record.worker);
    const bool too_many = record.threads > record.usable_cores && record.usable_cores > 0 &&
                          record.visible_cores > record.usable_cores;
    if (!too_many || waited == waits.end() || waited->second < kWaits) continue;
    workers.insert(record.worker);
    if (example == nullptr) example = &record;
  }
  if (workers.empty()) return;
  Finding finding;
  finding.id = "more_threads_than_cores";
  finding.workers = workers;
  finding.grade = Grade::kObserved;
  finding.text = fmt::format(
      "{} ran {} threads on {} usable cores ({} are visible) and waited {} of "
      "the time for a CPU (observed)",
      WorkersText(workers), example->threads, example->usable_cores, example->visible_cores,
      Percent(waits.at(example->worker)));
  finding.evidence.push_back(example->quota_cores > 0
                                 ? fmt::format("The cgroup of worker {} allows {:.3g} CPUs.",
                                               example->worker, example->quota_cores)
                                 : fmt::format("Worker {} may run on {} of the cores only.",
                                               example->worker, example->usable_cores));
  finding.records = fmt::format(
      "SELECT worker, host, visible_cores, usable_cores, quota_cores, threads FROM workers WHERE "
      "worker IN ({})",
      Listed(workers));
  finding.try_this = "Leave --threads out: the worker then takes as many as it has usable cores.";
  out.push_back(std::move(finding));
}

void FindSharedHosts(const FindingContext& context, const std::map<int32_t, double>& waits,
                     Findings& out) {
  std::map<std::string, std::vector<const WorkerRecord*>> hosts;
  for (const WorkerRecord& record : context.input.tables.workers)
    hosts[record.host].push_back(&record);
  for (const auto& [host, records] : hosts) {
    std::set<int32_t> workers;
    int64_t threads = 0;
    double waited = 1;
    for (const WorkerRecord* record : records) {
      workers.insert(record->worker);
      threads += record->threads;
      const auto found = waits.find(record->worker);
      waited = std::min(waited, found == waits.end() ? 0 : found->second);
    }
    if (records.size() < 2 || threads <= records.front()->visible_cores || waited < kWaits)
      continue;
    Finding finding;
    finding.id = "shared_host";
    finding.workers = workers;
    finding.grade = Grade::kObserved;
    finding.text = fmt::format(
        "{} share the {} CPUs of host {} with {} threads together, and each "
        "waited at least {} of its time for a CPU (observed)",
        WorkersText(workers), records.front()->visible_cores, host, threads, Percent(waited));
    finding.records = fmt::format(
        "SELECT recorded_by AS worker, phase, sum(run_delay_ns) / 1e6 AS run_delay_ms, "
        "sum(busy_ns) "
        "/ 1e6 AS busy_ms FROM spans WHERE recorded_by IN ({}) GROUP BY recorded_by, phase",
        Listed(workers));
    finding.evidence.push_back(
        "All workers of the host waited, so that none is slower than another.");
    finding.try_this = "Fewer workers on the host, or fewer threads each.";
    out.push_back(std::move(finding));
  }
}

/// Resident memory of a process over time; it is no worse than its samples' order.
std::map<int32_t, std::vector<const ProcessSample*>> ResidentSamples(
    const FindingContext& context) {
  std::map<int32_t, std::vector<const ProcessSample*>> processes;
  for (const ProcessSample& sample : context.input.tables.samples) {
    if (sample.rss_bytes >= 0) processes[sample.recorded_by].push_back(&sample);
  }
  for (auto& [process, samples] : processes) {
    std::sort(samples.begin(), samples.end(),
              [](const ProcessSample* a, const ProcessSample* b) { return a->at_ns < b->at_ns; });
  }
  return processes;
}

int64_t MedianRss(std::vector<const ProcessSample*> samples) {
  const auto middle = samples.begin() + static_cast<std::ptrdiff_t>(samples.size() / 2);
  std::nth_element(
      samples.begin(), middle, samples.end(),
      [](const ProcessSample* a, const ProcessSample* b) { return a->rss_bytes < b->rss_bytes; });
  return (*middle)->rss_bytes;
}

std::string ProcessText(int32_t process) {
  return process == kNoWorker ? "the coordinator" : fmt::format("worker {}", process);
}

/// Between the second third of the run and the last: the first third holds the warm-up.
void FindGrowth(const FindingContext& context, Findings& out) {
  if (context.measured.size() < kGrowsRounds) return;
  for (const auto& [process, samples] : ResidentSamples(context)) {
    const auto third = static_cast<std::ptrdiff_t>(samples.size() / 3);
    if (third < 5) continue;
    const int64_t before = MedianRss({samples.begin() + third, samples.begin() + 2 * third});
    const int64_t after = MedianRss({samples.begin() + 2 * third, samples.end()});
    if (after - before < kGrowsBytes ||
        static_cast<double>(after) < (1 + kGrows) * static_cast<double>(before))
      continue;
    Finding finding;
    finding.id = "memory_grows";
    if (process != kNoWorker) finding.workers = {process};
    finding.grade = Grade::kObserved;
    finding.text = fmt::format(
        "the memory of {} grew from {} in the second third of the run to {} "
        "in the last (observed)",
        ProcessText(process), HumanBytes(static_cast<double>(before)),
        HumanBytes(static_cast<double>(after)));
    finding.evidence.push_back("Medians of the resident memory.");
    finding.records = fmt::format(
        "SELECT at_ns, rss_bytes, anonymous_bytes FROM process_samples WHERE recorded_by = {} "
        "ORDER "
        "BY at_ns",
        process);
    finding.try_this = "The table memory says by owner what grew.";
    out.push_back(std::move(finding));
  }
}

/// What the coordinator's last sample, taken after the last round, still holds.
void FindHeldMemory(const FindingContext& context, Findings& out) {
  constexpr int64_t kLongAfterNs = 1'000'000'000;
  const auto model = static_cast<double>(context.input.parameters) * 4;
  if (context.measured.empty() || model <= 0) return;
  const int64_t end = context.measured.rbegin()->second->end_ns;
  const ProcessSample* last = nullptr;
  for (const ProcessSample& sample : context.input.tables.samples) {
    if (sample.recorded_by != kNoWorker || sample.anonymous_bytes < 0 || sample.at_ns < end)
      continue;
    if (last == nullptr || sample.at_ns > last->at_ns) last = &sample;
  }
  if (last == nullptr || last->at_ns - end < kLongAfterNs) return;
  const auto held = static_cast<double>(last->anonymous_bytes);
  if (held < kHeld * model || last->anonymous_bytes < kGrowsBytes) return;
  Finding finding;
  finding.id = "memory_held";
  finding.grade = Grade::kObserved;
  finding.text = fmt::format(
      "the coordinator held {} {} after the last round, {:.2f} x the model in "
      "fp32 (observed)",
      HumanBytes(held), HumanNs(last->at_ns - end), held / model);
  finding.evidence.push_back("Anonymous memory of its last sample.");
  finding.records =
      "SELECT at_ns, owner, bytes FROM memory WHERE recorded_by = -1 ORDER BY at_ns DESC LIMIT 20";
  finding.try_this = "The table memory says by owner what is held.";
  out.push_back(std::move(finding));
}

}  // namespace

void FindHostTroubles(const FindingContext& context, Findings& out) {
  const std::map<int32_t, double> waits = WaitShares(context);
  FindThreads(context, waits, out);
  FindSharedHosts(context, waits, out);
  FindGrowth(context, out);
  FindHeldMemory(context, out);
}

void FindClockTroubles(const FindingContext& context, Findings& out) {
  if (context.measured.empty()) return;
  const int64_t mean = context.wall_ns / static_cast<int64_t>(context.measured.size());
  std::set<int32_t> unknown, wide;
  int64_t widest = 0;
  for (const ClockRecord& clock : context.input.clocks) {
    if (clock.round.has_value()) continue;  // the final estimate counts
    const ClockEstimate& estimate = clock.estimate;
    if (estimate.method == ClockMethod::kNone) {
      unknown.insert(estimate.worker);
    } else if (static_cast<double>(estimate.error_ns) >= kClockError * static_cast<double>(mean)) {
      wide.insert(estimate.worker);
      widest = std::max(widest, estimate.error_ns);
    }
  }
  if (unknown.empty() && wide.empty()) return;
  Finding finding;
  finding.id = "clocks_uncertain";
  finding.workers = unknown.empty() ? wide : unknown;
  finding.grade = Grade::kObserved;
  finding.text =
      unknown.empty()
          ? fmt::format("the clocks of {} are known to {} only, in rounds of {} (observed)",
                        WorkersText(wide), HumanNs(widest), HumanNs(mean))
          : fmt::format(
                "the clocks of {} could not be compared with the coordinator's "
                "(observed)",
                WorkersText(unknown));
  finding.evidence.push_back(
      "Pieces of the critical path that lie between a worker and the coordinator may be longer or "
      "shorter by that; their sum is exact.");
  finding.records =
      "SELECT worker, method, offset_ns, drift, error_ns, probes FROM clocks WHERE "
      "round IS NULL ORDER BY worker";
  finding.try_this = "A machine that is not overloaded, and a longer run, give better probes.";
  out.push_back(std::move(finding));
}

}  // namespace interlude::internal
