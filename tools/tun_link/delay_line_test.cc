#include "tools/tun_link/delay_line.h"

#include <gtest/gtest.h>

namespace interlude {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using Packet = DelayLine::Packet;

// 12.5 bytes a microsecond: 1250 bytes take 0.1 ms.
const LineSettings kLine = {.delay = milliseconds(14), .rate_mbit = 100, .queue = milliseconds(1)};

TEST(DelayLineTest, APacketComesOutAfterItsTimeAtTheRateAndTheDelay) {
  DelayLine line(kLine, 1);
  line.Enter(milliseconds(1), Packet(1250, 'a'));
  line.Enter(milliseconds(1), Packet(2500, 'b'));
  EXPECT_EQ(line.NextDue(), nanoseconds(15'100'000));
  EXPECT_FALSE(line.Due(nanoseconds(15'099'999)));
  ASSERT_TRUE(line.Due(nanoseconds(15'100'000)));
  EXPECT_EQ(line.Leave(), Packet(1250, 'a'));
  EXPECT_EQ(line.NextDue(), nanoseconds(15'300'000)) << "it had to wait for its turn";
  EXPECT_EQ(line.Leave(), Packet(2500, 'b'));
  EXPECT_EQ(line.NextDue(), nanoseconds::max());
}

TEST(DelayLineTest, WhatWouldWaitTooLongForItsTurnIsDropped) {
  DelayLine line(kLine, 1);
  for (int i = 0; i < 20; ++i) line.Enter(milliseconds(0), Packet(1250));
  EXPECT_EQ(line.counts().entered, 20u);
  EXPECT_EQ(line.counts().overflowed, 9u) << "11 begin within 1 ms";
  line.Enter(milliseconds(1), Packet(1250));
  EXPECT_EQ(line.counts().overflowed, 9u) << "there is room again";
}

TEST(DelayLineTest, AnotherRateAndDelayHoldForWhatEntersLater) {
  DelayLine line(kLine, 1);
  line.Enter(milliseconds(0), Packet(1250, 'a'));
  line.SetRate(0);
  line.SetDelay(milliseconds(1));
  line.Enter(milliseconds(0), Packet(1250, 'b'));
  EXPECT_FALSE(line.Due(nanoseconds(14'099'999))) << "b does not overtake a";
  EXPECT_TRUE(line.Due(nanoseconds(14'100'000)));
  EXPECT_EQ(line.Leave(), Packet(1250, 'a'));
  EXPECT_EQ(line.NextDue(), nanoseconds(1'100'000)) << "at the end of a's turn, and 1 ms";
}

TEST(DelayLineTest, AsManyAreLostAsAskedForAndTheSameOnesForTheSameSeed) {
  LineSettings settings = kLine;
  settings.rate_mbit = 0;
  settings.loss = 0.01;
  std::vector<char> survivors[2];
  for (auto& ids : survivors) {
    DelayLine line(settings, 7);
    for (int i = 0; i < 100'000; ++i) line.Enter(milliseconds(0), Packet(1, static_cast<char>(i)));
    // Within five standard deviations (31.5 each).
    EXPECT_NEAR(static_cast<double>(line.counts().lost), 1000, 158);
    while (line.Due(nanoseconds::max())) ids.push_back(line.Leave()[0]);
  }
  EXPECT_EQ(survivors[0], survivors[1]);
}

TEST(DelayLineTest, NothingPassesWhileItIsSilent) {
  DelayLine line(kLine, 1);
  line.Enter(milliseconds(0), Packet(100));
  line.SetSilent(true);
  line.Enter(milliseconds(1), Packet(100));
  EXPECT_FALSE(line.Due(nanoseconds::max() - nanoseconds(1)));
  EXPECT_EQ(line.counts().silenced, 2u);
  line.SetSilent(false);
  line.Enter(milliseconds(2), Packet(100));
  EXPECT_TRUE(line.Due(milliseconds(17)));
}

}  // namespace
}  // namespace interlude
