#include "optim/base_average.h"

#include <cmath>

#include "base/check.h"

namespace interlude {

void AddToAverage(float decay, std::span<const float> base, std::span<float> average) {
  INTERLUDE_CHECK(base.size() == average.size(), "{} parameters, an average of {}", base.size(),
                  average.size());
  const auto rest = static_cast<float>(1.0 - double{decay});
  for (size_t i = 0; i < base.size(); ++i) {
    const float kept = decay * average[i];
    const float added = rest * base[i];
    average[i] = kept + added;
  }
}

void CorrectAverage(float decay, uint32_t rounds, std::span<const float> average,
                    std::span<float> out) {
  INTERLUDE_CHECK(rounds > 0 && out.size() == average.size(), "{} rounds, {} of {} values", rounds,
                  out.size(), average.size());
  const double weight = 1.0 - std::pow(double{decay}, rounds);
  for (size_t i = 0; i < out.size(); ++i) out[i] = static_cast<float>(average[i] / weight);
}

}  // namespace interlude
