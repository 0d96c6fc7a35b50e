// The code book of q4: 16 multiples of a block's scale, and the thresholds between them. Nothing
// else. Fitted by tools/fit_codebook.py, which also fails when these are not the entries it finds;
// changing an entry is a new version of the format (docs/formats/q4.md).
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace interlude {

/// Ascending. Each has at most 8 significant bits, as a scale has, so that scale * entry is exact
/// in fp32. The last entry is 1: the value of largest magnitude, which is the scale, has no error
/// but the scale's.
inline constexpr std::array<float, 16> kQ4Book = {
    -0.85546875f,   -0.6640625f,    -0.51953125f, -0.392578125f,  //
    -0.283203125f,  -0.1806640625f, -0.0859375f,  0.0f,           //
    0.08056640625f, 0.1689453125f,  0.263671875f, 0.3671875f,     //
    0.48046875f,    0.61328125f,    0.77734375f,  1.0f,
};

/// The code of the entry that is exactly zero; also the code of values missing from a short last
/// block.
inline constexpr uint32_t kQ4ZeroCode = 7;

/// kQ4Thresholds[i] is the middle between entries i and i + 1, exact in fp32. The code of a value
/// is the number of thresholds that are at or below value / scale.
inline constexpr std::array<float, 15> kQ4Thresholds = [] {
  std::array<float, 15> thresholds{};
  for (size_t i = 0; i < thresholds.size(); ++i) {
    thresholds[i] = (kQ4Book[i] + kQ4Book[i + 1]) * 0.5f;
  }
  return thresholds;
}();

/// The squares of the entries, in units of 2^-22: whole numbers, since every entry is a multiple of
/// 2^-11. Those of a block sum to at most 2^28.
inline constexpr std::array<uint32_t, 16> kQ4Squares = [] {
  std::array<uint32_t, 16> squares{};
  for (size_t i = 0; i < squares.size(); ++i) {
    const float root = kQ4Book[i] * 2048.0f;
    squares[i] = static_cast<uint32_t>(root * root);
  }
  return squares;
}();
inline constexpr double kQ4SquareUnit = 0x1p-22;

static_assert(
    [] {
      for (size_t i = 0; i < kQ4Book.size(); ++i) {
        const double entry = static_cast<double>(kQ4Book[i]);
        if (entry * entry != kQ4Squares[i] * kQ4SquareUnit) return false;
      }
      return true;
    }(),
    "an entry is no multiple of 2^-11");
static_assert(kQ4Book[kQ4ZeroCode] == 0.0f && kQ4Book[15] == 1.0f);
static_assert(
    [] {
      for (float entry : kQ4Book) {
        if ((std::bit_cast<uint32_t>(entry) & 0xFFFFu) != 0) return false;
      }
      return true;
    }(),
    "an entry has more than 8 significant bits");

}  // namespace interlude
