// The squares of a block's q4 entries from its codes: they are whole numbers of three bytes, which
// bytes look up and sum. Included once per Highway target, by block_simd.cc only; hence no #pragma
// once.
#if defined(INTERLUDE_CODEC_Q4_SIMD_SQUARES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef INTERLUDE_CODEC_Q4_SIMD_SQUARES_INL_H_
#undef INTERLUDE_CODEC_Q4_SIMD_SQUARES_INL_H_
#else
#define INTERLUDE_CODEC_Q4_SIMD_SQUARES_INL_H_
#endif

#include <array>

#include "codec/block_simd-inl.h"
#include "codec/q4_book.h"

#if HWY_TARGET != HWY_SCALAR
HWY_BEFORE_NAMESPACE();
namespace interlude {
namespace HWY_NAMESPACE {

/// A block's 32 bytes of codes, or half of them.
using CodeBytesTag = hn::CappedTag<uint8_t, kQ4CodeBytes>;
using ByteSumsTag = hn::Repartition<uint64_t, CodeBytesTag>;

/// Byte kByte of each square.
template <int kByte>
constexpr std::array<uint8_t, 16> SquareBytes() {
  std::array<uint8_t, 16> bytes{};
  for (size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] = static_cast<uint8_t>(kQ4Squares[i] >> (8 * kByte));
  }
  return bytes;
}
alignas(16) constexpr std::array<uint8_t, 16> kSquareByte0 = SquareBytes<0>();
alignas(16) constexpr std::array<uint8_t, 16> kSquareByte1 = SquareBytes<1>();
alignas(16) constexpr std::array<uint8_t, 16> kSquareByte2 = SquareBytes<2>();

/// Sums of one byte of the squares of two vectors of codes.
HWY_INLINE hn::Vec<ByteSumsTag> SumSquareBytes(const std::array<uint8_t, 16>& table,
                                               hn::Vec<CodeBytesTag> low,
                                               hn::Vec<CodeBytesTag> high) {
  const auto bytes = hn::LoadDup128(CodeBytesTag(), table.data());
  return hn::Add(hn::SumsOf8(hn::TableLookupBytes(bytes, low)),
                 hn::SumsOf8(hn::TableLookupBytes(bytes, high)));
}

/// Those of a whole block.
HWY_INLINE uint64_t SumQ4Squares(const uint8_t* codes) {
  const CodeBytesTag bytes;
  const hn::Repartition<uint32_t, CodeBytesTag> words;
  const auto nibbles = hn::Set(words, 0x0F0F0F0Fu);
  auto sum = hn::Zero(ByteSumsTag());
  for (size_t i = 0; i < kQ4CodeBytes; i += hn::Lanes(bytes)) {
    const auto packed = hn::BitCast(words, hn::LoadU(bytes, codes + i));
    const auto low = hn::BitCast(bytes, hn::And(packed, nibbles));
    const auto high = hn::BitCast(bytes, hn::And(hn::ShiftRight<4>(packed), nibbles));
    const auto sum0 = SumSquareBytes(kSquareByte0, low, high);
    const auto sum1 = SumSquareBytes(kSquareByte1, low, high);
    const auto sum2 = SumSquareBytes(kSquareByte2, low, high);
    sum = hn::Add(sum, hn::Add(sum0, hn::Add(hn::ShiftLeft<8>(sum1), hn::ShiftLeft<16>(sum2))));
  }
  return hn::GetLane(hn::SumOfLanes(ByteSumsTag(), sum));
}

}  // namespace HWY_NAMESPACE
}  // namespace interlude
HWY_AFTER_NAMESPACE();
#endif  // HWY_TARGET != HWY_SCALAR

#endif  // per-target include guard
