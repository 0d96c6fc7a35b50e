// The q4 kernels for every instruction set, written once with Highway and compiled once per target.
// Equal to q4_scalar.cc bit for bit: the same operations in the same order on each value, nothing
// fused. One pass: a block is read, searched, packed, decoded and written while it is in registers
// or L1.
#include <algorithm>
#include <cstring>

#include "codec/q4_book.h"
#include "codec/q4_format.h"
#include "codec/q4_kernels.h"

// Vectors without a size at compile time can't be members; those machines have NEON as well.
#define HWY_DISABLED_TARGETS (HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "codec/q4_simd.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
//
#include "codec/q4_simd_codes-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace interlude {
namespace HWY_NAMESPACE {
#if HWY_TARGET == HWY_SCALAR  // a machine without SIMD: the specification itself

size_t EncodeDelta(const float* params, const float* base, float* residual, size_t count,
                   std::byte* codes, std::byte* scales) {
  return ScalarQ4Kernels().encode_delta(params, base, residual, count, codes, scales);
}

size_t EncodeUpdate(const float* update, float* residual, float* base, size_t count,
                    std::byte* codes, std::byte* scales) {
  return ScalarQ4Kernels().encode_update(update, residual, base, count, codes, scales);
}

void DecodeAccumulate(const std::byte* codes, const std::byte* scales, float weight, float* sum,
                      size_t count) {
  ScalarQ4Kernels().decode_accumulate(codes, scales, weight, sum, count);
}

void Apply(const std::byte* codes, const std::byte* scales, float* base, float* params,
           size_t count) {
  ScalarQ4Kernels().apply(codes, scales, base, params, count);
}

#else
namespace hn = hwy::HWY_NAMESPACE;

/// The bits of the delta of largest magnitude; of +m and -m the positive one. Integer maxima: as
/// signed integers the largest float is the largest, as unsigned ones the most negative is, and NaN
/// and Inf win.
HWY_INLINE uint32_t SignedMaximum(const float* HWY_RESTRICT deltas) {
  const SignedTag signed_tag;
  const UnsignedTag unsigned_tag;
  auto highest = hn::Zero(signed_tag);
  auto lowest = hn::Zero(unsigned_tag);
  for (size_t i = 0; i < kQ4BlockValues; i += kLanes) {
    const auto delta = hn::Load(FloatTag(), deltas + i);
    highest = hn::Max(highest, hn::BitCast(signed_tag, delta));
    lowest = hn::Max(lowest, hn::BitCast(unsigned_tag, delta));
  }
  const uint32_t positive = static_cast<uint32_t>(hn::GetLane(hn::MaxOfLanes(signed_tag, highest)));
  const uint32_t negative = hn::GetLane(hn::MaxOfLanes(unsigned_tag, lowest));
  if ((negative >> 31) == 0) return positive;
  return positive >= (negative & 0x7FFFFFFFu) ? positive : negative;
}

/// Codes the 64 aligned `deltas` into 32 bytes and the scale; replaces `residual` by what was lost
/// and adds what was encoded to `base`, unless null. False, with nothing written, when a delta is
/// not finite.
HWY_INLINE bool WriteBlock(const float* HWY_RESTRICT deltas, float* HWY_RESTRICT residual,
                           float* HWY_RESTRICT base, std::byte* codes, std::byte* scales,
                           size_t block) {
  const FloatTag tag;
  const uint32_t maximum = SignedMaximum(deltas);
  if (IsNonFinite(maximum)) return false;
  const uint16_t scale_bits = Q4ScaleOf(maximum);
  const auto scale = hn::Set(tag, Q4ScaleValue(scale_bits));
  const auto inverse = hn::Set(tag, Q4InverseScale(scale_bits));
  CodePacker packer;
  for (size_t i = kQ4BlockValues; i > 0;) {
    i -= kLanes;
    const auto delta = hn::Load(tag, deltas + i);
    const auto code = SearchCode(hn::Mul(delta, inverse));
    packer.Push(code);
    if (residual == nullptr && base == nullptr) continue;
    const auto value = hn::Mul(scale, LookUpEntry(code));
    if (residual != nullptr) hn::StoreU(hn::Sub(delta, value), tag, residual + i);
    if (base != nullptr) hn::StoreU(hn::Add(hn::LoadU(tag, base + i), value), tag, base + i);
  }
  packer.Store(reinterpret_cast<uint8_t*>(codes + block * kQ4CodeBytes));
  StoreQ4Scale(scale_bits, scales, block);
  return true;
}

/// deltas = minuend - subtrahend (or minuend, when null) + residual (unless null).
HWY_INLINE void LoadDeltas(const float* HWY_RESTRICT minuend, const float* HWY_RESTRICT subtrahend,
                           const float* HWY_RESTRICT residual, float* HWY_RESTRICT deltas) {
  const FloatTag tag;
  for (size_t i = 0; i < kQ4BlockValues; i += kLanes) {
    auto delta = hn::LoadU(tag, minuend + i);
    if (subtrahend != nullptr) delta = hn::Sub(delta, hn::LoadU(tag, subtrahend + i));
    if (residual != nullptr) delta = hn::Add(delta, hn::LoadU(tag, residual + i));
    hn::Store(delta, tag, deltas + i);
  }
}

size_t FirstNonFinite(const float* deltas) {
  const float* end = deltas + kQ4BlockValues;
  return static_cast<size_t>(std::find_if(deltas, end, [](float x) { return IsNonFinite(x); }) -
                             deltas);
}

/// A short last block, filled up with zeros, so that it goes through the same code as a full one.
class PaddedBlock {
 public:
  PaddedBlock(const float* values, size_t count) : count_(count) {
    std::fill(values_, values_ + kQ4BlockValues, 0.0f);
    if (values != nullptr) std::memcpy(values_, values, count * sizeof(float));
  }
  float* data() { return values_; }
  void CopyTo(float* values) const { std::memcpy(values, values_, count_ * sizeof(float)); }

