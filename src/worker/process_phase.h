// Phases that run inside a library with threads of its own (training, evaluation): charged with the
// CPU time of the whole process, because that library's threads cannot be asked.
#pragma once

#include <time.h>

#include <algorithm>
#include <cstdint>

#include "base/thread_times.h"
#include "ledger/recorder.h"

namespace interlude {

/// CLOCK_PROCESS_CPUTIME_ID: all threads of this process.
inline int64_t ProcessCpuNs() {
  timespec now{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

/// Runs `work` inside `timer`, which is charged all CPU time that the process spent meanwhile: the
/// library's threads, and what little gRPC's do. Two workers in one process would be charged for
/// each other.
template <typename Work>
auto RunProcessPhase(PhaseTimer& timer, const Work& work) {
  const int64_t process_before = ProcessCpuNs();
  const int64_t thread_before = ReadThreadTimes().cpu_ns;
  auto result = [&] {
    const PhaseTimer::Scope scope = timer.Enter();
    return work();
  }();
  const int64_t own =
      ReadThreadTimes().cpu_ns - thread_before;  // the scope has charged this already
  timer.AddCpu(std::max<int64_t>(0, ProcessCpuNs() - process_before - own));
  return result;
}

}  // namespace interlude
