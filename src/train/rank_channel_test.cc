#include "train/rank_channel.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <thread>

#include "base/rng.h"

namespace interlude {
namespace {

constexpr Nanoseconds kNow{0};

class RankChannelTest : public ::testing::Test {
 protected:
  RankChannelTest() : ends_(*RankChannel::MakePair()) {}

  std::pair<RankChannel, RankChannel> ends_;
  RankChannel& here_ = ends_.first;
  RankChannel& there_ = ends_.second;
};

RankMessage RandomMessage(Rng& rng) {
  RankMessage message{.kind = static_cast<uint32_t>(rng.Below(100))};
  message.numbers.resize(rng.Below(2) == 0 ? rng.Below(5) : rng.Below(100'000));
  for (uint64_t& number : message.numbers) number = rng.Below(UINT64_MAX);
  message.text.resize(rng.Below(2) == 0 ? rng.Below(20) : rng.Below(500'000));
  for (char& letter : message.text) letter = static_cast<char>(rng.Below(256));
  return message;
}

TEST_F(RankChannelTest, MessagesOfAnySizeArriveWholeAndInOrder) {
  Rng rng(1);
  std::vector<RankMessage> sent;
  for (int i = 0; i < 40; ++i) sent.push_back(RandomMessage(rng));
  // Most are longer than what the system holds, so that Send waits for Receive.
  std::thread sender([&] {
    for (const RankMessage& message : sent) EXPECT_TRUE(there_.Send(message).ok());
  });
  for (const RankMessage& message : sent) {
    const auto got = here_.Receive();
    ASSERT_TRUE(got.ok()) << got.status().ToString();
    EXPECT_EQ(got->kind, message.kind);
    EXPECT_EQ(got->numbers, message.numbers);
    EXPECT_EQ(got->text, message.text);
  }
  sender.join();
}

TEST_F(RankChannelTest, BothDirectionsWorkAtOnce) {
  ASSERT_TRUE(here_.Send({.kind = 1, .text = "order"}).ok());
  ASSERT_TRUE(there_.Send({.kind = 2, .text = "answer"}).ok());
  EXPECT_EQ(there_.Receive(std::chrono::hours(1))->text, "order");
  EXPECT_EQ(here_.Receive(kNow)->text, "answer") << "what is there is not too late";
}

TEST_F(RankChannelTest, WhoSaysNothingIsTooLateAndWhoIsGoneIsGone) {
  EXPECT_EQ(here_.Receive(std::chrono::milliseconds(1)).status().code(),
            StatusCode::kDeadlineExceeded);
  EXPECT_EQ(here_.Receive(kNow).status().code(), StatusCode::kDeadlineExceeded);
  { const RankChannel closed = std::move(there_); }
  EXPECT_EQ(here_.Receive().status().code(), StatusCode::kUnavailable);
  EXPECT_EQ(here_.Send({.kind = 1}).code(), StatusCode::kUnavailable) << "and no SIGPIPE";
}

TEST_F(RankChannelTest, TheLastWordOfOneThatIsGoneIsHeard) {
  ASSERT_TRUE(there_.Send({.kind = 7, .text = "last word"}).ok());
  { const RankChannel closed = std::move(there_); }
  EXPECT_EQ(here_.Receive()->text, "last word");
  EXPECT_EQ(here_.Receive().status().code(), StatusCode::kUnavailable);
}

TEST_F(RankChannelTest, AMessageThatBreaksOffAnywhereIsNoMessage) {
  std::vector<std::byte> whole(200);
  ASSERT_TRUE(there_.Send({.kind = 1, .numbers = {2, 3}, .text = "text"}).ok());
  const ssize_t size = recv(here_.fd(), whole.data(), whole.size(), 0);
  ASSERT_EQ(size, 24 + 16 + 4);
  for (ssize_t cut = 0; cut < size; ++cut) {
    auto ends = *RankChannel::MakePair();
    ASSERT_EQ(write(ends.second.fd(), whole.data(), static_cast<size_t>(cut)), cut);
    EXPECT_EQ(ends.first.Receive(kNow).status().code(), StatusCode::kDeadlineExceeded);
    auto again = *RankChannel::MakePair();
    ASSERT_EQ(write(again.second.fd(), whole.data(), static_cast<size_t>(cut)), cut);
    { const RankChannel closed = std::move(again.second); }
    EXPECT_EQ(again.first.Receive().status().code(), StatusCode::kUnavailable) << cut;
  }
}

TEST_F(RankChannelTest, WhatNoRankWroteIsRefusedBeforeMemoryIsAskedFor) {
  const uint64_t header[3] = {1, UINT64_MAX / 8, 0};
  ASSERT_EQ(write(there_.fd(), header, sizeof header), ssize_t{sizeof header});
  EXPECT_EQ(here_.Receive().status().code(), StatusCode::kDataLoss);
}

}  // namespace
}  // namespace interlude
