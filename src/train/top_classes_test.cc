#include "train/top_classes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/rng.h"

namespace interlude {
namespace {

using ::testing::HasSubstr;

std::vector<uint32_t> Labels(const std::vector<float>& logits, uint32_t most) {
  std::vector<uint32_t> labels;
  for (const ClassProbability& one : TopClasses(logits, most).value()) labels.push_back(one.label);
  return labels;
}

TEST(TopClasses, TheLikeliestComesFirstAndOfEqualOnesTheLowerLabel) {
  EXPECT_EQ(Labels({1, 5, 3, 5, -2}, 3), (std::vector<uint32_t>{1, 3, 2}));
  EXPECT_EQ(Labels({7, 7, 7}, 2), (std::vector<uint32_t>{0, 1}));
  EXPECT_EQ(Labels({1, 2}, 5), (std::vector<uint32_t>{1, 0}));
  EXPECT_TRUE(Labels({1, 2}, 0).empty());
}

TEST(TopClasses, ProbabilitiesAreTheSoftmaxAndSumToOne) {
  Rng rng(5);
  std::vector<float> logits;
  for (int i = 0; i < 500; ++i) logits.push_back(static_cast<float>(rng.Below(4000)) / 100 - 20);
  long double whole = 0;
  for (const float logit : logits) whole += std::exp(static_cast<long double>(logit));
  double sum = 0;
  for (const ClassProbability& one : TopClasses(logits, 500).value()) {
    const auto expected =
        static_cast<double>(std::exp(static_cast<long double>(logits[one.label])) / whole);
    EXPECT_NEAR(one.probability, expected, 1e-14 * expected + 1e-300);
    sum += one.probability;
  }
  EXPECT_NEAR(sum, 1, 1e-12);
}

TEST(TopClasses, LogitsOfAnySizeAreNeitherTooLargeNorTooSmall) {
  const auto huge = TopClasses(std::vector<float>{3e38f, -3e38f, 3e38f}, 3).value();
  EXPECT_EQ(huge[0], (ClassProbability{0, 0.5}));
  EXPECT_EQ(huge[1], (ClassProbability{2, 0.5}));
  EXPECT_EQ(huge[2], (ClassProbability{1, 0}));
}

TEST(TopClasses, WhatIsNoNumberIsNamedWithItsClass) {
  for (const float bad : {NAN, INFINITY, -INFINITY}) {
    const auto top = TopClasses(std::vector<float>{1, bad, 2}, 1);
    EXPECT_EQ(top.status().code(), StatusCode::kDataLoss);
    EXPECT_THAT(top.status().message(), HasSubstr("class 1"));
  }
}

}  // namespace
}  // namespace interlude
