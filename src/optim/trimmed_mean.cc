// The specification of the trimmed mean, and who was cut.
#include "optim/trimmed_mean.h"

#include <algorithm>
#include <vector>

#include "base/check.h"

namespace interlude {

float TrimmedMeanOf(std::span<float> values, size_t cut) {
  INTERLUDE_CHECK(2 * cut < values.size(), "{} cut from each end of {} values", cut, values.size());
  for (float& value : values) value = value + 0.0f;
  std::sort(values.begin(), values.end());
  const float share = 1.0f / static_cast<float>(values.size() - 2 * cut);
  float sum = 0.0f;
  for (size_t r = cut; r < values.size() - cut; ++r) {
    const float part = share * values[r];
    sum = sum + part;
  }
  return sum;
}

void CountCut(std::span<const float* const> values, size_t count, size_t cut, size_t stride,
              std::span<uint32_t> counts) {
  std::vector<float> sorted(values.size());
  for (size_t i = 0; i < count; i += stride) {
    for (size_t k = 0; k < values.size(); ++k) sorted[k] = values[k][i];
    std::sort(sorted.begin(), sorted.end());
    const float lowest = sorted[cut];
    const float highest = sorted[sorted.size() - 1 - cut];
    for (size_t k = 0; k < values.size(); ++k) {
      const float value = values[k][i];
      if (value < lowest || value > highest) ++counts[k];
    }
  }
}

}  // namespace interlude
