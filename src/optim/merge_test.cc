#include "optim/merge.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <limits>

#include "base/rng.h"

namespace interlude {
namespace {

TEST(MergeWeights, WeightedMeanIsTheShareOfSamples) {
  EXPECT_EQ(MergeWeights(MergeRule::kWeightedMean, std::vector<uint64_t>{1, 0, 3}),
            (std::vector<float>{0.25f, 0.0f, 0.75f}));
  EXPECT_EQ(MergeWeights(MergeRule::kWeightedMean, std::vector<uint64_t>{1280, 1280, 640}),
            (std::vector<float>{0.4f, 0.4f, 0.2f}));
}

TEST(MergeWeights, PlainMeanIgnoresSamples) {
  EXPECT_EQ(MergeWeights(MergeRule::kMean, std::vector<uint64_t>{1, 0, 3, 9}),
            std::vector<float>(4, 0.25f));
  EXPECT_EQ(MergeWeights(MergeRule::kMean, std::vector<uint64_t>{5, 0, 1}),
            std::vector<float>(3, 1.0f / 3.0f));
}

TEST(MergeWeights, WithoutAnySamplesTheWeightedMeanIsThePlainOne) {
  EXPECT_EQ(MergeWeights(MergeRule::kWeightedMean, std::vector<uint64_t>{0, 0}),
            std::vector<float>(2, 0.5f));
}

TEST(MergeWeights, OneContributorWeighsExactlyOneAndNoneGiveNoWeights) {
  for (const MergeRule rule : {MergeRule::kMean, MergeRule::kWeightedMean}) {
    EXPECT_EQ(MergeWeights(rule, std::vector<uint64_t>{1279}), std::vector<float>{1.0f});
    EXPECT_TRUE(MergeWeights(rule, {}).empty());
  }
}

TEST(MergeWeights, TotalsBeyond64BitsDoNotWrap) {
  constexpr uint64_t kMost = std::numeric_limits<uint64_t>::max();
  EXPECT_EQ(
      MergeWeights(MergeRule::kWeightedMean, std::vector<uint64_t>{kMost, kMost, kMost, kMost}),
      std::vector<float>(4, 0.25f));
}

TEST(MergeWeights, WeightsSumToOneWithinTheStatedBound) {
  Rng rng(3);
  for (int round = 0; round < 100; ++round) {
    std::vector<uint64_t> samples(1 + rng.Below(64));
    for (uint64_t& count : samples) count = rng.Below(100'000);
    for (const MergeRule rule : {MergeRule::kMean, MergeRule::kWeightedMean}) {
      double sum = 0;
      for (const float weight : MergeWeights(rule, samples)) sum += static_cast<double>(weight);
      EXPECT_LE(std::abs(sum - 1.0), 0x1p-24);
    }
  }
}

TEST(MergeWeights, RulesThatSortWeighNobody) {
  for (const MergeRule rule : {MergeRule::kTrimmedMean, MergeRule::kCoordinateMedian}) {
    EXPECT_EQ(MergeWeights(rule, std::vector<uint64_t>{1, 0, 3}), std::vector<float>(3, 1.0f));
  }
}

TEST(SquaredNorm, AddsBlockByBlock) {
  EXPECT_EQ(SquaredNorm({}), 0.0);
  EXPECT_EQ(SquaredNorm(std::vector<float>{3.0f, -4.0f}), 25.0);
  // 2^53 swallows single ones, but not the 63 of another block at once.
  std::vector<float> values(128, 1.0f);
  values[0] = 0x1p27f;
  for (size_t i = 1; i < 64; ++i) values[i] = 0.0f;
  EXPECT_EQ(SquaredNorm(values), 0x1p54 + 64);
}

TEST(SquaredNorm, IsFiniteForTheLargestValues) {
  const std::vector<float> values(1000, -std::numeric_limits<float>::max());
  EXPECT_TRUE(std::isfinite(SquaredNorm(values)));
}

TEST(NormFactors, ShortenOnlyWhatIsLongerThanTheBoundTimesTheMedian) {
  EXPECT_EQ(NormFactors(2, std::vector<double>{1, 4, 9}), (std::vector<double>{1, 1, 1}));
  EXPECT_EQ(NormFactors(2, std::vector<double>{100, 1, 4}), (std::vector<double>{0.4, 1, 1}));
  EXPECT_EQ(NormFactors(2, std::vector<double>{16, 16}), (std::vector<double>{1, 1}));
}

TEST(NormFactors, OfAnEvenNumberTheLowerMiddleIsTheMedian) {
  EXPECT_EQ(NormFactors(3, std::vector<double>{1, 10000}), (std::vector<double>{1, 0.03}));
  EXPECT_EQ(NormFactors(2, std::vector<double>{1, 4, 400, 40000}),
            (std::vector<double>{1, 1, 0.2, 0.02}));
}

TEST(NormFactors, WhatIsFarOutDoesNotCountAtAll) {
  EXPECT_EQ(NormFactors(1, std::vector<double>{1, 0x1p140, 1}), (std::vector<double>{1, 0, 1}));
  EXPECT_EQ(NormFactors(1, std::vector<double>{1, 0x1p128, 1}),
            (std::vector<double>{1, 0x1p-64, 1}));
  EXPECT_EQ(NormFactors(5, std::vector<double>{0, 0, 7}), (std::vector<double>{1, 1, 0}));
  EXPECT_EQ(NormFactors(5, std::vector<double>{0, 0, 0}), (std::vector<double>{1, 1, 1}));
}

TEST(NormFactors, OneContributorIsItsOwnMedianAndNoneGiveNone) {
  EXPECT_EQ(NormFactors(1, std::vector<double>{1e77}), std::vector<double>{1});
  EXPECT_TRUE(NormFactors(1, {}).empty());
}

TEST(ScaleWeights, LeavesAWeightWhoseFactorIsOne) {
  std::vector<float> weights = {0.1f, 0.3f};
  ScaleWeights(std::vector<double>{1.0, 0.5}, weights);
  EXPECT_EQ(weights, (std::vector<float>{0.1f, 0.15f}));
}

size_t Cut(double trim, size_t n) {
  return CutCount({.rule = MergeRule::kTrimmedMean, .trim = trim}, n);
}

TEST(CutCount, RoundsUpSoThatOneOfThreeIsCut) {
  EXPECT_EQ(Cut(0.25, 3), 1u);
  EXPECT_EQ(Cut(0.25, 4), 1u);
  EXPECT_EQ(Cut(0.25, 5), 2u);
  EXPECT_EQ(Cut(0.25, 8), 2u);
  EXPECT_EQ(Cut(0.07, 100), 7u) << "0.07 * 100 is a little above 7 in double";
  EXPECT_EQ(Cut(0, 100), 0u);
}

TEST(CutCount, LeavesOneValueAtLeast) {
  for (size_t n = 1; n < 200; ++n) {
    const size_t median = CutCount({.rule = MergeRule::kCoordinateMedian}, n);
    EXPECT_EQ(n - 2 * median, n % 2 == 0 ? 2u : 1u);
    for (const double trim : {0.0, 0.1, 0.25, 0.4999999999999999, 0.49999999999999994}) {
      EXPECT_LT(2 * Cut(trim, n), n);
      EXPECT_GE(static_cast<double>(Cut(trim, n)) + 1e-6,
                std::min(trim * static_cast<double>(n), static_cast<double>((n - 1) / 2)));
    }
  }
}

std::vector<float> Merged(const MergeOptions& options,
                          const std::vector<std::vector<float>>& deltas,
                          const std::vector<uint64_t>& samples) {
  std::vector<float> merged(deltas.empty() ? 3 : deltas[0].size(), 7.0f);
  MergeDeltas(options, std::vector<std::span<const float>>(deltas.begin(), deltas.end()), samples,
              merged);
  return merged;
}

TEST(MergeDeltas, GiveWhatTheRulesSay) {
  const std::vector<std::vector<float>> deltas = {{1, -5, 0}, {2, 100, 0}, {9, 3, 0}, {4, 5, 8}};
  const std::vector<uint64_t> samples = {1, 1, 0, 2};
  using Floats = std::vector<float>;
  EXPECT_EQ(Merged({.rule = MergeRule::kWeightedMean}, deltas, samples),
            (Floats{2.75f, 26.25f, 4}));
  EXPECT_EQ(Merged({.rule = MergeRule::kMean}, deltas, samples), (Floats{4, 25.75f, 2}));
  EXPECT_EQ(Merged({.rule = MergeRule::kTrimmedMean}, deltas, samples), (Floats{3, 4, 0}));
  EXPECT_EQ(Merged({.rule = MergeRule::kTrimmedMean, .trim = 0}, deltas, samples),
            (Floats{4, 25.75f, 2}));
  EXPECT_EQ(Merged({.rule = MergeRule::kCoordinateMedian}, deltas, samples), (Floats{3, 4, 0}));
  EXPECT_EQ(Merged({.rule = MergeRule::kMean}, {}, {}), Floats(3, 0.0f));
}

TEST(MergeDeltas, ScaleTheLongestDownToTheBound) {
  const std::vector<std::vector<float>> deltas = {{3, 4}, {0, 5}, {600, 800}};
  using Floats = std::vector<float>;
  const std::vector<uint64_t> samples = {1, 1, 2};
  EXPECT_EQ(Merged({.rule = MergeRule::kWeightedMean, .norm_bound = 2}, deltas, samples),
            (Floats{0.25f * 3 + 0.005f * 600, 0.25f * 4 + 0.25f * 5 + 0.005f * 800}));
  EXPECT_EQ(Merged({.rule = MergeRule::kCoordinateMedian, .norm_bound = 2}, deltas, samples),
            (Floats{3, 5}));
}

}  // namespace
}  // namespace interlude
