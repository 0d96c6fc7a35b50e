#include "train/non_finite.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

namespace interlude {
namespace {

using Limits = std::numeric_limits<float>;

TEST(NonFiniteTest, ExtremeFiniteValuesAreFine) {
  std::vector<float> values(9000, 1.0f);
  values[0] = Limits::max();
  values[5000] = Limits::lowest();
  values[8999] = -Limits::denorm_min();
  EXPECT_EQ(FindNonFinite(values), std::nullopt);
  EXPECT_EQ(FindNonFinite({}), std::nullopt);
}

TEST(NonFiniteTest, EachKindIsFoundAtEachEndAndInBetween) {
  for (const float bad :
       {Limits::infinity(), -Limits::infinity(), Limits::quiet_NaN(), -Limits::quiet_NaN()}) {
    for (const size_t position : {size_t{0}, size_t{4095}, size_t{4096}, size_t{8999}}) {
      std::vector<float> values(9000, 1.0f);
      values[position] = bad;
      EXPECT_EQ(FindNonFinite(values), position);
    }
  }
}

TEST(NonFiniteTest, TheFirstOfSeveralIsNamed) {
  std::vector<float> values(9000, 1.0f);
  values[8000] = Limits::infinity();
  values[4321] = Limits::quiet_NaN();
  EXPECT_EQ(FindNonFinite(values), 4321u);
}

}  // namespace
}  // namespace interlude
