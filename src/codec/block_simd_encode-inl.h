// Encoding of q4 and q8 in vectors: a block is read, searched, packed, decoded and written while it
// is in registers, which leaves the processor room to wait for the memory of later blocks
// meanwhile. `Codes` is Q4Codes or Q8Codes. Included once per Highway target, by block_simd.cc
// only; hence no #pragma once.
#if defined(INTERLUDE_CODEC_BLOCK_SIMD_ENCODE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef INTERLUDE_CODEC_BLOCK_SIMD_ENCODE_INL_H_
#undef INTERLUDE_CODEC_BLOCK_SIMD_ENCODE_INL_H_
#else
#define INTERLUDE_CODEC_BLOCK_SIMD_ENCODE_INL_H_
#endif

#include <algorithm>

#include "codec/block_simd-inl.h"
#include "codec/codec_kernels.h"

#if HWY_TARGET != HWY_SCALAR
HWY_BEFORE_NAMESPACE();
namespace interlude {
namespace HWY_NAMESPACE {

/// The bits of the delta of largest magnitude; of +m and -m the positive one. Integer maxima: as
/// signed integers the largest float is the largest, as unsigned ones the most negative is, and NaN
/// and Inf win. Without a branch on the sign, which no processor can foresee: magnitudes compare
/// one bit to the left, with the lowest bit set for a positive one.
HWY_INLINE uint32_t SignedMaximum(const FloatVector (&deltas)[kBlockVectors]) {
  const SignedTag signed_tag;
  const UnsignedTag tag;
  auto highest = hn::Zero(signed_tag);
  auto lowest = hn::Zero(tag);
  for (const FloatVector& delta : deltas) {
    highest = hn::Max(highest, hn::BitCast(signed_tag, delta));
    lowest = hn::Max(lowest, hn::BitCast(tag, delta));
  }
  const auto positive = hn::Or(hn::ShiftLeft<1>(hn::BitCast(tag, highest)), hn::Set(tag, 1u));
  // Where no delta is negative this is the largest again, one bit to the left and even.
  const auto negative = hn::ShiftLeft<1>(lowest);
  const uint32_t key = hn::GetLane(hn::MaxOfLanes(tag, hn::Max(positive, negative)));
  return key >> 1 | (~key << 31);
}

/// Codes a block's deltas, which stay in registers, and its scale; replaces `residual` by
/// what was lost and adds what was encoded to `base`, unless null. False when a delta is not
/// finite; then nothing is written but `bad`, the deltas. Blocks don't depend on each other, so the
/// processor works on several at once and computes while memory answers.
template <typename Codes, bool kResidual, bool kUpdate>
HWY_INLINE bool WriteBlock(const FloatVector (&deltas)[kBlockVectors], float* HWY_RESTRICT residual,
                           float* HWY_RESTRICT base, std::byte* codes, std::byte* scale_bytes,
                           float* HWY_RESTRICT bad) {
  const FloatTag tag;
  const uint32_t maximum = SignedMaximum(deltas);
  if (HWY_UNLIKELY(IsNonFinite(maximum))) {
    for (size_t v = 0; v < kBlockVectors; ++v) hn::Store(deltas[v], tag, bad + v * kLanes);
    return false;
  }
  const uint16_t scale = BlockScaleOf(maximum);
  StoreBlockScale(scale, scale_bytes, 0);
  const typename Codes::Values values(hn::Set(tag, BlockScaleValue(scale)));
  const auto inverse = hn::Set(tag, InverseBlockScale(scale));
  typename Codes::Packer packer(reinterpret_cast<uint8_t*>(codes));
  for (size_t v = kBlockVectors; v-- > 0;) {
    const auto code = Codes::Find(hn::Mul(deltas[v], inverse));
    packer.Push(code);
    if (!kResidual && !kUpdate) continue;
    const auto value = values.At(code);
    const size_t i = v * kLanes;
    if (kResidual) hn::StoreU(hn::Sub(deltas[v], value), tag, residual + i);
    if (kUpdate) hn::StoreU(hn::Add(hn::LoadU(tag, base + i), value), tag, base + i);
  }
  packer.Finish();
  return true;
}

/// The arrays of one encoding at one block. `base` is the subtrahend of a delta (only read) or
/// takes the update.
struct EncodeArrays {
  const float* input;
  float* base;
  float* residual;
};

/// Deltas = input - base, or an update's input, + residual.
template <typename Codes, bool kResidual, bool kUpdate>
HWY_INLINE bool EncodeBlock(const EncodeArrays& at, std::byte* codes, std::byte* scales,
                            float* bad) {
  const FloatTag tag;
  FloatVector deltas[kBlockVectors];
  for (size_t v = 0; v < kBlockVectors; ++v) {
    const size_t i = v * kLanes;
    deltas[v] = hn::LoadU(tag, at.input + i);
    if (!kUpdate) deltas[v] = hn::Sub(deltas[v], hn::LoadU(tag, at.base + i));
    if (kResidual) deltas[v] = hn::Add(deltas[v], hn::LoadU(tag, at.residual + i));
  }
  return WriteBlock<Codes, kResidual, kUpdate>(deltas, at.residual, at.base, codes, scales, bad);
}

inline size_t FirstNonFinite(const float* deltas) {
  const float* end = deltas + kBlockValues;
  return static_cast<size_t>(std::find_if(deltas, end, [](float x) { return IsNonFinite(x); }) -
                             deltas);
}

template <typename Codes, bool kResidual, bool kUpdate>
HWY_INLINE size_t Encode(const float* input, float* base, float* residual, size_t count,
                         std::byte* codes, std::byte* scales) {
  alignas(64) float bad[kBlockValues];
  const size_t full_blocks = count / kBlockValues;
  for (size_t block = 0; block < full_blocks; ++block) {
    const size_t i = block * kBlockValues;
    if (!kUpdate) PrefetchAfter(input + i);  // an update has just been computed
    PrefetchAfter(base + i);
    if (kResidual) PrefetchAfter(residual + i);
    if (!EncodeBlock<Codes, kResidual, kUpdate>(
            {input + i, base + i, kResidual ? residual + i : nullptr},
            codes + block * Codes::kBytes, scales + block * kBlockScaleBytes, bad)) {
      return i + FirstNonFinite(bad);
    }
  }
  const size_t done = full_blocks * kBlockValues;
  if (done == count) return kAllFinite;
  PaddedBlock last_input(input + done, count - done);
  PaddedBlock last_base(base + done, count - done);
  PaddedBlock last_residual(kResidual ? residual + done : nullptr, count - done);
  if (!EncodeBlock<Codes, kResidual, kUpdate>(
          {last_input.data(), last_base.data(), last_residual.data()},
          codes + full_blocks * Codes::kBytes, scales + full_blocks * kBlockScaleBytes, bad)) {
    return done + FirstNonFinite(bad);
  }
  if (kUpdate) last_base.CopyTo(base + done);
  if (kResidual) last_residual.CopyTo(residual + done);
  return kAllFinite;
}

template <typename Codes>
size_t EncodeDelta(const float* params, const float* base, float* residual, size_t count,
                   std::byte* codes, std::byte* scales) {
  float* read_only_base = const_cast<float*>(base);  // kUpdate = false never writes it
  return residual == nullptr
             ? Encode<Codes, false, false>(params, read_only_base, nullptr, count, codes, scales)
             : Encode<Codes, true, false>(params, read_only_base, residual, count, codes, scales);
}

template <typename Codes>
size_t EncodeUpdate(const float* update, float* residual, float* base, size_t count,
                    std::byte* codes, std::byte* scales) {
  return residual == nullptr
             ? Encode<Codes, false, true>(update, base, nullptr, count, codes, scales)
             : Encode<Codes, true, true>(update, base, residual, count, codes, scales);
}

}  // namespace HWY_NAMESPACE
}  // namespace interlude
HWY_AFTER_NAMESPACE();
#endif  // HWY_TARGET != HWY_SCALAR

#endif  // per-target include guard
