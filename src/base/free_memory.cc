#include "base/free_memory.h"

#include <algorithm>

#include "base/cgroups.h"
#include "base/proc_text.h"

namespace interlude {
namespace {

/// A cgroup without a limit says "max", or in v1 a number beyond any memory.
constexpr int64_t kNoLimit = int64_t{1} << 60;

std::optional<int64_t> NumberIn(const std::string& path) {
  const auto text = ReadProcText(path);
  return text ? Number(*text) : std::nullopt;
}

}  // namespace

std::optional<uint64_t> AvailableMemoryBytes(const std::string& root) {
  const auto text = ReadProcText(root + "/proc/meminfo");
  const auto bytes = text ? Times(NumberAfter(*text, "MemAvailable:"), 1024) : std::nullopt;
  if (!bytes || *bytes < 0) return std::nullopt;
  return static_cast<uint64_t>(*bytes);
}

std::optional<uint64_t> MemoryLeftInCgroups(const std::string& root) {
  std::optional<uint64_t> left;
  for (const Cgroup& group : FindCgroups("memory", root)) {
    const std::string memory = group.directory + "/memory.";
    const auto limit = NumberIn(memory + (group.v2 ? "max" : "limit_in_bytes"));
    const auto usage = NumberIn(memory + (group.v2 ? "current" : "usage_in_bytes"));
    if (!limit || !usage || *limit < 0 || *limit >= kNoLimit) continue;
    const auto stat = ReadProcText(memory + "stat");
    const auto cached = stat
                            ? NumberAfter(*stat, group.v2 ? "inactive_file" : "total_inactive_file")
                            : std::nullopt;
    const int64_t taken = *usage - std::clamp<int64_t>(cached.value_or(0), 0, *usage);
    const auto here = static_cast<uint64_t>(std::max<int64_t>(0, *limit - taken));
    left = std::min(left.value_or(here), here);
  }
  return left;
}

std::optional<uint64_t> MemoryLeft(const std::string& root) {
  const auto machine = AvailableMemoryBytes(root), cgroups = MemoryLeftInCgroups(root);
  return machine && cgroups ? std::min(machine, cgroups) : machine ? machine : cgroups;
}

Status CheckFreeMemory(std::string_view what, uint64_t wanted_bytes) {
  const auto available = AvailableMemoryBytes();
  if (!available || wanted_bytes <= *available) return OkStatus();
  return ResourceExhaustedError(
      "{} needs {:.2f} GiB of memory here, and {:.2f} GiB are free: use a machine with more memory",
      what, static_cast<double>(wanted_bytes) / 0x1p30, static_cast<double>(*available) / 0x1p30);
}

}  // namespace interlude
