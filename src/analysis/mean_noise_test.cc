#include "analysis/mean_noise.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <numbers>
#include <vector>

#include "base/rng.h"

namespace interlude {
namespace {

using Values = std::vector<int64_t>;

/// Uniform in (0, 1].
double Uniform(Rng& rng) { return 1.0 - static_cast<double>(rng() >> 11) * 0x1p-53; }
double Normal(Rng& rng) {
  return std::sqrt(-2 * std::log(Uniform(rng))) * std::cos(2 * std::numbers::pi * Uniform(rng));
}

/// Milliseconds around 0, each `likeness` of the one before it.
Values Series(Rng& rng, size_t n, double likeness, const std::function<double(Rng&)>& noise) {
  Values values;
  double state = Normal(rng) / std::sqrt(1 - likeness * likeness);
  for (size_t i = 0; i < n; ++i) {
    state = likeness * state + noise(rng);
    values.push_back(std::llround(1e6 * state));
  }
  return values;
}

double MeanOf(const Values& values) {
  double sum = 0;
  for (const int64_t value : values) sum += static_cast<double>(value);
  return sum / static_cast<double>(values.size());
}

/// Of two series of the same kind.
Values Differences(Rng& rng, size_t n, double likeness, const std::function<double(Rng&)>& noise) {
  Values values = Series(rng, n, likeness, noise);
  const Values other = Series(rng, n, likeness, noise);
  for (size_t i = 0; i < n; ++i) values[i] -= other[i];
  return values;
}

constexpr int kRows = 6;
constexpr int kFamilies = 1000;

/// Of 1,000 comparisons of two alike, each of six rows, how many say of any that it changed.
int FalseAlarms(size_t n, double likeness, const std::function<double(Rng&)>& noise) {
  int alarms = 0;
  for (int family = 0; family < kFamilies; ++family) {
    Rng rng(Mix64(1000 * n + family));
    bool alarm = false;
    for (int row = 0; row < kRows; ++row) {
      const Values values = Differences(rng, n, likeness, noise);
      alarm = alarm || std::abs(MeanOf(values)) > *NoiseOfMean(values, 0.05 / kRows);
    }
    alarms += alarm ? 1 : 0;
  }
  return alarms;
}

/// 5 % of 1,000, and three times the binomial's standard deviation.
constexpr int kMostAlarms = 50 + 21;

TEST(StudentT, IsThatOfThePublishedTables) {
  struct Entry {
    size_t degrees;
    double tail, t;
  };
  for (const Entry& entry :
       {Entry{1, 0.05, 12.706}, Entry{2, 0.05, 4.303}, Entry{4, 0.05, 2.776},
        Entry{4, 0.001, 8.610}, Entry{8, 0.01, 3.355}, Entry{10, 0.05, 2.228},
        Entry{30, 0.05, 2.042}, Entry{30, 0.001, 3.646}, Entry{100, 0.05, 1.984}}) {
    EXPECT_NEAR(StudentT(entry.degrees, entry.tail), entry.t, 6e-4)
        << entry.degrees << " degrees, " << entry.tail;
  }
  EXPECT_NEAR(StudentT(1'000'000, 0.05), 1.96, 0.02);
}

TEST(NoiseOfMean, IsThatOfTheExampleByHand) {
  // docs/report.md, "Comparing two runs", has every step.
  const Values differences = {10, 12, 11, 13, 14};
  EXPECT_NEAR(*NoiseOfMean(differences, 0.025), 3.495 * std::sqrt(0.5 * 1.3 / 0.7), 0.001);
}

TEST(NoiseOfMean, OfBatchesThatAreNotEquallyLongWeighsThemByTheirLength) {
  // Batches of 1, 1, 1, 1 and 2 values are -2, 1, -3, 2 and 1 from the mean, which is 1: neighbours
  // are unlike.
  const Values values = {-1, 2, -2, 3, 5, -1};
  const double squares = (4 + 1 + 9 + 4) / 36.0 + 4 * 1 / 36.0;
  const double variance = squares / (1 - 8.0 / 36);
  EXPECT_NEAR(*NoiseOfMean(values, 0.05), StudentT(4, 0.05) * std::sqrt(variance), 1e-9);
}

TEST(NoiseOfMean, OfTooFewValuesIsNotClaimed) {
  EXPECT_FALSE(NoiseOfMean({}, 0.05).has_value());
  EXPECT_FALSE(NoiseOfMean(Values(4, 1), 0.05).has_value());
  EXPECT_EQ(NoiseOfMean(Values(5, 1), 0.05), 0.0) << "five equal ones have none";
}

TEST(NoiseOfMean, IsTheSameWhenAllValuesChangeTheirSign) {
  for (uint64_t seed = 0; seed < 50; ++seed) {
    Rng rng(seed);
    Values values = Series(rng, 5 + rng.Below(60), 0.3, Normal);
    const double noise = *NoiseOfMean(values, 0.01);
    for (int64_t& value : values) value = -value;
    EXPECT_EQ(*NoiseOfMean(values, 0.01), noise);
  }
}

TEST(NoiseOfMean, RaisesAFalseAlarmInOneOfTwentyComparisonsAtMost) {
  const auto exponential = [](Rng& rng) { return -std::log(Uniform(rng)); };
  const auto stalls = [](Rng& rng) { return 0.1 * Normal(rng) + (Uniform(rng) < 0.05 ? 10 : 0); };
  EXPECT_LE(FalseAlarms(5, 0, Normal), kMostAlarms);
  EXPECT_LE(FalseAlarms(7, 0, Normal), kMostAlarms) << "batches of one and of two";
  EXPECT_LE(FalseAlarms(20, 0, Normal), kMostAlarms);
  EXPECT_LE(FalseAlarms(5, 0, exponential), kMostAlarms) << "skewed";
  EXPECT_LE(FalseAlarms(20, 0, stalls), kMostAlarms) << "some far off";
}

TEST(NoiseOfMean, HoldsForValuesThatDependOnTheOneBeforeWhenThereAreEnough) {
  EXPECT_LE(FalseAlarms(100, 0.5, Normal), kMostAlarms);
}

TEST(NoiseOfMean, IsNotSoWideThatAShiftOfFiveStandardDeviationsIsMissed) {
  for (uint64_t seed = 0; seed < 1000; ++seed) {
    Rng rng(seed);
    const Values values = Differences(rng, 20, 0, Normal);
    EXPECT_GT(5e6 + MeanOf(values), *NoiseOfMean(values, 0.05 / kRows)) << "seed " << seed;
  }
}

}  // namespace
}  // namespace interlude
