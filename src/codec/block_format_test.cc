#include "codec/block_format.h"

#include <gtest/gtest.h>

#include <cfloat>
#include <cmath>

#include "codec/q4_book.h"
#include "codec/q8_codes.h"

namespace interlude {
namespace {

uint16_t ScaleOf(float maximum) { return BlockScaleOf(std::bit_cast<uint32_t>(maximum)); }

TEST(BlockFormat, ScalesRoundToNearestEven) {
  EXPECT_EQ(0x3F80, ScaleOf(1.0f));
  EXPECT_EQ(0xBF80, ScaleOf(-1.0f));
  EXPECT_EQ(0x3F80, ScaleOf(1.0f + 0x1p-8f));  // halfway between 0x3F80 and 0x3F81
  EXPECT_EQ(0x3F82, ScaleOf(1.0f + 0x3p-8f));  // halfway between 0x3F81 and 0x3F82
  EXPECT_EQ(0x3F81, ScaleOf(1.0f + 0x1p-8f + 0x1p-23f));
  EXPECT_EQ(0x4000, ScaleOf(2.0f - 0x1p-23f));  // carries into the exponent
}

TEST(BlockFormat, ScalesNeverRoundUpToInfinity) {
  EXPECT_EQ(0x7F7F, ScaleOf(FLT_MAX));
  EXPECT_EQ(0xFF7F, ScaleOf(-FLT_MAX));
  EXPECT_TRUE(std::isfinite(BlockScaleValue(ScaleOf(FLT_MAX))));
}

TEST(BlockFormat, BlocksBelowTheSmallestMagnitudeHaveScaleZero) {
  EXPECT_EQ(0, ScaleOf(std::nextafter(0x1p-100f, 0.0f)));
  EXPECT_EQ(0, ScaleOf(-std::nextafter(0x1p-100f, 0.0f)));
  EXPECT_EQ(0, ScaleOf(-0.0f));
  EXPECT_EQ(0x1p-100f, BlockScaleValue(ScaleOf(0x1p-100f)));
  EXPECT_EQ(-0x1p-100f, BlockScaleValue(ScaleOf(-0x1p-100f)));
  EXPECT_EQ(0.0f, InverseBlockScale(0));
}

TEST(BlockFormat, ValidScalesAreThoseThatAnEncoderWrites) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const auto scale = static_cast<uint16_t>(bits);
    const float value = BlockScaleValue(scale);
    const bool written = std::isfinite(value) && ScaleOf(value) == scale;
    ASSERT_EQ(written, IsValidBlockScale(scale)) << bits;
  }
}

TEST(BlockFormat, ScaleTimesEntryIsExactForEveryScaleAndEntry) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const auto scale = static_cast<uint16_t>(bits);
    if (!IsValidBlockScale(scale)) continue;
    for (float entry : kQ4Book) {
      const float product = BlockScaleValue(scale) * entry;
      ASSERT_EQ(static_cast<double>(BlockScaleValue(scale)) * entry, product)
          << bits << " " << entry;
      ASSERT_TRUE(product == 0 || std::isnormal(product)) << bits << " " << entry;
    }
    for (int32_t steps = -127; steps <= 128; ++steps) {
      const float entry = static_cast<float>(steps) / kQ8Steps;
      const float product = BlockScaleValue(scale) * entry;
      ASSERT_EQ(static_cast<double>(BlockScaleValue(scale)) * steps / 128, product) << bits;
      ASSERT_TRUE(product == 0 || std::isnormal(product)) << bits << " " << steps;
    }
  }
}

TEST(BlockFormat, Q4ThresholdsAreTheExactMiddlesInAscendingOrder) {
  for (size_t i = 0; i < kQ4Thresholds.size(); ++i) {
    EXPECT_LT(kQ4Book[i], kQ4Book[i + 1]);
    EXPECT_EQ((static_cast<double>(kQ4Book[i]) + kQ4Book[i + 1]) / 2, kQ4Thresholds[i]);
  }
}

TEST(BlockFormat, NonFiniteIsToldByTheExponentAlone) {
  EXPECT_TRUE(IsNonFinite(0x7F800000u));
  EXPECT_TRUE(IsNonFinite(0xFF800000u));
  EXPECT_TRUE(IsNonFinite(0x7F800001u));  // a signaling NaN
  EXPECT_TRUE(IsNonFinite(0xFFFFFFFFu));
  EXPECT_FALSE(IsNonFinite(0x7F7FFFFFu));
  EXPECT_FALSE(IsNonFinite(0x80000001u));
}

}  // namespace
}  // namespace interlude
