// How many cores this process may really use: cgroup quota (v1 and v2) and affinity, not what is
// visible. std::thread::hardware_concurrency() knows neither, which is how oversubscribed workers
// come about.
#pragma once

#include <optional>
#include <string>

namespace interlude {

/// What bounds this process's use of the CPU.
struct CpuLimits {
  /// Cores the kernel shows (online processors).
  int visible_cores = 1;
  /// Cores in the affinity mask.
  int affinity_cores = 1;
  /// The smallest quota/period over all visible ancestor cgroups, in cores; nothing when unlimited.
  std::optional<double> quota_cores;
  /// The file that set quota_cores.
  std::string quota_source;

  /// ceil(quota), capped by affinity, at least 1: the size of a thread pool.
  int UsableCores() const;
  /// One line for the start of a program: "2 usable cores (8 visible, 8 in the affinity mask,
  /// quota 1.50 by /sys/...)".
  std::string ToString() const;
};

/// Reads the limits now. `root` stands before /proc and /sys, for tests with a made-up file tree.
/// Files that are absent or unreadable count as no limit.
CpuLimits ReadCpuLimits(const std::string& root = "");

}  // namespace interlude
