// The codes of q8 in plain C++, and the specification's kernels with them (block_scalar.h).
#include <cmath>

#include "codec/block_kernels.h"
#include "codec/block_scalar.h"
#include "codec/q8_codes.h"

namespace interlude {
namespace {

struct Q8Codes {
  std::array<uint8_t, kBlockValues> codes;

  uint32_t At(size_t j) const { return codes[j]; }
  void Set(size_t j, uint32_t code) { codes[j] = static_cast<uint8_t>(code); }

  static constexpr uint32_t kZeroCode = kQ8ZeroCode;
  /// In the default float environment nearbyint takes the even one of two that are equally near.
  static uint32_t CodeOf(float ratio) {
    const float nearest = std::nearbyint(ratio * kQ8Steps);
    const float steps = std::min(std::max(nearest, kQ8LowestSteps), kQ8Steps);
    return static_cast<uint32_t>(static_cast<int32_t>(steps) + kQ8ZeroCode);
  }
  static int32_t StepsOf(uint32_t code) { return static_cast<int32_t>(code) - kQ8ZeroCode; }
  static float Entry(uint32_t code) { return static_cast<float>(StepsOf(code)) / kQ8Steps; }

  static constexpr double kSquareUnit = kQ8SquareUnit;
  static uint32_t EntrySquare(uint32_t code) {
    return static_cast<uint32_t>(StepsOf(code) * StepsOf(code));
  }
};
static_assert(sizeof(Q8Codes) == kQ8CodeBytes);

}  // namespace

const CodecKernels& ScalarQ8Kernels() { return BlockScalar<Q8Codes>::kKernels; }

}  // namespace interlude
