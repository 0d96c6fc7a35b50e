// Codes of q4 in vectors: finding them, looking their entries up, packing and unpacking a block's
// 32 bytes. Included once per Highway target, by block_simd.cc only; hence no #pragma once.
#if defined(INTERLUDE_CODEC_Q4_SIMD_CODES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef INTERLUDE_CODEC_Q4_SIMD_CODES_INL_H_
#undef INTERLUDE_CODEC_Q4_SIMD_CODES_INL_H_
#else
#define INTERLUDE_CODEC_Q4_SIMD_CODES_INL_H_
#endif

#include <array>
#include <bit>
#include <utility>

#include "codec/block_kernels.h"
#include "codec/block_simd-inl.h"
#include "codec/q4_book.h"
#include "codec/q4_simd_squares-inl.h"

#if HWY_TARGET != HWY_SCALAR
HWY_BEFORE_NAMESPACE();
namespace interlude {
namespace HWY_NAMESPACE {

/// The thresholds as a search tree: level with step s holds those numbered s - 1 + 2 s k, k =
/// 0, 1..., repeated to fill 16 lanes, so that the code's upper bits, found so far, are the index.
template <size_t kStep>
constexpr std::array<float, 16> TreeLevel() {
  std::array<float, 16> level{};
  for (size_t i = 0; i < level.size(); ++i)
    level[i] = kQ4Thresholds[kStep - 1 + 2 * kStep * (i % (8 / kStep))];
  return level;
}
alignas(64) constexpr std::array<float, 16> kTree4 = TreeLevel<4>();
alignas(64) constexpr std::array<float, 16> kTree2 = TreeLevel<2>();
alignas(64) constexpr std::array<float, 16> kTree1 = TreeLevel<1>();

/// count + 1 where the threshold is at or below the ratio.
HWY_INLINE CodeVector CountThreshold(CodeVector count, FloatVector ratio, FloatVector threshold) {
  const SignedTag tag;
  const auto reached = hn::RebindMask(tag, hn::Ge(ratio, threshold));
  if constexpr (kLanes == 16) {
    return hn::IfThenElse(reached, hn::Add(count, hn::Set(tag, 1)), count);
  } else {
    return hn::Sub(count, hn::VecFromMask(tag, reached));
  }
}

HWY_INLINE CodeVector Descend(FloatVector ratio, CodeVector code,
                              const std::array<float, 16>& level) {
  const FloatTag tag;
  const auto threshold =
      hn::TableLookupLanes(hn::Load(tag, level.data()), hn::IndicesFromVec(tag, code));
  return CountThreshold(hn::Add(code, code), ratio, threshold);
}

/// The number of thresholds at or below the ratio.
HWY_INLINE CodeVector SearchQ4Code(FloatVector ratio) {
  const FloatTag tag;
  if constexpr (kLanes >= 8) {
    CodeVector code = CountThreshold(hn::Zero(SignedTag()), ratio, hn::Set(tag, kQ4Thresholds[7]));
    code = Descend(ratio, code, kTree4);
    code = Descend(ratio, code, kTree2);
    return Descend(ratio, code, kTree1);
  } else {
    CodeVector code = hn::Zero(SignedTag());
    for (float threshold : kQ4Thresholds) {
      code = CountThreshold(code, ratio, hn::Set(tag, threshold));
    }
    return code;
  }
}

/// Byte 2 (kShift 16) or 3 (kShift 24) of each entry; the other bytes of an entry are zero.
template <int kShift>
constexpr std::array<uint8_t, 16> EntryBytes() {
  std::array<uint8_t, 16> bytes{};
  for (size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] = static_cast<uint8_t>(std::bit_cast<uint32_t>(kQ4Book[i]) >> kShift);
  }
  return bytes;
}
alignas(16) constexpr std::array<uint8_t, 16> kEntryByte2 = EntryBytes<16>();
alignas(16) constexpr std::array<uint8_t, 16> kEntryByte3 = EntryBytes<24>();
alignas(64) constexpr std::array<float, 16> kEntries = kQ4Book;

/// The values that a block's codes stand for: every entry times the scale, which is exact, and so
/// the products are the same whether entries are multiplied before or after they are looked up.
class Q4Values {
 public:
  HWY_INLINE explicit Q4Values(FloatVector scale);
  /// Each value times `factor`, rounded.
  HWY_INLINE Q4Values Times(FloatVector factor) const;
  /// The values of codes 0 to 15.
  HWY_INLINE FloatVector At(CodeVector code) const;

