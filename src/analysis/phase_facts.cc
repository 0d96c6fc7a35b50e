#include "analysis/phase_facts.h"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <set>

namespace interlude {
namespace {

constexpr std::array kOwnPhases = {Phase::kEvaluate, Phase::kTrain, Phase::kEncode, Phase::kUpload,
                                   Phase::kDownload, Phase::kApply, Phase::kVerify};
constexpr int64_t kLongest = int64_t{1} << 60;

bool IsOwnPhase(Phase phase) {
  return std::find(kOwnPhases.begin(), kOwnPhases.end(), phase) != kOwnPhases.end();
}

/// When a worker's round began, and when its last training for it.
struct Begins {
  int64_t first_ns = std::numeric_limits<int64_t>::max();
  std::optional<int64_t> training_ns;
};

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

  int64_t Smallest(int64_t from, int64_t to) const {
    auto probe = std::lower_bound(probes_.begin(), probes_.end(), from,
                                  [](const ClockProbe& p, int64_t at) { return p.sent_ns < at; });
    std::optional<int64_t> smallest;
    for (; probe != probes_.end() && probe->sent_ns <= to; ++probe) {
      const int64_t trip = probe->round_trip_ns();
      if (!smallest || trip < *smallest) smallest = trip;
    }
    return smallest.value_or(kUnknownFigure);
  }

 private:
  std::vector<ClockProbe> probes_;
};

/// Parts of a table by the worker that they are about.
template <typename T, typename Worker>
std::map<int32_t, std::vector<T>> ByWorker(std::span<const T> rows, Worker worker) {
  std::map<int32_t, size_t> sizes;
  for (const T& row : rows) ++sizes[worker(row)];
  std::map<int32_t, std::vector<T>> parts;
  for (const auto& [of, size] : sizes) parts[of].reserve(size);
  for (const T& row : rows) parts[worker(row)].push_back(row);
  return parts;
}

std::map<int32_t, Begins> BeginsOf(std::span<const Span* const> spans) {
  std::map<int32_t, Begins> begins;
  for (const Span* span : spans) {
    Begins& of_worker = begins[span->recorded_by];
    of_worker.first_ns = std::min(of_worker.first_ns, span->begin_ns);
    if (span->phase == Phase::kTrain)
      of_worker.training_ns =
          std::max(of_worker.training_ns.value_or(span->begin_ns), span->begin_ns);
  }
  return begins;
}

}  // namespace

struct FactsSource::Process {
  ProcessHistory history;
  RoundTrips trips;
  WorkerRecord record;
  std::optional<Throttling> throttling;  // nothing: it never was throttled

  void Add(const Span& span, int64_t round_begin_ns, PhaseFacts& facts) const;
  void AddThrottling(const Span& span, PhaseFacts& facts) const;
};

void FactsSource::Process::AddThrottling(const Span& span, PhaseFacts& facts) const {
  const SpanSplit split = SplitSpan(span);
  if (!throttling || split.inside_ns() == 0) return;
  const Throttling::Part part = throttling->Within(span.begin_ns, span.end_ns);
  const auto of_busy = [&](int64_t ns) {
    return static_cast<int64_t>(static_cast<double>(ns) * static_cast<double>(split.busy_ns()) /
                                static_cast<double>(split.inside_ns()));
  };
  const int64_t others = std::max<int64_t>(0, part.run_delay_ns - history.DelayMeanwhile(span));
  facts.held_up_ns = std::min(kLongest, facts.held_up_ns + of_busy(part.held_up_ns));
  facts.others_delay_ns = std::min(kLongest, facts.others_delay_ns + of_busy(others));
}

