#include "analysis/phase_facts.h"

#include <algorithm>
#include <array>
#include <optional>
#include <set>

namespace interlude {
namespace {

constexpr std::array kOwnPhases = {Phase::kEvaluate, Phase::kTrain, Phase::kEncode, Phase::kUpload,
                                   Phase::kDownload, Phase::kApply, Phase::kVerify};
constexpr double kProbeWindowNs = 10e9;
constexpr int64_t kLongest = int64_t{1} << 60;

bool IsOwnPhase(Phase phase) {
  return std::find(kOwnPhases.begin(), kOwnPhases.end(), phase) != kOwnPhases.end();
}

using WorkerRound = std::pair<int32_t, uint32_t>;

/// Where each worker began to train for the last time, by worker and round.
std::map<WorkerRound, int64_t> LastTraining(std::span<const Span> spans) {
  std::map<WorkerRound, int64_t> last;
  for (const Span& span : spans) {
    if (span.phase != Phase::kTrain || span.end_ns < span.begin_ns) continue;
    const auto [it, first] = last.try_emplace({span.recorded_by, span.round}, span.begin_ns);
    if (!first) it->second = std::max(it->second, span.begin_ns);
  }
  return last;
}

/// The round trips of a worker's probes, by the time when they were sent.
class RoundTrips {
 public:
  explicit RoundTrips(std::vector<ClockProbe> probes) : probes_(std::move(probes)) {
    std::erase_if(probes_, [](const ClockProbe& probe) {
      // A monotonic clock is never negative; so the differences below do not overflow.
      return probe.sent_ns < 0 || probe.returned_ns < probe.sent_ns || probe.received_ns < 0 ||
             probe.replied_ns < probe.received_ns || probe.round_trip_ns() < 0;
    });
    std::sort(probes_.begin(), probes_.end(),
              [](const ClockProbe& a, const ClockProbe& b) { return a.sent_ns < b.sent_ns; });
  }

  int64_t Smallest(const Span& span) const {
    const double from = static_cast<double>(span.begin_ns) - kProbeWindowNs;
    const double to = static_cast<double>(span.end_ns) + kProbeWindowNs;
    auto probe = std::lower_bound(
        probes_.begin(), probes_.end(), from,
        [](const ClockProbe& p, double at) { return static_cast<double>(p.sent_ns) < at; });
    std::optional<int64_t> smallest;
    for (; probe != probes_.end() && static_cast<double>(probe->sent_ns) <= to; ++probe) {
      const int64_t trip = probe->round_trip_ns();
      if (!smallest || trip < *smallest) smallest = trip;
    }
    return smallest.value_or(kUnknownFigure);
  }

 private:
  std::vector<ClockProbe> probes_;
};

/// One worker's account.
struct Process {
  ProcessHistory history;
  RoundTrips trips;
  WorkerRecord record;
};

std::map<int32_t, Process> Processes(const CauseTables& tables) {
  std::map<int32_t, std::vector<Span>> spans;
  std::map<int32_t, std::vector<ProcessSample>> samples;
  std::map<int32_t, std::vector<ClockProbe>> probes;
  std::map<int32_t, WorkerRecord> records;
  for (const Span& span : tables.spans) {
    if (span.recorded_by >= 0 && IsWorkerPhase(span.phase)) spans[span.recorded_by].push_back(span);
  }
  for (const ProcessSample& sample : tables.samples) samples[sample.recorded_by].push_back(sample);
  for (const ClockProbe& probe : tables.probes) probes[probe.worker].push_back(probe);
  for (const WorkerRecord& record : tables.workers) records[record.worker] = record;
  std::map<int32_t, Process> processes;
  for (auto& [worker, of_worker] : spans) {
    processes.emplace(worker,
                      Process{ProcessHistory(std::move(of_worker), std::move(samples[worker])),
                              RoundTrips(std::move(probes[worker])), records[worker]});
  }
  return processes;
}

void AddSpan(const Span& span, const Process& process, PhaseFacts& facts) {
  const bool first = facts.worker == kNoWorker;
  const HostFigures host = process.history.Of(span);
  facts.phase = span.phase;
  facts.round = span.round;
  facts.worker = span.recorded_by;
  facts.split += SplitSpan(span);
  facts.cpu_ns = std::min(kLongest, facts.cpu_ns + std::clamp<int64_t>(span.cpu_ns, 0, kLongest));
  facts.cpu_meanwhile_ns =
      std::min(kLongest, facts.cpu_meanwhile_ns + process.history.CpuMeanwhile(span));
  facts.bytes += span.bytes;
  if (first) {
    facts.host = host;
  } else {
    Add(host, facts.host);
  }
  facts.probe_round_trip_ns = process.trips.Smallest(span);
  facts.threads = process.record.threads;
  facts.visible_cores = std::max(1, process.record.visible_cores);
  facts.usable_cores = std::max(1, process.record.usable_cores);
  facts.quota_cores = process.record.quota_cores;
}

}  // namespace

std::span<const Phase> OwnPhases() { return kOwnPhases; }

FactsByPhase GatherFacts(const CauseTables& tables) {
  const std::map<int32_t, Process> processes = Processes(tables);
  const std::map<WorkerRound, int64_t> trained = LastTraining(tables.spans);
  std::map<WorkerRound, uint64_t> samples;
  for (const WorkerRoundRecord& part : tables.parts)
    samples[{part.worker, part.round}] = part.samples;
  FactsByPhase facts;
  std::set<std::pair<WorkerRound, Phase>> failed;
  for (const Span& span : tables.spans) {
    const auto process = processes.find(span.recorded_by);
    if (process == processes.end() || !IsOwnPhase(span.phase) || span.end_ns < span.begin_ns)
      continue;
    const WorkerRound key = {span.recorded_by, span.round};
    const auto last = trained.find(key);
    if (last != trained.end() && span.phase != Phase::kEvaluate && span.begin_ns < last->second)
      continue;
    if (!span.ok) failed.insert({key, span.phase});
    PhaseFacts& of_worker = facts[{span.round, span.phase}][span.recorded_by];
    AddSpan(span, process->second, of_worker);
    const auto trained_on = samples.find(key);
    if (trained_on != samples.end()) of_worker.samples = trained_on->second;
  }
  for (const auto& [key, phase] : failed) facts[{key.second, phase}].erase(key.first);
  return facts;
}

const PhaseFacts* MedianWorker(const FactsByWorker& facts) {
  std::vector<const PhaseFacts*> sorted;
  for (const auto& [worker, of_worker] : facts) sorted.push_back(&of_worker);
  if (sorted.empty()) return nullptr;
  std::stable_sort(sorted.begin(), sorted.end(), [](const PhaseFacts* a, const PhaseFacts* b) {
    return a->split.busy_ns() < b->split.busy_ns();
  });
  return sorted[(sorted.size() - 1) / 2];
}

}  // namespace interlude
