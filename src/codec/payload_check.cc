// ValidatePayload: whether bytes from the network may be decoded.
#include <algorithm>
#include <bit>
#include <cstring>

#include "codec/chunk_codec.h"
#include "codec/q4_format.h"

namespace interlude {
namespace {

/// The first of `count` items that is not good, or `count`. Whole groups are looked at without a
/// branch in between, which compilers turn into vector code.
template <typename Good>
size_t FirstBad(size_t count, const Good& good) {
  constexpr size_t kGroup = 1024;
  for (size_t begin = 0; begin < count; begin += kGroup) {
    const size_t end = std::min(count, begin + kGroup);
    unsigned bad = 0;
    for (size_t i = begin; i < end; ++i) bad |= good(i) ? 0u : 1u;
    if (bad == 0) continue;
    for (size_t i = begin; i < end; ++i) {
      if (!good(i)) return i;
    }
  }
  return count;
}

Status ValidateQ4(std::span<const std::byte> payload, size_t count) {
  const size_t blocks = Q4BlockCount(count);
  const std::byte* scales = payload.data() + blocks * kQ4CodeBytes;
  const size_t block =
      FirstBad(blocks, [&](size_t i) { return IsValidQ4Scale(LoadQ4Scale(scales, i)); });
  if (block == blocks) return OkStatus();
  const uint16_t scale = LoadQ4Scale(scales, block);
  return DataLossError(
      "q4 payload: block {} (values {} to {}) has scale {} (bf16 0x{:04X}); a scale is +0, or "
      "finite and at least 2^-100 in magnitude; the sender or the line damaged it: ask for the "
      "chunk again",
      block, block * kQ4BlockValues, std::min(count, (block + 1) * kQ4BlockValues) - 1,
      Q4ScaleValue(scale), scale);
}

Status ValidateFp32(std::span<const std::byte> payload, size_t count) {
  const auto bits_at = [&](size_t i) {
    uint32_t bits;
    std::memcpy(&bits, payload.data() + i * sizeof(bits), sizeof(bits));
    return bits;
  };
  const size_t i = FirstBad(count, [&](size_t k) { return !IsNonFinite(bits_at(k)); });
  if (i == count) return OkStatus();
  return DataLossError(
      "fp32 payload: value {} of {} is {}; the sender or the line damaged it: ask for the chunk "
      "again",
      i, count, std::bit_cast<float>(bits_at(i)));
}

}  // namespace

Status ValidatePayload(Codec codec, std::span<const std::byte> payload, size_t count) {
  if (codec != Codec::kQ4 && codec != Codec::kFp32) {
    return InvalidArgumentError(
        "payload: codec number {} is unknown; known are 1 (q4) and 2 (fp32)",
        static_cast<int>(codec));
  }
  const char* name = codec == Codec::kQ4 ? "q4" : "fp32";
  if (payload.size() != EncodedBytes(codec, count)) {
    return InvalidArgumentError(
        "payload: {} bytes, but {} values take {} bytes as {}; the sender runs "
        "another layout or another codec",
        payload.size(), count, EncodedBytes(codec, count), name);
  }
  return codec == Codec::kQ4 ? ValidateQ4(payload, count) : ValidateFp32(payload, count);
}

}  // namespace interlude
