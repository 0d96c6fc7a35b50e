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

}  // namespace
}  // namespace interlude
