#include "base/queue.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <thread>
#include <vector>

namespace interlude {
namespace {

using std::chrono::milliseconds;

TEST(Queue, ItemsComeOutInTheOrderTheyWentIn) {
  Queue<int> queue(3);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(queue.Push(i));
  for (int i = 0; i < 3; ++i) EXPECT_EQ(queue.Pop(), i);
}

TEST(Queue, APushWaitsWhileTheQueueIsFull) {
  constexpr int kCapacity = 2;
  Queue<int> queue(kCapacity);
  std::atomic<int> pushed{0};
  std::thread pusher([&] {
    for (int i = 0; i < 2000; ++i) {
      queue.Push(i);
      ++pushed;
    }
  });
  for (int popped = 0; popped < 2000; ++popped) {
    EXPECT_LE(pushed.load(), popped + kCapacity);
    EXPECT_EQ(queue.Pop(), popped);
  }
  pusher.join();
}

TEST(Queue, ATriedPushDropsWhatFindsNoRoom) {
  Queue<int> queue(2);
  for (int i = 0; i < 2; ++i) EXPECT_TRUE(queue.TryPush(i));
  EXPECT_FALSE(queue.TryPush(2));
  EXPECT_EQ(queue.Pop(), 0);
  EXPECT_TRUE(queue.TryPush(3));
  queue.Close();
  EXPECT_EQ(queue.Pop(), 1);
  EXPECT_FALSE(queue.TryPush(4));
  EXPECT_EQ(queue.Pop(), 3);
  EXPECT_EQ(queue.Pop(), std::nullopt);
}

TEST(Queue, CloseLetsWhatIsInsideOutAndThenNothing) {
  Queue<int> queue(2);
  EXPECT_TRUE(queue.Push(1));
  EXPECT_FALSE(queue.closed());
  queue.Close();
  EXPECT_TRUE(queue.closed());
  EXPECT_FALSE(queue.Push(2));
  EXPECT_EQ(queue.Pop(), 1);
  EXPECT_EQ(queue.Pop(), std::nullopt);
}

TEST(Queue, CloseWakesWaitingThreads) {
  Queue<int> full(1);
  Queue<int> empty(1);
  ASSERT_TRUE(full.Push(1));
  bool accepted = true;
  std::optional<int> popped = 0;
  std::thread pusher([&] { accepted = full.Push(2); });
  std::thread popper([&] { popped = empty.Pop(); });
  full.Close();
  empty.Close();
  pusher.join();
  popper.join();
  EXPECT_FALSE(accepted);
  EXPECT_EQ(popped, std::nullopt);
}

TEST(Queue, PopForTakesWhatIsThereAndGivesUpOnNothing) {
  Queue<int> queue(1);
  EXPECT_EQ(queue.PopFor(milliseconds(1)), std::nullopt);
  EXPECT_FALSE(queue.closed());
  ASSERT_TRUE(queue.Push(4));
  EXPECT_EQ(queue.PopFor(milliseconds(0)), 4);
}

TEST(Queue, PopForGetsWhatComesWhileItWaits) {
  Queue<int> queue(1);
  std::optional<int> popped;
  std::thread popper([&] { popped = queue.PopFor(std::chrono::minutes(5)); });
  ASSERT_TRUE(queue.Push(9));
  popper.join();
  EXPECT_EQ(popped, 9);
}

TEST(Queue, ManyThreadsLoseAndRepeatNothing) {
  Queue<std::unique_ptr<int>> queue(4);
  std::vector<std::atomic<int>> seen(3000);
  std::vector<std::thread> pushers, poppers;
  for (int t = 0; t < 3; ++t) {
    pushers.emplace_back([&, t] {
      for (int i = 0; i < 1000; ++i) queue.Push(std::make_unique<int>(t * 1000 + i));
    });
    poppers.emplace_back([&] {
      while (const auto item = queue.Pop()) ++seen[static_cast<size_t>(**item)];
    });
  }
  for (std::thread& thread : pushers) thread.join();
  queue.Close();
  for (std::thread& thread : poppers) thread.join();
  for (const auto& count : seen) EXPECT_EQ(count.load(), 1);
}

}  // namespace
}  // namespace interlude
