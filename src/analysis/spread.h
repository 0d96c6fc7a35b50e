// Minimum, median and maximum of a few numbers. Arithmetic only.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

namespace interlude {

struct Spread {
  double min = 0;
  double median = 0;
  double max = 0;
  size_t count = 0;  // 0: there was nothing to look at, and the three are 0

  friend bool operator==(const Spread&, const Spread&) = default;
};

/// NaN values are left out. The median of an even count is the mean of the middle two.
Spread SpreadOf(std::vector<double> values);
/// Nothing of an empty spread.
inline std::optional<double> MinOf(const Spread& spread) {
  return spread.count == 0 ? std::nullopt : std::optional(spread.min);
}
double MedianOf(std::vector<double> values);

}  // namespace interlude
