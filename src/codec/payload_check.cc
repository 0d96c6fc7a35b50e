// ValidatePayload: whether bytes from the network may be decoded.
#include <algorithm>
#include <bit>
#include <cstring>

#include "codec/block_format.h"
#include "codec/chunk_codec.h"
#include "codec/chunk_payload.h"

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

/// Every code of q4 and q8 is valid, so the scales are all there is to look at.
Status ValidateScales(Codec codec, std::span<const std::byte> payload, size_t count) {
  const size_t blocks = BlockCount(count);
  const std::byte* scales = ChunkPayload(codec, payload, count).scales(0);
  const size_t block =
      FirstBad(blocks, [&](size_t i) { return IsValidBlockScale(LoadBlockScale(scales, i)); });
  if (block == blocks) return OkStatus();
  const uint16_t scale = LoadBlockScale(scales, block);
  return DataLossError(
      "{} payload: block {} (values {} to {}) has scale {} (bf16 0x{:04X}); a scale is +0, or "
      "finite and at least 2^-100 in magnitude; the sender or the line damaged it: ask for the "
      "chunk again",
      CodecName(codec), block, block * kBlockValues,
      std::min(count, (block + 1) * kBlockValues) - 1, BlockScaleValue(scale), scale);
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
  if (std::ranges::find(kAllCodecs, codec) == kAllCodecs.end()) {
    return InvalidArgumentError(
        "payload: codec number {} is unknown; known are 1 (q4), 2 (fp32) and 3 (q8)",
        static_cast<int>(codec));
  }
  if (payload.size() != EncodedBytes(codec, count)) {
    return InvalidArgumentError(
        "payload: {} bytes, but {} values take {} bytes as {}; the sender runs "
        "another layout or another codec",
        payload.size(), count, EncodedBytes(codec, count), CodecName(codec));
  }
  return codec == Codec::kFp32 ? ValidateFp32(payload, count)
                               : ValidateScales(codec, payload, count);
}

}  // namespace interlude
