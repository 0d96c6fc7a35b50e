#include "optim/base_average.h"

#include <gtest/gtest.h>

#include <vector>

#include "base/rng.h"

namespace interlude {
namespace {

TEST(BaseAverage, IsTheMeanOfTheBasesWeightedByTheirAge) {
  Rng rng(9);
  constexpr float kDecay = 0.8f;
  std::vector<float> average(50, 0.0f);
  std::vector<double> expected(50, 0.0);
  double weights = 0;
  std::vector<float> out(50);
  for (uint32_t round = 1; round <= 30; ++round) {
    std::vector<float> base(50);
    for (float& value : base) value = rng.Uniform() * 10 - 5;
    AddToAverage(kDecay, base, average);
    CorrectAverage(kDecay, round, average, out);
    weights = weights * kDecay + 1;
    for (size_t i = 0; i < base.size(); ++i) {
      expected[i] = expected[i] * kDecay + base[i];
      ASSERT_NEAR(out[i], expected[i] / weights, 1e-5) << round;
    }
  }
}

TEST(BaseAverage, OfABaseThatStaysIsThatBase) {
  const std::vector<float> base = {1.5f, -2.0f, 0.0f};
  std::vector<float> average(3, 0.0f), out(3);
  for (uint32_t round = 1; round <= 5; ++round) {
    AddToAverage(0.999f, base, average);
    CorrectAverage(0.999f, round, average, out);
    for (size_t i = 0; i < base.size(); ++i) EXPECT_NEAR(out[i], base[i], 1e-5);
  }
}

}  // namespace
}  // namespace interlude
