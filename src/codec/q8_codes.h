// The codes of q8: 256 evenly spaced multiples of a block's scale, -127/128 to 1 in steps of 1/128.
// Changing anything here is a new format (docs/formats/q8.md).
#pragma once

#include <cstdint>

namespace interlude {

/// Steps from 0 to the scale. Entries are whole numbers of steps: 8 significant bits at most, as a
/// scale has, so that scale * entry is exact in fp32.
inline constexpr float kQ8Steps = 128.0f;

/// The code of the entry that is exactly zero, also of values missing from a short last block. Code
/// c stands for c - 127 steps.
inline constexpr int32_t kQ8ZeroCode = 127;

/// The steps of the lowest entry; those of the highest are kQ8Steps.
inline constexpr float kQ8LowestSteps = -127.0f;

/// The square of a step. Those of a block's entries sum to at most 2^20 of them.
inline constexpr double kQ8SquareUnit = 0x1p-14;

}  // namespace interlude
