#include "analysis/throttling.h"

#include <algorithm>
#include <cmath>

namespace interlude {
namespace {

/// So that differences and sums of times stay in range.
constexpr int64_t kMostNs = int64_t{1} << 60;

bool IsUsable(const ProcessSample& sample) {
  return sample.at_ns <= kMostNs && sample.interval_ns > 0 && sample.interval_ns <= sample.at_ns &&
         sample.throttled_ns >= 0 && sample.cpu_ns >= 0 && sample.run_delay_ns >= 0;
}

int64_t Rounded(double ns) { return std::llround(std::clamp(ns, 0.0, 0x1p60)); }

}  // namespace

int64_t ThrottledCpus(int64_t threads, int64_t visible_cores) {
  return std::clamp<int64_t>(threads, 1, std::max<int64_t>(1, visible_cores));
}

Throttling::Throttling(std::span<const ProcessSample> samples, int64_t cpus) {
  for (const ProcessSample& sample : samples) {
    if (!IsUsable(sample)) continue;
    const auto interval = static_cast<double>(sample.interval_ns);
    const double throttled =
        static_cast<double>(sample.throttled_ns) / static_cast<double>(cpus) / interval;
    const double run_delay = static_cast<double>(sample.run_delay_ns) / interval;
    rates_.push_back({.begin_ns = sample.at_ns - sample.interval_ns,
                      .end_ns = sample.at_ns,
                      .held_up = std::min({1.0, throttled, run_delay}),
                      .cpu = static_cast<double>(sample.cpu_ns) / interval,
                      .run_delay = run_delay});
  }
  std::sort(rates_.begin(), rates_.end(),
            [](const Rates& a, const Rates& b) { return a.end_ns < b.end_ns; });
}

Throttling::Part Throttling::Within(int64_t begin_ns, int64_t end_ns) const {
  double held_up = 0, cpu = 0, run_delay = 0;
  auto rates = std::upper_bound(rates_.begin(), rates_.end(), begin_ns,
                                [](int64_t at, const Rates& one) { return at < one.end_ns; });
  for (; rates != rates_.end() && rates->begin_ns < end_ns; ++rates) {
    const auto overlap = static_cast<double>(std::min(end_ns, rates->end_ns)) -
                         static_cast<double>(std::max(begin_ns, rates->begin_ns));
    held_up += overlap * rates->held_up;
    cpu += overlap * rates->cpu;
    run_delay += overlap * rates->run_delay;
  }
  // Samples that overlap each other cannot be; but a file may hold them.
  const double length = static_cast<double>(end_ns) - static_cast<double>(begin_ns);
  return {Rounded(std::min(held_up, length)), Rounded(cpu), Rounded(run_delay)};
}

ThrottlingByWorker FindThrottling(std::span<const WorkerRecord> workers,
                                  std::span<const ProcessSample> samples) {
  std::map<int32_t, std::vector<ProcessSample>> of_throttled;
  for (const ProcessSample& sample : samples) {
    if (sample.throttled_ns > 0) of_throttled[sample.recorded_by];
  }
  for (const ProcessSample& sample : samples) {
    const auto own = of_throttled.find(sample.recorded_by);
    if (own != of_throttled.end()) own->second.push_back(sample);
  }
  ThrottlingByWorker found;
  for (const WorkerRecord& worker : workers) {
    const auto own = of_throttled.find(worker.worker);
    if (own == of_throttled.end()) continue;
    found.emplace(worker.worker,
                  Throttling(own->second, ThrottledCpus(worker.threads, worker.visible_cores)));
  }
  return found;
}

}  // namespace interlude
