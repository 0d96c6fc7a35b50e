#include "train/non_finite.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

namespace interlude {

namespace {

constexpr uint32_t kMagnitude = 0x7fffffffu;
constexpr uint32_t kInfinity = 0x7f800000u;
constexpr size_t kPiece = 4096;

// The largest magnitude as bits: an unconditional maximum, so that the compiler can use vector
// registers.
uint32_t LargestMagnitude(std::span<const float> values) {
  uint32_t largest = 0;
  for (const float value : values) {
    largest = std::max(largest, std::bit_cast<uint32_t>(value) & kMagnitude);
  }
  return largest;
}

}  // namespace

std::optional<size_t> FindNonFinite(std::span<const float> values) {
  for (size_t begin = 0; begin < values.size(); begin += kPiece) {
    const auto piece = values.subspan(begin, std::min(kPiece, values.size() - begin));
    if (LargestMagnitude(piece) < kInfinity) continue;
    const auto found = std::ranges::find_if_not(piece, [](float x) { return std::isfinite(x); });
    return begin + static_cast<size_t>(found - piece.begin());
  }
  return std::nullopt;
}

}  // namespace interlude
