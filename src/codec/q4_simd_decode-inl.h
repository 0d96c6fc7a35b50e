// Decoding of q4 in vectors: weighted sums of payloads and applying one. Included once per Highway
// target, by q4_simd.cc only; hence no #pragma once.
#if defined(INTERLUDE_CODEC_Q4_SIMD_DECODE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef INTERLUDE_CODEC_Q4_SIMD_DECODE_INL_H_
#undef INTERLUDE_CODEC_Q4_SIMD_DECODE_INL_H_
#else
#define INTERLUDE_CODEC_Q4_SIMD_DECODE_INL_H_
#endif

#include "codec/codec_kernels.h"
#include "codec/q4_simd_codes-inl.h"

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
HWY_INLINE ValueTable BlockValues(const std::byte* scales, size_t block) {
  return ValueTable(hn::Set(FloatTag(), Q4ScaleValue(LoadQ4Scale(scales, block))));
}

HWY_INLINE const uint8_t* BlockCodes(const std::byte* codes, size_t block) {
  return reinterpret_cast<const uint8_t*>(codes + block * kQ4CodeBytes);
}

/// Adds one block of each payload to sums that are held in registers.
HWY_INLINE void AddBlock(std::span<const WeightedPayload> payloads, size_t block,
                         FloatVector (&sums)[kBlockVectors]) {
  const FloatTag tag;
  for (const WeightedPayload& payload : payloads) {
    const ValueTable values =
        BlockValues(payload.scales, block).Times(hn::Set(tag, payload.weight));
    CodeUnpacker codes(BlockCodes(payload.codes, block));
    for (size_t v = 0; v < kBlockVectors; ++v) {
      sums[v] = hn::Add(sums[v], values.At(codes.Next()));
    }
  }
}

template <bool kFromZero, bool kStream>
HWY_INLINE void SumBlock(std::span<const WeightedPayload> payloads, size_t block, float* sum) {
  const FloatTag tag;
  FloatVector sums[kBlockVectors];
  for (size_t v = 0; v < kBlockVectors; ++v) {
    sums[v] = kFromZero ? hn::Zero(tag) : hn::LoadU(tag, sum + v * kLanes);
  }
  AddBlock(payloads, block, sums);
  for (size_t v = 0; v < kBlockVectors; ++v) StoreValues<kStream>(sums[v], sum + v * kLanes);
}

template <bool kFromZero, bool kStream>
HWY_INLINE void SumBlocks(std::span<const WeightedPayload> payloads, float* sum, size_t count) {
  const size_t full_blocks = count / kQ4BlockValues;
  for (size_t block = 0; block < full_blocks; ++block) {
    SumBlock<kFromZero, kStream>(payloads, block, sum + block * kQ4BlockValues);
  }
  const size_t done = full_blocks * kQ4BlockValues;
  if (done == count) return;
  PaddedBlock last(sum + done, count - done);
  SumBlock<kFromZero, false>(payloads, full_blocks, last.data());
  last.CopyTo(sum + done);
}

void DecodeSum(std::span<const WeightedPayload> payloads, SumStart start, float* sum,
               size_t count) {
  if (start == SumStart::kSum) return SumBlocks<false, false>(payloads, sum, count);
  if (start == SumStart::kZeroStreamed && CanStream(sum)) {
    return SumBlocks<true, true>(payloads, sum, count);
  }
  SumBlocks<true, false>(payloads, sum, count);
}

template <bool kStream>
HWY_INLINE void ApplyBlock(const std::byte* codes, const std::byte* scales, size_t block,
                           float* base, float* params) {
  const FloatTag tag;
  const ValueTable values = BlockValues(scales, block);
  CodeUnpacker unpacker(BlockCodes(codes, block));
  for (size_t v = 0; v < kBlockVectors; ++v) {
    const auto moved = hn::Add(hn::LoadU(tag, base + v * kLanes), values.At(unpacker.Next()));
    hn::StoreU(moved, tag, base + v * kLanes);
    StoreValues<kStream>(moved, params + v * kLanes);
  }
}

template <bool kStream>
HWY_INLINE void ApplyBlocks(const std::byte* codes, const std::byte* scales, float* base,
                            float* params, size_t count) {
  const size_t full_blocks = count / kQ4BlockValues;
  for (size_t block = 0; block < full_blocks; ++block) {
    const size_t i = block * kQ4BlockValues;
    ApplyBlock<kStream>(codes, scales, block, base + i, params + i);
  }
  const size_t done = full_blocks * kQ4BlockValues;
  if (done == count) return;
  PaddedBlock last_base(base + done, count - done);
  PaddedBlock last_params(nullptr, count - done);
  ApplyBlock<false>(codes, scales, full_blocks, last_base.data(), last_params.data());
  last_base.CopyTo(base + done);
  last_params.CopyTo(params + done);
}

void Apply(const std::byte* codes, const std::byte* scales, float* base, float* params,
           size_t count) {
  if (CanStream(params)) return ApplyBlocks<true>(codes, scales, base, params, count);
  ApplyBlocks<false>(codes, scales, base, params, count);
}

}  // namespace HWY_NAMESPACE
}  // namespace interlude
HWY_AFTER_NAMESPACE();
#endif  // HWY_TARGET != HWY_SCALAR

#endif  // per-target include guard