 private:
  HWY_INLINE Q4Values(FloatVector low, FloatVector high) : low_(low), high_(high) {}
  // With 16 lanes all values; with 8 those of codes 0-7 and 8-15; with 4, too few for a table,
  // scale and factor.
  FloatVector low_;
  FloatVector high_;
};

HWY_INLINE Q4Values::Q4Values(FloatVector scale) : low_(scale), high_(scale) {
  const FloatTag tag;
  if constexpr (kLanes == 4) {
    high_ = hn::Set(tag, 1.0f);
  } else {
    low_ = hn::Mul(scale, hn::Load(tag, kEntries.data()));
    if constexpr (kLanes == 8) high_ = hn::Mul(scale, hn::Load(tag, kEntries.data() + 8));
  }
}

HWY_INLINE Q4Values Q4Values::Times(FloatVector factor) const {
  if constexpr (kLanes == 4) return Q4Values(low_, factor);
  return Q4Values(hn::Mul(factor, low_), hn::Mul(factor, high_));
}

/// The entries of codes 0 to 15 where not even half of them fit in a vector of floats: their two
/// non-zero bytes fit in two vectors of bytes.
HWY_INLINE FloatVector LookUpQ4Entry(CodeVector code) {
  const ByteTag bytes;
  const UnsignedTag unsigned_tag;
  const auto code_bits = hn::BitCast(unsigned_tag, code);
  // An index with its highest bit set looks up 0.
  const auto in_byte_2 = hn::Or(hn::ShiftLeft<16>(code_bits), hn::Set(unsigned_tag, 0x80008080u));
  const auto in_byte_3 = hn::Or(hn::ShiftLeft<24>(code_bits), hn::Set(unsigned_tag, 0x00808080u));
  const auto byte_2 = hn::TableLookupBytesOr0(hn::LoadDup128(bytes, kEntryByte2.data()),
                                              hn::BitCast(bytes, in_byte_2));
  const auto byte_3 = hn::TableLookupBytesOr0(hn::LoadDup128(bytes, kEntryByte3.data()),
                                              hn::BitCast(bytes, in_byte_3));
  return hn::BitCast(FloatTag(), hn::Or(byte_2, byte_3));
}

HWY_INLINE FloatVector Q4Values::At(CodeVector code) const {
  const FloatTag tag;
  if constexpr (kLanes == 16) {
    return hn::TableLookupLanes(low_, hn::IndicesFromVec(tag, code));
  } else if constexpr (kLanes == 8) {
    const auto index = hn::IndicesFromVec(tag, hn::And(code, hn::Set(SignedTag(), 7)));
    const auto in_high = hn::BitCast(tag, hn::ShiftLeft<28>(code));  // bit 3 as the sign
    return hn::IfNegativeThenElse(in_high, hn::TableLookupLanes(high_, index),
                                  hn::TableLookupLanes(low_, index));
  } else {
    return hn::Mul(high_, hn::Mul(low_, LookUpQ4Entry(code)));
  }
}

// A block's 32 bytes are eight 32-bit lanes; value j is nibble j / 8 of lane j mod 8.

/// Takes the code vectors of a block from the last to the first.
class Q4Packer {
 public:
  HWY_INLINE explicit Q4Packer(uint8_t* out)
      : out_(out), even_(hn::Zero(SignedTag())), odd_(hn::Zero(SignedTag())) {}
  HWY_INLINE void Push(CodeVector code) {
    if constexpr (kLanes == 4) {
      std::swap(even_, odd_);  // pushes alternate between lanes 4-7 and lanes 0-3
      even_ = hn::Or(hn::ShiftLeft<4>(even_), code);
    } else {
      even_ = hn::Or(hn::ShiftLeft<kLanes / 2>(even_), code);
    }
  }
  HWY_INLINE void Finish() const;

