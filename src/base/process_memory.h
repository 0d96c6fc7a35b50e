// What the kernel says of the memory of one process. Reads /proc; any thread.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string_view>

namespace interlude {

/// Resident memory of a process in bytes.
struct ProcessMemory {
  uint64_t anonymous = 0;      // RssAnon: heap, stacks, Buffers; not pages of mapped files
  uint64_t resident = 0;       // VmRSS: the above and pages of files, such as a mapped journal
  uint64_t peak_resident = 0;  // VmHWM: the most that VmRSS ever was
  uint64_t swapped = 0;        // VmSwap; 0 where the kernel cannot swap
  uint64_t mapped = 0;         // VmSize: address space, resident or not
};

/// Nothing when there is no such process, or it has ended and was not waited for.
std::optional<ProcessMemory> ReadProcessMemory(pid_t pid);

/// The same from the text of a /proc/PID/status.
std::optional<ProcessMemory> ParseProcessStatus(std::string_view status);

}  // namespace interlude
