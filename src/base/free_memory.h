// Whether the machine has the memory that a model wants, asked before it is taken: Linux would hand
// out more than there is and kill the process later.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"

namespace interlude {

/// Bytes that can be had on the machine without swapping, as the kernel estimates them
/// (MemAvailable); nothing where it does not say. `root` stands before /proc and /sys, for tests.
std::optional<uint64_t> AvailableMemoryBytes(const std::string& root = "");

/// What this process's cgroups, v1 or v2, leave of their memory limits, the smallest; nothing
/// without a limit. Cached files that nobody used lately don't count as used.
std::optional<uint64_t> MemoryLeftInCgroups(const std::string& root = "");

/// The smaller of the two, as far as they are known.
std::optional<uint64_t> MemoryLeft(const std::string& root = "");

/// ResourceExhausted, with both figures, when the machine has less than `wanted_bytes`. `what`
/// begins the message: "a model of 20 parameters".
Status CheckFreeMemory(std::string_view what, uint64_t wanted_bytes);

}  // namespace interlude
