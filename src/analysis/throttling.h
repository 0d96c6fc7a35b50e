// When a worker's CPU quota held it up, by its samples: of any time, also between its spans. Pure;
// any thread.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "ledger/process_sample.h"
#include "ledger/run_database.h"

namespace interlude {

/// CPUs that a quota can hold up at once for the worker: its threads, at most the visible cores.
int64_t ThrottledCpus(int64_t threads, int64_t visible_cores);

/// The samples of one worker's process. Times are on its own clock.
class Throttling {
 public:
  /// What falls to a stretch of time; of a sample the part that it covers of the stretch.
  struct Part {
    /// Wall time in which the quota held the worker up while threads of its own were ready: the
    /// lesser of throttled_ns / CPUs and run_delay_ns, at most the time itself. What no sample
    /// covers counts as not held up.
    int64_t held_up_ns = 0;
    int64_t cpu_ns = 0;        // on a CPU, all threads
    int64_t run_delay_ns = 0;  // ready but without one, all threads together
  };

  /// `cpus`: see ThrottledCpus. Samples that lack one of the figures count for nothing.
  Throttling(std::span<const ProcessSample> samples, int64_t cpus);

  Part Within(int64_t begin_ns, int64_t end_ns) const;

 private:
  /// A sample's figures, per nanosecond.
  struct Rates {
    int64_t begin_ns, end_ns;
    double held_up, cpu, run_delay;
  };
  std::vector<Rates> rates_;  // by end
};

/// By worker; only those that were ever throttled.
using ThrottlingByWorker = std::map<int32_t, Throttling>;
ThrottlingByWorker FindThrottling(std::span<const WorkerRecord> workers,
                                  std::span<const ProcessSample> samples);

}  // namespace interlude
