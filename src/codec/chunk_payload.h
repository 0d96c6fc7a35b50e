// Where the bytes of a range of values lie in a chunk's payload, for each codec. Internal to
// codec/.
#pragma once

#include <cstddef>
#include <span>

#include "codec/block_format.h"
#include "codec/block_kernels.h"
#include "codec/chunk_codec.h"
#include "codec/codec_kernels.h"
#include "codec/fp32_codec.h"

namespace interlude {

inline const CodecKernels& KernelsOf(Codec codec) {
  switch (codec) {
    case Codec::kQ8:
      return SimdQ8Kernels();
    case Codec::kFp32:
      return Fp32Kernels();
    default:
      return SimdQ4Kernels();
  }
}

/// Those that are the specification.
inline const CodecKernels& SpecifiedKernels(Codec codec) {
  if (codec == Codec::kFp32) return Fp32Kernels();
  return codec == Codec::kQ8 ? ScalarQ8Kernels() : ScalarQ4Kernels();
}

/// Bytes of a block's codes, of codecs that have blocks.
inline size_t BlockCodeBytes(Codec codec) {
  return codec == Codec::kQ8 ? kQ8CodeBytes : kQ4CodeBytes;
}

/// The payload of a chunk of `count` values: the codes of all blocks, then all scales; or fp32
/// values. Byte is std::byte or const std::byte. Ranges begin at blocks.
template <typename Byte>
class ChunkPayload {
 public:
  /// Precondition: EncodedBytes(codec, count) bytes.
  ChunkPayload(Codec codec, std::span<Byte> bytes, size_t count)
      : codec_(codec), bytes_(bytes), codes_bytes_(CodesBytes(count)) {}

  Byte* codes(size_t begin) const { return bytes_.data() + CodesBytes(begin); }
  Byte* scales(size_t begin) const {
    return bytes_.data() + codes_bytes_ + begin / kBlockValues * kBlockScaleBytes;
  }
  std::span<Byte> codes(size_t begin, size_t end) const {
    return bytes_.subspan(CodesBytes(begin), CodesBytes(end) - CodesBytes(begin));
  }
  std::span<Byte> all_scales() const { return bytes_.subspan(codes_bytes_); }

 private:
  size_t CodesBytes(size_t count) const {
    return codec_ == Codec::kFp32 ? count * sizeof(float)
                                  : BlockCount(count) * BlockCodeBytes(codec_);
  }

  const Codec codec_;
  const std::span<Byte> bytes_;
  const size_t codes_bytes_;
};

/// A pointer into values that may be absent.
inline float* AtOrNull(std::span<float> values, size_t begin) {
  return values.empty() ? nullptr : values.data() + begin;
}

/// Aborts unless the spans of a call fit each other. `residual` may be 0.
void CheckChunkSizes(Codec codec, size_t count, size_t other, size_t residual, size_t payload);

}  // namespace interlude
