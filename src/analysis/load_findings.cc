// Training that stands still until the next batch of pictures is ready.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "analysis/config_lines.h"
#include "analysis/finding_rules.h"
#include "analysis/loading.h"
#include "base/human_text.h"

namespace interlude::internal {
namespace {

constexpr double kWaits = 0.02;        // of a worker's training
constexpr double kCoresFull = 0.85;    // of its usable cores
constexpr double kEasier = 0.5;        // a picture's CPU time at the end, of that at the beginning
constexpr double kMostlyAsleep = 0.5;  // CPU time of loading, of the time that training waited
constexpr size_t kNamed = 8;

/// CPU time that a picture took in the first third of the rounds and in the last; 0: not known.
struct PictureCost {
  double first_ns = 0, last_ns = 0;
};

PictureCost CostOf(const std::map<uint32_t, ByWorker>& rounds, int32_t worker) {
  std::vector<Training> mine;
  for (const auto& [number, workers] : rounds) {
    if (const auto found = workers.find(worker); found != workers.end())
      mine.push_back(found->second);
  }
  const size_t third = mine.size() / 3;
  Training first, last;
  for (size_t i = 0; i < third; ++i) {
    first.Add(mine[i]);
    last.Add(mine[mine.size() - 1 - i]);
  }
  if (first.samples == 0 || last.samples == 0) return {};
  return {static_cast<double>(first.loading_ns) / static_cast<double>(first.samples),
          static_cast<double>(last.loading_ns) / static_cast<double>(last.samples)};
}

/// What is known of the worker that waited most.
struct Example {
  int32_t worker = kNoWorker;
  Training training;
  PictureCost cost;
  int64_t usable_cores = 0;   // 0: not known
  int64_t visible_cores = 0;  // likewise
  double machine_busy = 0;    // of the visible ones, by whatever process; 0: not known
  bool in_files = true;
  bool cached = true;

