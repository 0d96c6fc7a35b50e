// Whether the machine has the memory that a model wants, asked before it is taken: Linux would hand
// out more than there is and kill the process later.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/status.h"

namespace interlude {

/// Bytes that can be had without swapping, as the kernel estimates them (MemAvailable); UINT64_MAX
/// where it does not say.
uint64_t AvailableMemoryBytes();

/// ResourceExhausted, with both figures, when less than `wanted_bytes` can be had. `what` begins
/// the message: "a model of 20 parameters".
Status CheckFreeMemory(std::string_view what, uint64_t wanted_bytes);

}  // namespace interlude