 private:
  uint8_t* const out_;
  CodeVector even_;
  CodeVector odd_;
};

HWY_INLINE void Q4Packer::Finish() const {
  const ByteTag bytes;
  if constexpr (kLanes == 4) {
    hn::StoreU(hn::BitCast(bytes, even_), bytes, out_);
    hn::StoreU(hn::BitCast(bytes, odd_), bytes, out_ + 16);
  } else if constexpr (kLanes == 8) {
    hn::StoreU(hn::BitCast(bytes, even_), bytes, out_);
  } else {
    const hn::Half<SignedTag> half;
    const hn::Half<ByteTag> half_bytes;
    const auto lanes =
        hn::Or(hn::LowerHalf(half, even_), hn::ShiftLeft<4>(hn::UpperHalf(half, even_)));
    hn::StoreU(hn::BitCast(half_bytes, lanes), half_bytes, out_);
  }
}

/// Gives the code vectors of a block from the first to the last.
class Q4Unpacker {
 public:
  HWY_INLINE explicit Q4Unpacker(const uint8_t* in);
  HWY_INLINE CodeVector Next() {
    auto code = even_;
    if constexpr (kLanes != 8) code = hn::And(code, hn::Set(UnsignedTag(), 15u));
    if constexpr (kLanes == 4) {
      even_ = hn::ShiftRight<4>(even_);
      std::swap(even_, odd_);
    } else {
      even_ = hn::ShiftRight<kLanes / 2>(even_);
    }
    return hn::BitCast(SignedTag(), code);
  }

 private:
  hn::Vec<UnsignedTag> even_;
  hn::Vec<UnsignedTag> odd_;
};

HWY_INLINE Q4Unpacker::Q4Unpacker(const uint8_t* in) {
  const ByteTag bytes;
  const UnsignedTag tag;
  odd_ = hn::Zero(tag);
  if constexpr (kLanes == 4) {
    even_ = hn::BitCast(tag, hn::LoadU(bytes, in));
    odd_ = hn::BitCast(tag, hn::LoadU(bytes, in + 16));
  } else if constexpr (kLanes == 8) {
    even_ = hn::BitCast(tag, hn::LoadU(bytes, in));
  } else {
    const hn::Half<ByteTag> half_bytes;
    const auto lanes = hn::BitCast(hn::Half<UnsignedTag>(), hn::LoadU(half_bytes, in));
    even_ = hn::Combine(tag, hn::ShiftRight<4>(lanes), lanes);
  }
}

/// What the kernels of block_simd_*-inl.h ask of a format.
struct Q4Codes {
  static constexpr size_t kBytes = kQ4CodeBytes;  // of a block
  using Values = Q4Values;
  using Packer = Q4Packer;
  using Unpacker = Q4Unpacker;
  /// The codes of delta * inverse scale.
  static HWY_INLINE CodeVector Find(FloatVector ratio) { return SearchQ4Code(ratio); }
  /// The squares of a whole block's entries, in units.
  static HWY_INLINE uint64_t SumSquares(const uint8_t* codes) { return SumQ4Squares(codes); }
  static constexpr double kSquareUnit = kQ4SquareUnit;
  static const CodecKernels& Scalar() { return ScalarQ4Kernels(); }
};

}  // namespace HWY_NAMESPACE
}  // namespace interlude
HWY_AFTER_NAMESPACE();
#endif  // HWY_TARGET != HWY_SCALAR

#endif  // per-target include guard
