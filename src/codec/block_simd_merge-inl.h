// The coordinator's work on a block of q4 or q8 in vectors: sum, outer step, encoding and new base
// while the block is in registers. Included once per Highway target, by block_simd.cc only; hence
// no #pragma once.
#if defined(INTERLUDE_CODEC_BLOCK_SIMD_MERGE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef INTERLUDE_CODEC_BLOCK_SIMD_MERGE_INL_H_
#undef INTERLUDE_CODEC_BLOCK_SIMD_MERGE_INL_H_
#else
#define INTERLUDE_CODEC_BLOCK_SIMD_MERGE_INL_H_
#endif

#include <algorithm>

#include "codec/block_simd_decode-inl.h"
#include "codec/block_simd_encode-inl.h"

#if HWY_TARGET != HWY_SCALAR
HWY_BEFORE_NAMESPACE();
namespace interlude {
namespace HWY_NAMESPACE {

/// The update of one vector of the merged delta.
template <bool kVelocity>
HWY_INLINE FloatVector TakeStep(const MomentumStep& step, FloatVector delta, float* velocity) {
  const FloatTag tag;
  const auto learning_rate = hn::Set(tag, step.learning_rate);
  if constexpr (!kVelocity) return hn::Mul(learning_rate, delta);
  const auto momentum = hn::Set(tag, step.momentum);
  const auto next = hn::Add(hn::Mul(momentum, hn::LoadU(tag, velocity)), delta);
  hn::StoreU(next, tag, velocity);
  return hn::Mul(learning_rate, hn::Add(delta, hn::Mul(momentum, next)));
}

/// What follows the sum of a block. `velocity`, `residual`, `base` and the bytes are at the block.
template <typename Codes, bool kVelocity, bool kResidual>
HWY_INLINE bool UpdateBlock(FloatVector (&values)[kBlockVectors], const MomentumStep& step,
                            float* velocity, float* residual, float* base, std::byte* codes,
                            std::byte* scales, float* bad) {
  for (size_t v = 0; v < kBlockVectors; ++v) {
    const size_t i = v * kLanes;
    values[v] = TakeStep<kVelocity>(step, values[v], kVelocity ? velocity + i : nullptr);
    if (kResidual) values[v] = hn::Add(values[v], hn::LoadU(FloatTag(), residual + i));
  }
  return WriteBlock<Codes, kResidual, true>(values, residual, base, codes, scales, bad);
}

/// A short last block. What payloads say beyond its end doesn't count.
template <typename Codes, bool kVelocity, bool kResidual>
HWY_INLINE bool MergeLastBlock(std::span<const WeightedPayload> payloads, size_t block,
                               const MomentumStep& step, float* velocity, float* residual,
                               float* base, size_t count, std::byte* codes, std::byte* scales,
                               float* bad) {
  const FloatTag tag;
  alignas(64) float sum[kBlockValues];
  SumBlock<Codes, true, false>(payloads, block, sum);
  std::fill(sum + count, sum + kBlockValues, 0.0f);
  FloatVector values[kBlockVectors];
  for (size_t v = 0; v < kBlockVectors; ++v) values[v] = hn::Load(tag, sum + v * kLanes);
  PaddedBlock last_velocity(velocity, count);
  PaddedBlock last_residual(residual, count);
  PaddedBlock last_base(base, count);
  if (!UpdateBlock<Codes, kVelocity, kResidual>(values, step, last_velocity.data(),
                                                last_residual.data(), last_base.data(), codes,
                                                scales, bad)) {
    return false;
  }
  if (kVelocity) last_velocity.CopyTo(velocity);
  if (kResidual) last_residual.CopyTo(residual);
  last_base.CopyTo(base);
  return true;
}

template <typename Codes, bool kVelocity, bool kResidual>
HWY_INLINE size_t MergeBlocks(std::span<const WeightedPayload> payloads, const MomentumStep& step,
                              float* residual, float* base, size_t count, std::byte* codes,
                              std::byte* scales) {
  alignas(64) float bad[kBlockValues];
  const auto velocity = [&](size_t i) { return kVelocity ? step.velocity + i : nullptr; };
  const auto kept = [&](size_t i) { return kResidual ? residual + i : nullptr; };
  const size_t full_blocks = count / kBlockValues;
  for (size_t block = 0; block < full_blocks; ++block) {
    const size_t i = block * kBlockValues;
    FloatVector values[kBlockVectors];
    for (FloatVector& value : values) value = hn::Zero(FloatTag());
    AddBlock<Codes>(payloads, block, values);
    if (!UpdateBlock<Codes, kVelocity, kResidual>(values, step, velocity(i), kept(i), base + i,
                                                  codes + block * Codes::kBytes,
                                                  scales + block * kBlockScaleBytes, bad)) {
      return i + FirstNonFinite(bad);
    }
  }
  const size_t done = full_blocks * kBlockValues;
  if (done == count) return kAllFinite;
  const bool finite = MergeLastBlock<Codes, kVelocity, kResidual>(
      payloads, full_blocks, step, velocity(done), kept(done), base + done, count - done,
      codes + full_blocks * Codes::kBytes, scales + full_blocks * kBlockScaleBytes, bad);
  return finite ? kAllFinite : done + FirstNonFinite(bad);
}

template <typename Codes>
size_t Merge(std::span<const WeightedPayload> payloads, const MomentumStep& step, float* residual,
             float* base, size_t count, std::byte* codes, std::byte* scales) {
  const auto merge =
      step.velocity != nullptr
          ? (residual != nullptr ? MergeBlocks<Codes, true, true> : MergeBlocks<Codes, true, false>)
          : (residual != nullptr ? MergeBlocks<Codes, false, true>
                                 : MergeBlocks<Codes, false, false>);
  return merge(payloads, step, residual, base, count, codes, scales);
}

}  // namespace HWY_NAMESPACE
}  // namespace interlude
HWY_AFTER_NAMESPACE();
#endif  // HWY_TARGET != HWY_SCALAR

#endif  // per-target include guard
