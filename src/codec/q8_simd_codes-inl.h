// Codes of q8 in vectors: a byte a value, in order. Included once per Highway target, by
// block_simd.cc only; hence no #pragma once.
#if defined(INTERLUDE_CODEC_Q8_SIMD_CODES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef INTERLUDE_CODEC_Q8_SIMD_CODES_INL_H_
#undef INTERLUDE_CODEC_Q8_SIMD_CODES_INL_H_
#else
#define INTERLUDE_CODEC_Q8_SIMD_CODES_INL_H_
#endif

#include <bit>

#include "codec/block_kernels.h"
#include "codec/block_simd-inl.h"
#include "codec/q8_codes.h"

#if HWY_TARGET != HWY_SCALAR
HWY_BEFORE_NAMESPACE();
namespace interlude {
namespace HWY_NAMESPACE {

using Q8BytesTag = hn::Rebind<uint8_t, FloatTag>;

/// The steps of kLanes codes, as floats.
HWY_INLINE FloatVector Q8StepsOf(CodeVector code) {
  return hn::ConvertTo(FloatTag(), hn::Sub(code, hn::Set(SignedTag(), kQ8ZeroCode)));
}

/// Their values times a factor, each product rounded.
class WeightedQ8Values {
 public:
  HWY_INLINE WeightedQ8Values(FloatVector step, FloatVector factor)
      : step_(step), factor_(factor) {}
  HWY_INLINE FloatVector At(CodeVector code) const {
    return hn::Mul(factor_, hn::Mul(step_, Q8StepsOf(code)));
  }

 private:
  FloatVector step_;
  FloatVector factor_;
};

/// The values that a block's codes stand for. A step is the scale through a power of two, so
/// steps * step is scale * entry: exact.
class Q8Values {
 public:
  HWY_INLINE explicit Q8Values(FloatVector scale)
      : step_(hn::Mul(scale, hn::Set(FloatTag(), 1.0f / kQ8Steps))) {}
  HWY_INLINE WeightedQ8Values Times(FloatVector factor) const {
    return WeightedQ8Values(step_, factor);
  }
  HWY_INLINE FloatVector At(CodeVector code) const { return hn::Mul(step_, Q8StepsOf(code)); }

 private:
  FloatVector step_;
};

/// Takes the code vectors of a block from the last to the first.
class Q8Packer {
 public:
  HWY_INLINE explicit Q8Packer(uint8_t* out) : end_(out + kQ8CodeBytes) {}
  HWY_INLINE void Push(CodeVector code) {
    end_ -= kLanes;
    hn::StoreU(hn::DemoteTo(Q8BytesTag(), code), Q8BytesTag(), end_);
  }
  HWY_INLINE void Finish() const {}

 private:
  uint8_t* end_;
};

/// Gives the code vectors of a block from the first to the last.
class Q8Unpacker {
 public:
  HWY_INLINE explicit Q8Unpacker(const uint8_t* in) : next_(in) {}
  HWY_INLINE CodeVector Next() {
    const auto bytes = hn::LoadU(Q8BytesTag(), next_);
    next_ += kLanes;
    return hn::PromoteTo(SignedTag(), bytes);
  }

 private:
  const uint8_t* next_;
};

/// As Q4Codes.
struct Q8Codes {
  static constexpr size_t kBytes = kQ8CodeBytes;
  using Values = Q8Values;
  using Packer = Q8Packer;
  using Unpacker = Q8Unpacker;

  /// Adding 1.5 * 2^23 leaves no room for a fraction: it rounds to the nearest whole number, ties
  /// to even, which then stands in the lower bits. (Highway's own rounding differs between
  /// targets.)
  static HWY_INLINE CodeVector Find(FloatVector ratio) {
    constexpr float kShift = 0x1.8p23f;
    const FloatTag tag;
    const auto steps = hn::Mul(ratio, hn::Set(tag, kQ8Steps));
    const auto bounded =
        hn::Max(hn::Min(steps, hn::Set(tag, kQ8Steps)), hn::Set(tag, kQ8LowestSteps));
    const auto rounded = hn::BitCast(SignedTag(), hn::Add(bounded, hn::Set(tag, kShift)));
    return hn::Sub(rounded, hn::Set(SignedTag(), std::bit_cast<int32_t>(kShift) - kQ8ZeroCode));
  }

  /// As floats: whole numbers below 2^24, so every sum is exact.
  static HWY_INLINE uint64_t SumSquares(const uint8_t* codes) {
    Q8Unpacker unpacker(codes);
    auto sum = hn::Zero(FloatTag());
    for (size_t v = 0; v < kBlockVectors; ++v) {
      const auto steps = Q8StepsOf(unpacker.Next());
      sum = hn::Add(sum, hn::Mul(steps, steps));
    }
    return static_cast<uint64_t>(hn::GetLane(hn::SumOfLanes(FloatTag(), sum)));
  }
  static constexpr double kSquareUnit = kQ8SquareUnit;
  static const CodecKernels& Scalar() { return ScalarQ8Kernels(); }
};

}  // namespace HWY_NAMESPACE
}  // namespace interlude
HWY_AFTER_NAMESPACE();
#endif  // HWY_TARGET != HWY_SCALAR

#endif  // per-target include guard
