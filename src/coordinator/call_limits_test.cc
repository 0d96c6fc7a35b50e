#include "coordinator/call_limits.h"

#include <gtest/gtest.h>

namespace interlude {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(MessageRateTest, TakesAThousandMessagesInTenSecondsAndNoMore) {
  MessageRate rate;
  const Nanoseconds begin = seconds(1000);
  for (int i = 0; i < MessageRate::kMost; ++i)
    ASSERT_TRUE(rate.Take(begin + milliseconds(i), false));
  EXPECT_FALSE(rate.Take(begin + seconds(9), false));
  EXPECT_TRUE(rate.Take(begin + seconds(10), false)) << "time has passed";
}

TEST(MessageRateTest, ARightWorkerMayBeAsFastAsItsRounds) {
  MessageRate rate;
  const Nanoseconds now = seconds(5);
  for (int round = 0; round < 100'000; ++round) {
    for (int i = 0; i < MessageRate::kMoreForAReport; ++i) ASSERT_TRUE(rate.Take(now, false));
    ASSERT_TRUE(rate.Take(now, true));
  }
  for (int i = 0; i < MessageRate::kMost; ++i) ASSERT_TRUE(rate.Take(now, false));
  EXPECT_FALSE(rate.Take(now, false)) << "nothing is saved up";
}

TEST(CallPlaceTest, APlaceIsFreeAgainWhenItsCallIsOver) {
  std::atomic<uint32_t> taken = 0;
  const CallPlace first(taken, 2);
  EXPECT_TRUE(first.got());
  {
    const CallPlace second(taken, 2);
    EXPECT_TRUE(second.got());
    EXPECT_FALSE(CallPlace(taken, 2).got());
  }
  EXPECT_TRUE(CallPlace(taken, 2).got());
}

}  // namespace
}  // namespace interlude