  bool CoresFull() const {
    const bool own = usable_cores > 0 && training.Share(training.cpu_ns) >=
                                             kCoresFull * static_cast<double>(usable_cores);
    return own ||
           (visible_cores > 0 && machine_busy >= kCoresFull * static_cast<double>(visible_cores));
  }
  bool GotEasier() const { return cost.first_ns > 0 && cost.last_ns < kEasier * cost.first_ns; }
  bool Slept() const {
    return static_cast<double>(training.loading_ns) <
           kMostlyAsleep * static_cast<double>(training.waited_ns);
  }
};

/// How many CPUs of the worker's machine were busy while it took samples; 0: not known.
double MachineBusy(const FindingContext& context, int32_t worker) {
  double busy_ns = 0, time_ns = 0;
  for (const ProcessSample& sample : context.input.tables.samples) {
    if (sample.recorded_by != worker || sample.machine_busy_ns < 0 || sample.interval_ns <= 0)
      continue;
    busy_ns += static_cast<double>(sample.machine_busy_ns);
    time_ns += static_cast<double>(sample.interval_ns);
  }
  return time_ns > 0 ? busy_ns / time_ns : 0;
}

Example ExampleOf(const FindingContext& context, const std::map<uint32_t, ByWorker>& rounds,
                  int32_t worker, const Training& training) {
  Example example{.worker = worker, .training = training, .cost = CostOf(rounds, worker)};
  for (const WorkerRecord& record : context.input.tables.workers) {
    if (record.worker != worker) continue;
    example.usable_cores = record.usable_cores;
    example.visible_cores = record.visible_cores;
  }
  example.machine_busy = MachineBusy(context, worker);
  const auto config = ConfigLines(context.input.config);
  const auto name = config.find("data.name");
  example.in_files = name == config.end() || name->second == "\"pets\"" ||
                     name->second == "\"folder\"" || name->second == "\"csv\"";
  const auto cache = config.find("data.cache");
  example.cached = cache == config.end() || cache->second != "false";
  return example;
}

std::string Advice(const Example& example) {
  if (!example.in_files) {
    return example.CoresFull()
               ? "All cores were busy: fewer changes to each picture ([augment]), or more cores."
               : "Let threads prepare the pictures beside training (data.loader_threads).";
  }
  std::string advice;
  if (!example.cached) {
    advice =
        "Keep decoded pictures in memory (data.cache): without it each is decoded again in "
        "each epoch. ";
  } else if (example.GotEasier()) {
    advice =
        "It was worst while the first epoch decoded, and the cache mends that by itself in a "
        "longer run; a smaller data.decode_side makes decoding quicker. ";
  } else if (!example.CoresFull() && example.Slept()) {
    return "Neither decoding nor training used the cores: the files come slowly. Put them on a "
           "local disk; more data.loader_threads wait for more of them at once.";
  } else {
    advice =
        "If this lasted for longer than an epoch, the cache does not hold the pictures: more "
        "memory for it (data.cache_mb), or smaller ones in it (data.decode_side). ";
  }
  return advice + (example.CoresFull()
                       ? "All cores were busy, so more threads won't help: pictures that are "
                         "scaled down beforehand, or fewer changes to each ([augment]), will."
                       : "Cores were free: more data.loader_threads, and a larger data.prefetch "
                         "where only some batches come late.");
}

std::vector<std::string> Evidence(const FindingContext& context, const Example& example,
                                  const std::vector<std::pair<double, int32_t>>& shares,
                                  const Finding& finding) {
  std::vector<std::string> sentences;
  if (shares.size() > 1) {
    std::string list;
    for (size_t i = 0; i < std::min(kNamed, shares.size()); ++i)
      list += fmt::format("{}worker {} {}", i == 0 ? "" : ", ", shares[i].second,
                          Percent(shares[i].first));
    sentences.push_back(fmt::format("Waited of their training: {}{}.", list,
                                    shares.size() > kNamed ? ", others less" : ""));
  }
  if (!context.path.empty()) {
    sentences.push_back(
        finding.saves_ns_per_round > 0
            ? fmt::format("Without the wait rounds would end {} sooner at most: that much of it "
                          "is on the critical path.",
                          HumanNs(finding.saves_ns_per_round))
            : "No round would end sooner without it: something else takes as long.");
  }
  const Training& training = example.training;
  sentences.push_back(fmt::format(
      "For each second that worker {} trained, {} of CPU time went into pictures; its process had "
      "{:.1f}{} CPUs{}.",
      example.worker, HumanSeconds(training.Share(training.loading_ns)),
      training.Share(training.cpu_ns),
      example.usable_cores > 0 ? fmt::format(" of {} usable", example.usable_cores) : "",
      example.machine_busy > 0
          ? fmt::format(", and {:.1f} of its machine's were busy", example.machine_busy)
          : ""));
  if (example.cost.first_ns > 0) {
    sentences.push_back(fmt::format(
        "A picture took {} of CPU time in the first third of the rounds, {} in the last.",
        HumanNs(std::llround(std::min(example.cost.first_ns, 0x1p60))),
        HumanNs(std::llround(std::min(example.cost.last_ns, 0x1p60)))));
  }
  return sentences;
}

}  // namespace

void FindLoading(const FindingContext& context, Findings& out) {
  const std::map<uint32_t, ByWorker> rounds = TrainingsOf(context);
  ByWorker sums;
  for (const auto& [number, workers] : rounds) {
    for (const auto& [worker, training] : workers) sums[worker].Add(training);
  }
  std::vector<std::pair<double, int32_t>> shares;
  Finding finding;
  for (const auto& [worker, training] : sums) {
    const double share = training.Share(training.waited_ns);
    if (share <= kWaits) continue;
    shares.emplace_back(share, worker);
    finding.workers.insert(worker);
  }
  if (shares.empty()) return;
  std::stable_sort(shares.begin(), shares.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  const auto [share, worst] = shares.front();
  const Example example = ExampleOf(context, rounds, worst, sums[worst]);
  finding.id = "training_waits_for_pictures";
  finding.grade = Grade::kObserved;
  context.SetSaving(SavingWithoutWaits(context, rounds, finding.workers), finding);
  finding.text = fmt::format(
      "{} waited for pictures for {} of {} training, {} a round (observed)",
      WorkersText(finding.workers), shares.size() == 1 ? Percent(share) : "up to " + Percent(share),
      shares.size() == 1 ? "its" : "their", HumanNs(LongestWaitPerRound(rounds, finding.workers)));
  finding.evidence = Evidence(context, example, shares, finding);
  finding.records = fmt::format(
      "SELECT round, recorded_by AS worker, busy_ns / 1e6 AS waited_ms, (end_ns - begin_ns) / 1e6 "
      "AS training_ms, cpu_ns / 1e6 AS loading_cpu_ms FROM spans WHERE phase = 'load' AND "
      "recorded_by IN ({}) AND round BETWEEN {} AND {} ORDER BY round, recorded_by",
      Listed(finding.workers), context.measured.begin()->first, context.measured.rbegin()->first);
  finding.try_this = Advice(example);
  out.push_back(std::move(finding));
}

}  // namespace interlude::internal