 private:
  alignas(64) float values_[kQ4BlockValues];
  const size_t count_;
};

/// kResidual, kUpdate: what WriteBlock has to do, known at compile time. `base` is the subtrahend
/// of a delta (only read) or takes the update.
template <bool kResidual, bool kUpdate>
HWY_INLINE size_t Encode(const float* input, float* base, float* residual, size_t count,
                         std::byte* codes, std::byte* scales) {
  alignas(64) float deltas[kQ4BlockValues];
  const auto encode_block = [&](const float* in, float* b, float* r, size_t block) HWY_ATTR {
    LoadDeltas(in, kUpdate ? nullptr : b, kResidual ? r : nullptr, deltas);
    return WriteBlock(deltas, kResidual ? r : nullptr, kUpdate ? b : nullptr, codes, scales, block);
  };
  const size_t full_blocks = count / kQ4BlockValues;
  for (size_t block = 0; block < full_blocks; ++block) {
    const size_t i = block * kQ4BlockValues;
    if (!encode_block(input + i, base + i, kResidual ? residual + i : nullptr, block)) {
      return i + FirstNonFinite(deltas);
    }
  }
  const size_t done = full_blocks * kQ4BlockValues;
  if (done == count) return kAllFinite;
  PaddedBlock last_input(input + done, count - done);
  PaddedBlock last_base(base + done, count - done);
  PaddedBlock last_residual(kResidual ? residual + done : nullptr, count - done);
  if (!encode_block(last_input.data(), last_base.data(), last_residual.data(), full_blocks)) {
    return done + FirstNonFinite(deltas);
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

/// Calls use(i, value) with the vectors of block `block`, i counting within the block.
template <typename Use>
HWY_INLINE void DecodeBlock(const std::byte* codes, const std::byte* scales, size_t block,
                            const Use& use) {
  const auto scale = hn::Set(FloatTag(), Q4ScaleValue(LoadQ4Scale(scales, block)));
  CodeUnpacker unpacker(reinterpret_cast<const uint8_t*>(codes + block * kQ4CodeBytes));
  for (size_t i = 0; i < kQ4BlockValues; i += kLanes) {
    use(i, hn::Mul(scale, LookUpEntry(unpacker.Next())));
  }
}

void DecodeAccumulate(const std::byte* codes, const std::byte* scales, float weight, float* sum,
                      size_t count) {
  const FloatTag tag;
  const auto add_block = [&](float* s, size_t block) HWY_ATTR {
    const auto factor = hn::Set(tag, weight);
    DecodeBlock(codes, scales, block, [&](size_t i, auto value) HWY_ATTR {
      hn::StoreU(hn::Add(hn::LoadU(tag, s + i), hn::Mul(factor, value)), tag, s + i);
    });
  };
  const size_t full_blocks = count / kQ4BlockValues;
  for (size_t block = 0; block < full_blocks; ++block)
    add_block(sum + block * kQ4BlockValues, block);
  const size_t done = full_blocks * kQ4BlockValues;
  if (done == count) return;
  PaddedBlock last_sum(sum + done, count - done);
  add_block(last_sum.data(), full_blocks);
  last_sum.CopyTo(sum + done);
}

void Apply(const std::byte* codes, const std::byte* scales, float* base, float* params,
           size_t count) {
  const FloatTag tag;
  const auto apply_block = [&](float* b, float* p, size_t block) HWY_ATTR {
    DecodeBlock(codes, scales, block, [&](size_t i, auto value) HWY_ATTR {
      const auto moved = hn::Add(hn::LoadU(tag, b + i), value);
      hn::StoreU(moved, tag, b + i);
      hn::StoreU(moved, tag, p + i);
    });
  };
  const size_t full_blocks = count / kQ4BlockValues;
  for (size_t block = 0; block < full_blocks; ++block) {
    apply_block(base + block * kQ4BlockValues, params + block * kQ4BlockValues, block);
  }
  const size_t done = full_blocks * kQ4BlockValues;
  if (done == count) return;
  PaddedBlock last_base(base + done, count - done);
  PaddedBlock last_params(nullptr, count - done);
  apply_block(last_base.data(), last_params.data(), full_blocks);
  last_base.CopyTo(base + done);
  last_params.CopyTo(params + done);
}

#endif  // HWY_TARGET == HWY_SCALAR

const char* CompiledTarget() { return hwy::TargetName(HWY_TARGET); }

}  // namespace HWY_NAMESPACE
}  // namespace interlude
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace interlude {

HWY_EXPORT(EncodeDelta);
HWY_EXPORT(EncodeUpdate);
HWY_EXPORT(DecodeAccumulate);
HWY_EXPORT(Apply);
HWY_EXPORT(CompiledTarget);

const char* SimdQ4TargetName() { return HWY_DYNAMIC_DISPATCH(CompiledTarget)(); }

const Q4Kernels& SimdQ4Kernels() {
  static constexpr Q4Kernels kKernels = {
      [](const float* params, const float* base, float* residual, size_t count, std::byte* codes,
         std::byte* scales) {
        return HWY_DYNAMIC_DISPATCH(EncodeDelta)(params, base, residual, count, codes, scales);
      },
      [](const float* update, float* residual, float* base, size_t count, std::byte* codes,
         std::byte* scales) {
        return HWY_DYNAMIC_DISPATCH(EncodeUpdate)(update, residual, base, count, codes, scales);
      },
      [](const std::byte* codes, const std::byte* scales, float weight, float* sum, size_t count) {
        HWY_DYNAMIC_DISPATCH(DecodeAccumulate)(codes, scales, weight, sum, count);
      },
      [](const std::byte* codes, const std::byte* scales, float* base, float* params,
         size_t count) {
        HWY_DYNAMIC_DISPATCH(Apply)
        (codes, scales, base, params, count);
      },
  };
  return kKernels;
}

}  // namespace interlude
#endif  // HWY_ONCE
