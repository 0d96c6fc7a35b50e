// What the kernel has counted for this process since it began: CPU, faults, disk. Any thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "base/process_memory.h"

namespace interlude {

/// Nothing where the kernel does not say.
struct ProcessCounters {
  std::optional<int64_t> cpu_ns;  // all threads, also those that have ended
  std::optional<int64_t> threads;
  std::optional<int64_t> major_faults;
  std::optional<int64_t> minor_faults;
  std::optional<int64_t> disk_read_bytes;
  std::optional<int64_t> disk_write_bytes;
  std::optional<ProcessMemory> memory;
  /// Of each thread that is there, by its id, since it began: ready but waiting for a CPU. A thread
  /// that ends takes its figure with it.
  std::optional<std::map<int64_t, int64_t>> run_delay_ns_by_thread;
};

/// Reads /proc/self/{stat,status,io,task} below `root`; the CPU time is always that of the calling
/// process (CLOCK_PROCESS_CPUTIME_ID, to the nanosecond, where stat counts ticks).
ProcessCounters ReadProcessCounters(const std::string& root = "");

}  // namespace interlude
