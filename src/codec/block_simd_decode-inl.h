// Decoding of q4 and q8 in vectors: weighted sums of payloads, applying one, its norm. `Codes` is
// Q4Codes or Q8Codes. Included once per Highway target, by block_simd.cc only; hence no #pragma
// once.
#if defined(INTERLUDE_CODEC_BLOCK_SIMD_DECODE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef INTERLUDE_CODEC_BLOCK_SIMD_DECODE_INL_H_
#undef INTERLUDE_CODEC_BLOCK_SIMD_DECODE_INL_H_
#else
#define INTERLUDE_CODEC_BLOCK_SIMD_DECODE_INL_H_
#endif

#include "codec/block_simd-inl.h"
#include "codec/codec_kernels.h"

#if HWY_TARGET != HWY_SCALAR
HWY_BEFORE_NAMESPACE();
namespace interlude {
namespace HWY_NAMESPACE {

/// Whether a vector can be streamed to `values` and every whole vector after it.
inline bool CanStream(const float* values) {
  return reinterpret_cast<uintptr_t>(values) % (kLanes * sizeof(float)) == 0;
}

template <bool kStream>
HWY_INLINE void StoreValues(FloatVector values, float* to) {
  if constexpr (kStream) {
    hn::Stream(values, FloatTag(), to);
  } else {
    hn::StoreU(values, FloatTag(), to);
  }
}

/// The values of a block's codes.
template <typename Codes>
HWY_INLINE typename Codes::Values BlockValues(const std::byte* scales, size_t block) {
  const float scale = BlockScaleValue(LoadBlockScale(scales, block));
  return typename Codes::Values(hn::Set(FloatTag(), scale));
}

template <typename Codes>
HWY_INLINE const uint8_t* BlockCodes(const std::byte* codes, size_t block) {
  return reinterpret_cast<const uint8_t*>(codes + block * Codes::kBytes);
}

/// Adds one block of each payload to sums that are held in registers.
template <typename Codes>
HWY_INLINE void AddBlock(std::span<const WeightedPayload> payloads, size_t block,
                         FloatVector (&sums)[kBlockVectors]) {
  const FloatTag tag;
  for (const WeightedPayload& payload : payloads) {
    const auto values =
        BlockValues<Codes>(payload.scales, block).Times(hn::Set(tag, payload.weight));
    typename Codes::Unpacker codes(BlockCodes<Codes>(payload.codes, block));
    for (size_t v = 0; v < kBlockVectors; ++v) {
      sums[v] = hn::Add(sums[v], values.At(codes.Next()));
    }
  }
}

template <typename Codes, bool kFromZero, bool kStream>
HWY_INLINE void SumBlock(std::span<const WeightedPayload> payloads, size_t block, float* sum) {
  const FloatTag tag;
  FloatVector sums[kBlockVectors];
  for (size_t v = 0; v < kBlockVectors; ++v) {
    sums[v] = kFromZero ? hn::Zero(tag) : hn::LoadU(tag, sum + v * kLanes);
  }
  AddBlock<Codes>(payloads, block, sums);
  for (size_t v = 0; v < kBlockVectors; ++v) StoreValues<kStream>(sums[v], sum + v * kLanes);
}

template <typename Codes, bool kFromZero, bool kStream>
HWY_INLINE void SumBlocks(std::span<const WeightedPayload> payloads, float* sum, size_t count) {
  const size_t full_blocks = count / kBlockValues;
  for (size_t block = 0; block < full_blocks; ++block) {
    SumBlock<Codes, kFromZero, kStream>(payloads, block, sum + block * kBlockValues);
  }
  const size_t done = full_blocks * kBlockValues;
  if (done == count) return;
  PaddedBlock last(sum + done, count - done);
  SumBlock<Codes, kFromZero, false>(payloads, full_blocks, last.data());
  last.CopyTo(sum + done);
}

template <typename Codes>
void DecodeSum(std::span<const WeightedPayload> payloads, SumStart start, float* sum,
               size_t count) {
  if (start == SumStart::kSum) return SumBlocks<Codes, false, false>(payloads, sum, count);
  if (start == SumStart::kZeroStreamed && CanStream(sum)) {
    return SumBlocks<Codes, true, true>(payloads, sum, count);
  }
  SumBlocks<Codes, true, false>(payloads, sum, count);
}

template <typename Codes, bool kStream>
HWY_INLINE void ApplyBlock(const std::byte* codes, const std::byte* scales, size_t block,
                           float* base, float* params) {
  const FloatTag tag;
  const auto values = BlockValues<Codes>(scales, block);
  typename Codes::Unpacker unpacker(BlockCodes<Codes>(codes, block));
  for (size_t v = 0; v < kBlockVectors; ++v) {
    const auto moved = hn::Add(hn::LoadU(tag, base + v * kLanes), values.At(unpacker.Next()));
    hn::StoreU(moved, tag, base + v * kLanes);
    StoreValues<kStream>(moved, params + v * kLanes);
  }
}

template <typename Codes, bool kStream>
HWY_INLINE void ApplyBlocks(const std::byte* codes, const std::byte* scales, float* base,
                            float* params, size_t count) {
  const size_t full_blocks = count / kBlockValues;
  for (size_t block = 0; block < full_blocks; ++block) {
    const size_t i = block * kBlockValues;
    ApplyBlock<Codes, kStream>(codes, scales, block, base + i, params + i);
  }
  const size_t done = full_blocks * kBlockValues;
  if (done == count) return;
  PaddedBlock last_base(base + done, count - done);
  PaddedBlock last_params(nullptr, count - done);
  ApplyBlock<Codes, false>(codes, scales, full_blocks, last_base.data(), last_params.data());
  last_base.CopyTo(base + done);
  last_params.CopyTo(params + done);
}

template <typename Codes>
void Apply(const std::byte* codes, const std::byte* scales, float* base, float* params,
           size_t count) {
  if (CanStream(params)) return ApplyBlocks<Codes, true>(codes, scales, base, params, count);
  ApplyBlocks<Codes, false>(codes, scales, base, params, count);
}

template <typename Codes>
double SquaredNorm(const std::byte* codes, const std::byte* scales, size_t count) {
  double sum = 0;
  const size_t full_blocks = count / kBlockValues;
  for (size_t block = 0; block < full_blocks; ++block) {
    sum += BlockNorm(LoadBlockScale(scales, block),
                     Codes::SumSquares(BlockCodes<Codes>(codes, block)), Codes::kSquareUnit);
  }
  const size_t done = full_blocks * kBlockValues;
  if (done == count) return sum;
  return sum + Codes::Scalar().squared_norm(codes + full_blocks * Codes::kBytes,
                                            scales + full_blocks * kBlockScaleBytes, count - done);
}

}  // namespace HWY_NAMESPACE
}  // namespace interlude
HWY_AFTER_NAMESPACE();
#endif  // HWY_TARGET != HWY_SCALAR

#endif  // per-target include guard
