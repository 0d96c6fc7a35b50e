// How often and how long a CPU quota has held up this process's cgroups. Any thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace interlude {

struct CpuThrottling {
  int64_t throttled_ns = 0;  // summed over the CPUs that were held up
  int64_t periods = 0;       // in which that happened
  friend bool operator==(const CpuThrottling&, const CpuThrottling&) = default;
};

/// Since each cgroup began, by its directory: of the process's cpu cgroup and of every ancestor
/// that is visible, v1 and v2, since each counts its own quota only. Empty where none counts.
std::map<std::string, CpuThrottling> ReadCpuThrottling(const std::string& root = "");

}  // namespace interlude
