// The trimmed mean against its definition, and the vectors against the specification on every
// instruction set this machine has.
#include "optim/trimmed_mean.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <cstring>
#include <vector>

#include "base/rng.h"
#include "hwy/highway.h"
#include "optim/sort_network.h"

namespace interlude {
namespace {

using Rows = std::vector<std::vector<float>>;

float RandomValue(Rng& rng) {
  switch (rng.Below(8)) {
    case 0:
      return rng.Below(2) == 0 ? 0.0f : -0.0f;
    case 1:
      return rng.Below(2) == 0 ? FLT_MAX : -FLT_MAX;
    case 2:
      return (rng.Uniform() - 0.5f) * 0x1p-140f;
    case 3:
      return static_cast<float>(rng.Below(3)) - 1.0f;  // ties
    default:
      return std::ldexp(rng.Uniform() - 0.5f, static_cast<int>(rng.Below(60)) - 40);
  }
}

Rows RandomRows(size_t contributors, size_t count, Rng& rng) {
  Rows rows(contributors, std::vector<float>(count));
  for (auto& row : rows) {
    for (float& value : row) value = RandomValue(rng);
  }
  return rows;
}

std::vector<float> BySpecification(const Rows& rows, size_t cut) {
  std::vector<float> merged;
  std::vector<float> column(rows.size());
  for (size_t i = 0; i < rows[0].size(); ++i) {
    for (size_t k = 0; k < rows.size(); ++k) column[k] = rows[k][i];
    merged.push_back(TrimmedMeanOf(column, cut));
  }
  return merged;
}

std::vector<float> InVectors(const Rows& rows, size_t cut) {
  std::vector<const float*> pointers;
  for (const auto& row : rows) pointers.push_back(row.data());
  std::vector<float> merged(rows[0].size() + 1, 77.0f);
  TrimmedMean(pointers, cut, std::span(merged).first(rows[0].size()));
  EXPECT_EQ(merged.back(), 77.0f) << "written past the end";
  merged.pop_back();
  return merged;
}

TEST(SortPairs, SortAnyZerosAndOnes) {
  // What sorts all sequences of zeros and ones sorts everything.
  for (size_t n = 0; n <= 14; ++n) {
    const std::vector<SortPair> pairs = SortPairs(n);
    for (uint32_t bits = 0; bits < 1u << n; ++bits) {
      uint32_t sorted = bits;
      for (const auto& [low, high] : pairs) {
        ASSERT_LT(high, n);
        if ((sorted >> low & 1u) > (sorted >> high & 1u)) sorted ^= 1u << low | 1u << high;
      }
      for (size_t i = 1; i < n; ++i) ASSERT_LE(sorted >> (i - 1) & 1u, sorted >> i & 1u) << n;
    }
  }
}

TEST(SortPairs, SortManyRandomValues) {
  Rng rng(1);
  for (const size_t n : {15, 16, 17, 31, 33, 64, 100, 257}) {
    std::vector<uint64_t> values(n);
    for (uint64_t& value : values) value = rng.Below(n);
    for (const auto& [low, high] : SortPairs(n)) {
      if (values[low] > values[high]) std::swap(values[low], values[high]);
    }
    EXPECT_TRUE(std::is_sorted(values.begin(), values.end())) << n;
  }
  EXPECT_EQ(SortPairs<16>().size(), 63u);
}

TEST(TrimmedMeanOf, IsTheMeanOfWhatStays) {
  std::vector<float> values = {5, -100, 1, 3, 1000};
  EXPECT_EQ(TrimmedMeanOf(values, 2), 3.0f);
  values = {4, 100, 2, -7};
  EXPECT_EQ(TrimmedMeanOf(values, 1), 3.0f);
  values = {FLT_MAX, FLT_MAX};
  EXPECT_EQ(TrimmedMeanOf(values, 0), FLT_MAX) << "halves do not overflow";
}

TEST(TrimmedMeanOf, NegativeZeroCountsAsZero) {
  std::vector<float> values = {-0.0f};
  EXPECT_FALSE(std::signbit(TrimmedMeanOf(values, 0)));
}

TEST(TrimmedMeanOf, StaysWithinTheValuesThatAMajorityGave) {
  Rng rng(2);
  for (int i = 0; i < 2000; ++i) {
    const size_t honest = 2 + rng.Below(6);
    std::vector<float> values;
    for (size_t k = 0; k < honest; ++k) values.push_back(rng.Uniform() - 0.5f);
    const auto [low, high] = std::minmax_element(values.begin(), values.end());
    const float lowest = *low, highest = *high;
    const size_t bad = 1 + rng.Below(honest - 1);
    for (size_t k = 0; k < bad; ++k) values.push_back(rng.Below(2) == 0 ? 3e38f : -3e38f);
    const float merged = TrimmedMeanOf(values, bad);
    EXPECT_GE(merged, lowest - 1e-6f);
    EXPECT_LE(merged, highest + 1e-6f);
  }
}

TEST(CountCut, SeesWhoIsAlwaysCutAndIgnoresTies) {
  const std::vector<float> zeros(100, 0.0f);
  const std::vector<float> ones(100, 1.0f);
  const std::vector<float> far(100, -50.0f);
  const float* const values[] = {zeros.data(), ones.data(), zeros.data(), far.data()};
  std::vector<uint32_t> counts(4);
  CountCut(values, 100, 1, 10, counts);
  EXPECT_EQ(counts, (std::vector<uint32_t>{0, 10, 0, 10}));
}

class EveryTarget : public testing::TestWithParam<int64_t> {
 protected:
  void SetUp() override {
    hwy::SetSupportedTargetsForTest(GetParam());
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
    ASSERT_STREQ(hwy::TargetName(GetParam()), TrimmedMeanTargetName());
  }
  void TearDown() override {
    hwy::SetSupportedTargetsForTest(0);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  }
};

TEST_P(EveryTarget, GivesTheSpecificationsBits) {
  Rng rng(3);
  for (const size_t contributors : {1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 13, 15, 16, 17, 24, 33}) {
    for (const size_t count : {1, 3, 16, 17, 67, 512}) {
      const Rows rows = RandomRows(contributors, count, rng);
      for (size_t cut = 0; 2 * cut < contributors; ++cut) {
        const std::vector<float> expected = BySpecification(rows, cut);
        const std::vector<float> got = InVectors(rows, cut);
        ASSERT_EQ(0, std::memcmp(expected.data(), got.data(), count * sizeof(float)))
            << contributors << " contributors, " << count << " parameters, cut " << cut;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Highway, EveryTarget,
                         testing::ValuesIn(hwy::SupportedAndGeneratedTargets()),
                         [](const auto& target) {
                           return std::string(hwy::TargetName(target.param));
                         });

TEST(TrimmedMeanDeathTest, CuttingEverythingAborts) {
  std::vector<float> two(2);
  EXPECT_DEATH(TrimmedMeanOf(two, 1), "1 cut from each end of 2 values");
}

}  // namespace
}  // namespace interlude
