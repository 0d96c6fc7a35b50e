#include "base/free_memory.h"

#include <fstream>
#include <string>

namespace interlude {

uint64_t AvailableMemoryBytes() {
  std::ifstream in("/proc/meminfo");
  std::string key;
  uint64_t kib = 0;
  std::string unit;
  while (in >> key >> kib >> unit) {
    if (key == "MemAvailable:") return kib * 1024;
  }
  return UINT64_MAX;
}

Status CheckFreeMemory(std::string_view what, uint64_t wanted_bytes) {
  const uint64_t available = AvailableMemoryBytes();
  if (wanted_bytes <= available) return OkStatus();
  return ResourceExhaustedError(
      "{} needs {:.2f} GiB of memory here, and {:.2f} GiB are free: use a machine with more memory",
      what, static_cast<double>(wanted_bytes) / 0x1p30, static_cast<double>(available) / 0x1p30);
}

}  // namespace interlude
