#include "base/rng.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <vector>

namespace interlude {
namespace {

TEST(Rng, IsSplitMix64) {
  // The published reference sequence of seed 1234567.
  Rng rng(1234567);
  for (const uint64_t expected : {6457827717110365317u, 3203168211198807973u, 9817491932198370423u,
                                  4593380528125082431u, 16408922859458223821u}) {
    EXPECT_EQ(rng(), expected);
  }
}

TEST(Rng, BelowStaysBelowAndReachesEveryValueEvenly) {
  Rng rng(5);
  std::array<int, 7> counts{};
  for (int i = 0; i < 70'000; ++i) {
    const uint64_t value = rng.Below(7);
    ASSERT_LT(value, 7u);
    ++counts[value];
  }
  // 10,000 each with a standard deviation of 93: six of them.
  for (const int count : counts) EXPECT_NEAR(count, 10'000, 560);
  EXPECT_EQ(rng.Below(1), 0u);
}

TEST(Rng, UniformFillsTheUnitIntervalWithoutReachingOne) {
  Rng rng(6);
  float least = 1, most = 0;
  double sum = 0;
  for (int i = 0; i < 100'000; ++i) {
    const float value = rng.Uniform();
    least = std::min(least, value);
    most = std::max(most, value);
    sum += static_cast<double>(value);
  }
  EXPECT_GE(least, 0.0f);
  EXPECT_LT(least, 0.001f);
  EXPECT_LT(most, 1.0f);
  EXPECT_GT(most, 0.999f);
  EXPECT_NEAR(sum / 100'000, 0.5, 0.0055);  // six standard deviations
}

TEST(Rng, ShufflePermutesByTheSeedAlone) {
  std::vector<int> values(100);
  std::iota(values.begin(), values.end(), 0);
  const auto shuffled = [&](uint64_t seed) {
    std::vector<int> copy = values;
    Rng rng(seed);
    rng.Shuffle(std::span(copy));
    return copy;
  };
  EXPECT_EQ(shuffled(1), shuffled(1));
  EXPECT_NE(shuffled(1), shuffled(2));
  EXPECT_NE(shuffled(1), values);
  std::vector<int> sorted = shuffled(1);
  std::sort(sorted.begin(), sorted.end());
  EXPECT_EQ(sorted, values);
}

}  // namespace
}  // namespace interlude
