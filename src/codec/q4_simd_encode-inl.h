// Encoding of q4 in vectors: a block is read, searched, packed, decoded and written while it is in
// registers. Included once per Highway target, by q4_simd.cc only; hence no #pragma once.
#if defined(INTERLUDE_CODEC_Q4_SIMD_ENCODE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef INTERLUDE_CODEC_Q4_SIMD_ENCODE_INL_H_
#undef INTERLUDE_CODEC_Q4_SIMD_ENCODE_INL_H_
#else
#define INTERLUDE_CODEC_Q4_SIMD_ENCODE_INL_H_
#endif

#include <algorithm>

#include "codec/codec_kernels.h"
#include "codec/q4_simd_codes-inl.h"

#if HWY_TARGET != HWY_SCALAR
HWY_BEFORE_NAMESPACE();
namespace interlude {
namespace HWY_NAMESPACE {

/// Blocks that are worked on together, each stage for all of them before the next: a block's scale
/// takes long to compute, so that one block after the other would mostly wait for it.
constexpr size_t kGroupBlocks = 16;

struct BlockGroup {
  alignas(64) float deltas[kGroupBlocks * kQ4BlockValues];
  alignas(64) uint32_t maxima[kGroupBlocks];  // then the scales' bits
  alignas(64) float scales[kGroupBlocks];
  alignas(64) float inverses[kGroupBlocks];
};

/// deltas = minuend - subtrahend (or minuend, when null) + residual (unless null). Returns the bits
/// of the delta of largest magnitude; of +m and -m the positive one. Integer maxima: as
/// signed integers the largest float is the largest, as unsigned ones the most negative is, and NaN
/// and Inf win. Without a branch on the sign, which no processor can foresee: magnitudes compare
/// one bit to the left, with the lowest bit set for a positive one.
HWY_INLINE uint32_t LoadDeltas(const float* HWY_RESTRICT minuend,
                               const float* HWY_RESTRICT subtrahend,
                               const float* HWY_RESTRICT residual, float* HWY_RESTRICT deltas) {
  const FloatTag float_tag;
  const SignedTag signed_tag;
  const UnsignedTag tag;
  auto highest = hn::Zero(signed_tag);
  auto lowest = hn::Zero(tag);
  for (size_t i = 0; i < kQ4BlockValues; i += kLanes) {
    auto delta = hn::LoadU(float_tag, minuend + i);
    if (subtrahend != nullptr) delta = hn::Sub(delta, hn::LoadU(float_tag, subtrahend + i));
    if (residual != nullptr) delta = hn::Add(delta, hn::LoadU(float_tag, residual + i));
    hn::Store(delta, float_tag, deltas + i);
    highest = hn::Max(highest, hn::BitCast(signed_tag, delta));
    lowest = hn::Max(lowest, hn::BitCast(tag, delta));
  }
  const auto positive = hn::Or(hn::ShiftLeft<1>(hn::BitCast(tag, highest)), hn::Set(tag, 1u));
  // Where no delta is negative this is the largest again, one bit to the left and even.
  const auto negative = hn::ShiftLeft<1>(lowest);
  const uint32_t key = hn::GetLane(hn::MaxOfLanes(tag, hn::Max(positive, negative)));
  return key >> 1 | (~key << 31);
}

/// Codes a block's deltas into 32 bytes; replaces `residual` by what was lost and adds what was
/// encoded to `base`, unless null.
HWY_INLINE void WriteBlock(const float* HWY_RESTRICT deltas, float scale, float inverse_scale,
                           float* HWY_RESTRICT residual, float* HWY_RESTRICT base,
                           std::byte* codes) {
  const FloatTag tag;
  const ValueTable values(hn::Set(tag, scale));
  const auto inverse = hn::Set(tag, inverse_scale);
  CodePacker packer;
  for (size_t i = kQ4BlockValues; i > 0;) {
    i -= kLanes;
    const auto delta = hn::Load(tag, deltas + i);
    const auto code = SearchCode(hn::Mul(delta, inverse));
    packer.Push(code);
    if (residual == nullptr && base == nullptr) continue;
    const auto value = values.At(code);
    if (residual != nullptr) hn::StoreU(hn::Sub(delta, value), tag, residual + i);
    if (base != nullptr) hn::StoreU(hn::Add(hn::LoadU(tag, base + i), value), tag, base + i);
  }
  packer.Store(reinterpret_cast<uint8_t*>(codes));
}

/// Encodes `blocks` whole blocks, at most kGroupBlocks. Returns how many there are before the first
/// one with a non-finite delta; later ones are untouched. kResidual, kUpdate: what there is to
/// write, known at compile time. `base` is the subtrahend of a delta (only read) or takes the
/// update.
template <bool kResidual, bool kUpdate>
HWY_INLINE size_t EncodeGroup(const float* input, float* base, float* residual, size_t blocks,
                              std::byte* codes, std::byte* scales, BlockGroup& group) {
  size_t finite = blocks;
  for (size_t k = 0; k < blocks; ++k) {
    const size_t i = k * kQ4BlockValues;
    if (!kUpdate) PrefetchAfter(input + i);  // an update has just been computed
    PrefetchAfter(base + i);
    if (kResidual) PrefetchAfter(residual + i);
    group.maxima[k] = LoadDeltas(input + i, kUpdate ? nullptr : base + i,
                                 kResidual ? residual + i : nullptr, group.deltas + i);
  }
  for (size_t k = blocks; k > 0; --k) {
    if (IsNonFinite(group.maxima[k - 1])) finite = k - 1;
  }
  for (size_t k = 0; k < finite; ++k) {
    const uint16_t scale = Q4ScaleOf(group.maxima[k]);
    group.scales[k] = Q4ScaleValue(scale);
    group.inverses[k] = Q4InverseScale(scale);
    StoreQ4Scale(scale, scales, k);
  }
  for (size_t k = 0; k < finite; ++k) {
    const size_t i = k * kQ4BlockValues;
    WriteBlock(group.deltas + i, group.scales[k], group.inverses[k],
               kResidual ? residual + i : nullptr, kUpdate ? base + i : nullptr,
               codes + k * kQ4CodeBytes);
  }
  return finite;
}

size_t FirstNonFinite(const float* deltas) {
  const float* end = deltas + kQ4BlockValues;
  return static_cast<size_t>(std::find_if(deltas, end, [](float x) { return IsNonFinite(x); }) -
                             deltas);
}

template <bool kResidual, bool kUpdate>
HWY_INLINE size_t Encode(const float* input, float* base, float* residual, size_t count,
                         std::byte* codes, std::byte* scales) {
  BlockGroup group;
  const size_t full_blocks = count / kQ4BlockValues;
  for (size_t block = 0; block < full_blocks; block += kGroupBlocks) {
    const size_t i = block * kQ4BlockValues;
    const size_t blocks = std::min(kGroupBlocks, full_blocks - block);
    const size_t finite = EncodeGroup<kResidual, kUpdate>(
        input + i, base + i, kResidual ? residual + i : nullptr, blocks,
        codes + block * kQ4CodeBytes, scales + block * kQ4ScaleBytes, group);
    if (finite < blocks) {
      return i + finite * kQ4BlockValues + FirstNonFinite(group.deltas + finite * kQ4BlockValues);
    }
  }
  const size_t done = full_blocks * kQ4BlockValues;
  if (done == count) return kAllFinite;
  PaddedBlock last_input(input + done, count - done);
  PaddedBlock last_base(base + done, count - done);
  PaddedBlock last_residual(kResidual ? residual + done : nullptr, count - done);
  if (EncodeGroup<kResidual, kUpdate>(last_input.data(), last_base.data(), last_residual.data(), 1,
                                      codes + full_blocks * kQ4CodeBytes,
                                      scales + full_blocks * kQ4ScaleBytes, group) == 0) {
    return done + FirstNonFinite(group.deltas);
  }
  if (kUpdate) last_base.CopyTo(base + done);
  if (kResidual) last_residual.CopyTo(residual + done);
  return kAllFinite;
}

size_t EncodeDelta(const float* params, const float* base, float* residual, size_t count,
                   std::byte* codes, std::byte* scales) {
  float* read_only_base = const_cast<float*>(base);  // kUpdate = false never writes it
  return residual == nullptr
             ? Encode<false, false>(params, read_only_base, nullptr, count, codes, scales)
             : Encode<true, false>(params, read_only_base, residual, count, codes, scales);
}

size_t EncodeUpdate(const float* update, float* residual, float* base, size_t count,
                    std::byte* codes, std::byte* scales) {
  return residual == nullptr ? Encode<false, true>(update, base, nullptr, count, codes, scales)
                             : Encode<true, true>(update, base, residual, count, codes, scales);
}

}  // namespace HWY_NAMESPACE
}  // namespace interlude
HWY_AFTER_NAMESPACE();
#endif  // HWY_TARGET != HWY_SCALAR

#endif  // per-target include guard
