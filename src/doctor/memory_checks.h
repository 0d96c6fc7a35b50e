// Memory: whether there is enough, how fast it is, and whether it comes in large pages.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "doctor/check.h"
#include "doctor/model_need.h"
#include "doctor/speed.h"

namespace interlude {

struct MemoryReading {
  std::optional<uint64_t> available_bytes;  // on the machine, without swapping
  /// What this process's cgroups leave of their limit, the smallest; nothing without a limit.
  std::optional<uint64_t> cgroup_left_bytes;
  std::string huge_pages;  // "always", "madvise", "never"; empty: not known
};

MemoryReading ReadMemory(const std::string& root);

Checks CheckMemory(const MemoryReading& reading, const Job& job,
                   const std::optional<CodecSpeed>& speed);

/// How long one thread pool needs to encode and to apply a model's payload.
struct CodecSeconds {
  double encode = 0;
  double apply = 0;
};
CodecSeconds CodecTime(const CodecSpeed& speed, uint64_t params);

}  // namespace interlude
