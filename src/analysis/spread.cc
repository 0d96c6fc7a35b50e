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

double MedianOf(std::vector<double> values) { return SpreadOf(std::move(values)).median; }

}  // namespace interlude
