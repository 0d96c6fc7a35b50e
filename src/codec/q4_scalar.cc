// The codes of q4 in plain C++, and the specification's kernels with them (block_scalar.h).
#include "codec/block_kernels.h"
#include "codec/block_scalar.h"
#include "codec/q4_book.h"

namespace interlude {
namespace {

struct Q4Codes {
  std::array<uint32_t, 8> lanes;  // value j is nibble j / 8 of lane j mod 8

  uint32_t At(size_t j) const { return (lanes[j % 8] >> (4 * (j / 8))) & 15u; }
  void Set(size_t j, uint32_t code) { lanes[j % 8] |= code << (4 * (j / 8)); }

  static constexpr uint32_t kZeroCode = kQ4ZeroCode;
  static uint32_t CodeOf(float ratio) {
    uint32_t code = 0;
    for (float threshold : kQ4Thresholds) code += threshold <= ratio ? 1 : 0;
    return code;
  }
  static float Entry(uint32_t code) { return kQ4Book[code]; }

  static constexpr double kSquareUnit = kQ4SquareUnit;
  static uint32_t EntrySquare(uint32_t code) { return kQ4Squares[code]; }
};
static_assert(sizeof(Q4Codes) == kQ4CodeBytes);

}  // namespace

const CodecKernels& ScalarQ4Kernels() { return BlockScalar<Q4Codes>::kKernels; }

}  // namespace interlude
