#include "protocol/deadlines.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace interlude {
namespace {

using std::chrono::seconds;
using testing::Optional;

UsualTime Usual(int64_t in_seconds, size_t rounds) {
  return {.time = seconds(in_seconds), .rounds = rounds};
}

TEST(Deadlines, KnowNothingBeforeTheFirstRound) {
  const Deadlines deadlines;
  EXPECT_EQ(deadlines.Delivery(0, 0.5), std::nullopt);
  EXPECT_EQ(deadlines.Report(0), std::nullopt);
}

TEST(Deadlines, TakeTheTimeThatAllButOneInTwentyKeep) {
  Deadlines deadlines;
  for (const int64_t time : {7, 3, 9, 1}) deadlines.Reported(0, seconds(time));
  EXPECT_THAT(deadlines.Report(0), Optional(Usual(9, 4)));  // of so few, the longest
  for (int64_t time = 10; time < 26; ++time) deadlines.Reported(0, seconds(time));
  EXPECT_THAT(deadlines.Report(0), Optional(Usual(24, 20)));  // the longest but one
}

TEST(Deadlines, ForgetAllButTheNewestRounds) {
  Deadlines deadlines;
  for (int i = 0; i < 5; ++i) deadlines.Reported(0, seconds(100));
  for (size_t i = 0; i < Deadlines::kRounds - 2; ++i) deadlines.Reported(0, seconds(2));
  EXPECT_THAT(deadlines.Report(0), Optional(Usual(100, Deadlines::kRounds)));
  deadlines.Reported(0, seconds(2));  // one of the long ones is left
  EXPECT_THAT(deadlines.Report(0), Optional(Usual(2, Deadlines::kRounds)));
}

TEST(Deadlines, LieBetweenTheFirstAndTheLastChunkOfADelta) {
  Deadlines deadlines;
  deadlines.Delivered(0, seconds(10), seconds(30));
  EXPECT_THAT(deadlines.Delivery(0, 0), Optional(Usual(10, 1)));
  EXPECT_THAT(deadlines.Delivery(0, 0.25), Optional(Usual(15, 1)));
  EXPECT_THAT(deadlines.Delivery(0, 1), Optional(Usual(30, 1)));
}

TEST(Deadlines, AreThoseOfTheSlowestForAWorkerThatIsNotKnownYet) {
  Deadlines deadlines;
  deadlines.Delivered(0, seconds(1), seconds(2));
  deadlines.Delivered(1, seconds(4), seconds(8));
  deadlines.Delivered(1, seconds(4), seconds(8));
  deadlines.Reported(0, seconds(5));
  EXPECT_THAT(deadlines.Delivery(7, 1), Optional(Usual(8, 2)));
  EXPECT_THAT(deadlines.Report(7), Optional(Usual(5, 1)));
  deadlines.Delivered(7, seconds(1), seconds(1));
  EXPECT_THAT(deadlines.Delivery(7, 1), Optional(Usual(1, 1)));
}

}  // namespace
}  // namespace interlude
