// Pressure stall information: how long tasks were held up for want of a CPU, memory or a disk. Any
// thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace interlude {

/// Totals since the machine (or the cgroup) began. Nothing where the kernel keeps none, or was told
/// not to (psi=0).
struct Pressure {
  std::optional<int64_t> cpu_some_ns;  // at least one task of the machine was held up
  std::optional<int64_t> memory_some_ns;
  std::optional<int64_t> io_some_ns;
  /// All tasks of this process's own cgroup at once waited for a CPU; v2 only.
  std::optional<int64_t> cgroup_cpu_full_ns;
};

/// Reads /proc/pressure and the own cgroup's cpu.pressure below `root`.
Pressure ReadPressure(const std::string& root = "");

}  // namespace interlude
