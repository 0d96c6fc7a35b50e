// What q4 and q8 have in common (docs/formats/q4.md, q8.md): blocks of 64 values with one bf16
// scale each, where codes and scales lie, how a scale is made from a block's largest delta. Pure
// functions on integers and bits, shared by all kernels. What a code stands for is in q4_book.h and
// q8_codes.h.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace interlude {

static_assert(
    std::endian::native == std::endian::little,
    "payloads are little-endian and the kernels read and write them as they lie in memory");

/// Values that share one scale.
inline constexpr size_t kBlockValues = 64;
/// Bytes of a block's codes: eight 32-bit lanes of eight codes each; a byte a value.
inline constexpr size_t kQ4CodeBytes = 32;
inline constexpr size_t kQ8CodeBytes = 64;
/// Bytes of a block's scale, a bf16.
inline constexpr size_t kBlockScaleBytes = 2;

/// Blocks that `count` values take; the last may be short.
constexpr size_t BlockCount(size_t count) { return (count + kBlockValues - 1) / kBlockValues; }

/// Bytes that `count` values take where a block's codes take `code_bytes`: first the codes of all
/// blocks, then all scales.
constexpr size_t BlockPayloadBytes(size_t count, size_t code_bytes) {
  return BlockCount(count) * (code_bytes + kBlockScaleBytes);
}

/// Bits of +Inf: magnitudes (bits without the sign) from here on are Inf or NaN.
inline constexpr uint32_t kFloatInfBits = 0x7F800000u;
/// Bits of 2^-100: a block whose largest magnitude is below it is all zero, so that scale * entry
/// and what encoding loses never meet the subnormal range through the scale.
inline constexpr uint32_t kSmallestScaleBits = (127u - 100u) << 23;

/// Whether fp32 `bits` stand for Inf or NaN. On bits, so that no compiler flag can optimize it
/// away.
constexpr bool IsNonFinite(uint32_t bits) { return (bits & kFloatInfBits) == kFloatInfBits; }
constexpr bool IsNonFinite(float value) { return IsNonFinite(std::bit_cast<uint32_t>(value)); }

/// The bf16 scale of a block whose delta of largest magnitude has the fp32 bits `maximum_bits`:
/// rounded to nearest, ties to even, kept finite; +0 for a block that counts as all zero.
/// Precondition: not NaN, not Inf.
constexpr uint16_t BlockScaleOf(uint32_t maximum_bits) {
  const uint32_t magnitude = maximum_bits & 0x7FFFFFFFu;
  const uint32_t rounded = (magnitude + 0x7FFFu + ((magnitude >> 16) & 1u)) >> 16;
  const uint32_t finite = rounded < 0x7F80u ? rounded : 0x7F7Fu;
  const uint32_t scale = finite | ((maximum_bits >> 16) & 0x8000u);
  return static_cast<uint16_t>(magnitude < kSmallestScaleBits ? 0u : scale);
}

/// A bf16's value: exact.
constexpr float BlockScaleValue(uint16_t scale) {
  return std::bit_cast<float>(static_cast<uint32_t>(scale) << 16);
}

/// What values are multiplied with before their code is found: fl(1 / scale), and 0 for scale 0.
constexpr float InverseBlockScale(uint16_t scale) {
  return scale == 0 ? 0.0f : 1.0f / BlockScaleValue(scale);
}

/// The sum of a block's squared values from that of its entries' squares, which is a whole number
/// of units: exact, for a scale has 8 significant bits and the sum at most 29.
constexpr double BlockNorm(uint16_t scale, uint64_t squares, double unit) {
  const double value = static_cast<double>(BlockScaleValue(scale));
  return value * value * (static_cast<double>(squares) * unit);
}

/// Whether an encoder can have written this scale: +0, or finite and at least 2^-100 in magnitude.
constexpr bool IsValidBlockScale(uint16_t scale) {
  const uint32_t magnitude = scale & 0x7FFFu;
  const uint32_t smallest =
      kSmallestScaleBits >> 16;  // wraps below it; no branch: see payload_check.cc
  return (scale == 0) | (magnitude - smallest < 0x7F80u - smallest);
}

inline uint16_t LoadBlockScale(const std::byte* scales, size_t block) {
  uint16_t scale;
  std::memcpy(&scale, scales + block * kBlockScaleBytes, sizeof(scale));
  return scale;
}

inline void StoreBlockScale(uint16_t scale, std::byte* scales, size_t block) {
  std::memcpy(scales + block * kBlockScaleBytes, &scale, sizeof(scale));
}

}  // namespace interlude
