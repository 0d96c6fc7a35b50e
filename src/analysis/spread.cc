#include "analysis/spread.h"

#include <algorithm>
#include <cmath>

namespace interlude {

Spread SpreadOf(std::vector<double> values) {
  std::erase_if(values, [](double value) { return std::isnan(value); });
  if (values.empty()) return {};
  std::sort(values.begin(), values.end());
  const size_t half = values.size() / 2;
  const bool odd = values.size() % 2 == 1;
  const double median =
      odd ? values[half] : values[half - 1] + (values[half] - values[half - 1]) / 2;
  return {values.front(), median, values.back(), values.size()};
}

double MedianOf(std::vector<double> values) {
  std::erase_if(values, [](double value) { return std::isnan(value); });
  if (values.empty()) return {};
  const auto half = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), half, values.end());
  if (values.size() % 2 == 1) return *half;
  const double below = *std::max_element(values.begin(), half);
  return below + (*half - below) / 2;
}

}  // namespace interlude
