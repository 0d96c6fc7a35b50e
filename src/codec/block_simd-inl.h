// What the vector kernels of q4 and q8 share: how wide vectors are, short blocks, prefetching.
// Included once per Highway target, by block_simd.cc only; hence no #pragma once.
#if defined(INTERLUDE_CODEC_BLOCK_SIMD_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef INTERLUDE_CODEC_BLOCK_SIMD_INL_H_
#undef INTERLUDE_CODEC_BLOCK_SIMD_INL_H_
#else
#define INTERLUDE_CODEC_BLOCK_SIMD_INL_H_
#endif

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "codec/block_format.h"
#include "hwy/cache_control.h"
#include "hwy/highway.h"

#if HWY_TARGET != HWY_SCALAR
HWY_BEFORE_NAMESPACE();
namespace interlude {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// 16, 8 or 4 values at a time: the three widths the block layout is made for.
using FloatTag = hn::CappedTag<float, 16>;
using SignedTag = hn::RebindToSigned<FloatTag>;
using UnsignedTag = hn::RebindToUnsigned<FloatTag>;
using ByteTag = hn::Repartition<uint8_t, FloatTag>;
constexpr size_t kLanes = hn::MaxLanes(FloatTag());
constexpr size_t kBlockVectors = kBlockValues / kLanes;
static_assert(kLanes == 16 || kLanes == 8 || kLanes == 4, "a block layout lane holds eight codes");

using FloatVector = hn::Vec<FloatTag>;
using CodeVector = hn::Vec<SignedTag>;  // a code in each lane

/// A short last block, filled up with zeros, so that it goes through the same code as a full one.
class PaddedBlock {
 public:
  PaddedBlock(const float* values, size_t count) : count_(count) {
    std::fill(values_, values_ + kBlockValues, 0.0f);
    if (values != nullptr) std::memcpy(values_, values, count * sizeof(float));
  }
  float* data() { return values_; }
  void CopyTo(float* values) const { std::memcpy(values, values_, count_ * sizeof(float)); }

 private:
  alignas(64) float values_[kBlockValues];
  const size_t count_;
};

/// How far ahead encoding asks for memory: less comes too late, more has gone from L1 again.
constexpr size_t kPrefetchBytes = 1024;

/// Begins to load what lies kPrefetchBytes after a block. As an integer, since it may be past the
/// array's end.
HWY_INLINE void PrefetchAfter(const float* block) {
  const uintptr_t address = reinterpret_cast<uintptr_t>(block) + kPrefetchBytes;
  for (size_t i = 0; i < kBlockValues * sizeof(float); i += 64) {
    hwy::Prefetch(reinterpret_cast<const char*>(address + i));
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace interlude
HWY_AFTER_NAMESPACE();
#endif  // HWY_TARGET != HWY_SCALAR

#endif  // per-target include guard
