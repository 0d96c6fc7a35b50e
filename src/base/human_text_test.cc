#include "base/human_text.h"

#include <gtest/gtest.h>

namespace interlude {
namespace {

TEST(HumanSeconds, HasTheDigitsThatHelp) {
  EXPECT_EQ(HumanSeconds(0), "0 ms");
  EXPECT_EQ(HumanSeconds(-1), "0 ms");
  EXPECT_EQ(HumanSeconds(0.00004), "40 us");
  EXPECT_EQ(HumanSeconds(0.00099949), "999 us");
  EXPECT_EQ(HumanSeconds(0.0009996), "1.0 ms");
  EXPECT_EQ(HumanSeconds(0.0028), "2.8 ms");
  EXPECT_EQ(HumanSeconds(0.0642), "64.2 ms");
  EXPECT_EQ(HumanSeconds(0.09994), "99.9 ms");
  EXPECT_EQ(HumanSeconds(0.0999501), "100 ms");
  EXPECT_EQ(HumanSeconds(0.99949), "999 ms");
  EXPECT_EQ(HumanSeconds(0.9996), "1.00 s");
  EXPECT_EQ(HumanSeconds(9.994), "9.99 s");
  EXPECT_EQ(HumanSeconds(9.996), "10.0 s");
  EXPECT_EQ(HumanSeconds(108.12), "108.1 s");
  EXPECT_EQ(HumanSeconds(3720), "1 h 02 min");
  EXPECT_EQ(HumanNs(1'800'000'000), "1.80 s");
}

TEST(HumanBytes, CountsInPowersOfTen) {
  EXPECT_EQ(HumanBytes(0), "0 bytes");
  EXPECT_EQ(HumanBytes(9'999), "9999 bytes");
  EXPECT_EQ(HumanBytes(12'345), "12.3 kB");
  EXPECT_EQ(HumanBytes(450'000), "0.45 MB");
  EXPECT_EQ(HumanBytes(335'700'000), "335.7 MB");
  EXPECT_EQ(HumanBytes(2.5e9), "2.50 GB");
}

TEST(Count, HasAPlural) {
  EXPECT_EQ(Count(1, "chunk"), "1 chunk");
  EXPECT_EQ(Count(0, "chunk"), "0 chunks");
  EXPECT_EQ(Count(184'320, "sample"), "184,320 samples");
}

TEST(HumanCount, HasACommaEveryThreeDigits) {
  EXPECT_EQ(HumanCount(999), "999");
  EXPECT_EQ(HumanCount(1000), "1,000");
  EXPECT_EQ(HumanCount(12'345'678), "12,345,678");
  EXPECT_EQ(HumanCount(-100), "-100");
}

}  // namespace
}  // namespace interlude