void FactsSource::Process::Add(const Span& span, int64_t round_begin_ns, PhaseFacts& facts) const {
  const bool first = facts.worker == kNoWorker;
  const HostFigures host = history.Of(span);
  facts.phase = span.phase;
  facts.round = span.round;
  facts.worker = span.recorded_by;
  facts.split += SplitSpan(span);
  facts.cpu_ns = std::min(kLongest, facts.cpu_ns + std::clamp<int64_t>(span.cpu_ns, 0, kLongest));
  facts.cpu_meanwhile_ns = std::min(kLongest, facts.cpu_meanwhile_ns + history.CpuMeanwhile(span));
  AddThrottling(span, facts);
  facts.bytes += span.bytes;
  if (first) {
    facts.host = host;
  } else {
    interlude::Add(host, facts.host);
  }
  facts.probe_round_trip_ns = trips.Smallest(round_begin_ns, span.end_ns);
  facts.threads = record.threads;
  facts.visible_cores = std::max(1, record.visible_cores);
  facts.usable_cores = std::max(1, record.usable_cores);
  facts.quota_cores = record.quota_cores;
}

FactsSource::FactsSource(const CauseTables& tables) {
  std::map<int32_t, std::vector<const Span*>> spans;
  for (const Span& span : tables.spans) {
    if (span.recorded_by < 0 || !IsWorkerPhase(span.phase)) continue;
    spans[span.recorded_by].push_back(&span);
    if (span.phase == Phase::kLoad)
      waited_[{span.recorded_by, span.round}] = std::clamp<int64_t>(span.busy_ns, 0, kLongest);
    if (IsOwnPhase(span.phase) && span.end_ns >= span.begin_ns) spans_.push_back(&span);
  }
  std::stable_sort(spans_.begin(), spans_.end(),
                   [](const Span* a, const Span* b) { return a->round < b->round; });
  auto samples = ByWorker(tables.samples, [](const ProcessSample& s) { return s.recorded_by; });
  auto probes = ByWorker(tables.probes, [](const ClockProbe& p) { return p.worker; });
  std::map<int32_t, WorkerRecord> records;
  for (const WorkerRecord& record : tables.workers) records[record.worker] = record;
  ThrottlingByWorker throttling = FindThrottling(tables.workers, tables.samples);
  for (auto& [worker, of_worker] : spans) {
    auto throttled = throttling.extract(worker);
    processes_.emplace(
        worker, Process{ProcessHistory(of_worker, std::move(samples[worker])),
                        RoundTrips(std::move(probes[worker])), records[worker],
                        throttled ? std::optional(std::move(throttled.mapped())) : std::nullopt});
  }
  for (const WorkerRoundRecord& part : tables.parts)
    samples_[{part.worker, part.round}] = part.samples;
}

FactsSource::~FactsSource() = default;

std::vector<uint32_t> FactsSource::Rounds() const {
  std::vector<uint32_t> rounds;
  for (const Span* span : spans_) {
    if (rounds.empty() || rounds.back() != span->round) rounds.push_back(span->round);
  }
  return rounds;
}

FactsByPhase FactsSource::OfRound(uint32_t round) const {
  const auto begin = std::partition_point(spans_.begin(), spans_.end(),
                                          [&](const Span* span) { return span->round < round; });
  const auto end = std::partition_point(begin, spans_.end(),
                                        [&](const Span* span) { return span->round == round; });
  const std::span<const Span* const> of_round(begin, end);
  const std::map<int32_t, Begins> begins = BeginsOf(of_round);
  FactsByPhase facts;
  std::set<std::pair<Phase, int32_t>> failed;
  for (const Span* span : of_round) {
    const Begins& began = begins.at(span->recorded_by);
    if (began.training_ns && span->phase != Phase::kEvaluate && span->begin_ns < *began.training_ns)
      continue;
    if (!span->ok) failed.insert({span->phase, span->recorded_by});
    PhaseFacts& of_worker = facts[span->phase][span->recorded_by];
    processes_.at(span->recorded_by).Add(*span, began.first_ns, of_worker);
    const auto trained_on = samples_.find({span->recorded_by, round});
    if (trained_on != samples_.end()) of_worker.samples = trained_on->second;
    const auto waited = waited_.find({span->recorded_by, round});
    if (waited != waited_.end() && span->phase == Phase::kTrain)
      of_worker.waited_ns = waited->second;
  }
  for (const auto& [phase, worker] : failed) facts[phase].erase(worker);
  return facts;
}

std::span<const Phase> OwnPhases() { return kOwnPhases; }

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
