// Where the calling thread's time went, by the kernel's own account: on a CPU, and waiting for one.
#pragma once

#include <cstdint>

namespace interlude {

/// Totals since the thread began; differences of two readings are what a span records.
struct ThreadTimes {
  /// Time on a CPU (CLOCK_THREAD_CPUTIME_ID).
  int64_t cpu_ns = 0;
  /// Time runnable but waiting for a CPU; contains cgroup throttling. Zero where the kernel does
  /// not say.
  int64_t run_delay_ns = 0;
};

/// Costs about 2 µs with the run delay (one file read), 0.2 µs without.
ThreadTimes ReadThreadTimes();
ThreadTimes ReadThreadTimesWithDelay();

}  // namespace interlude
