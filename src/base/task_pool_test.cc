#include "base/task_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <memory>
#include <numeric>
#include <vector>

namespace interlude {
namespace {

TEST(TaskPool, DrainReturnsWhenAllTasksAreDone) {
  TaskPool pool(3);
  std::atomic<int> done{0};
  for (int round = 1; round <= 20; ++round) {
    for (int i = 0; i < 50; ++i) pool.Submit([&] { ++done; });
    pool.Drain();
    EXPECT_EQ(done, round * 50);
  }
}

TEST(TaskPool, OneThreadKeepsTheOrder) {
  TaskPool pool(1);
  std::vector<int> order;
  for (int i = 0; i < 100; ++i) pool.Submit([&order, i] { order.push_back(i); });
  pool.Drain();
  std::vector<int> expected(100);
  std::iota(expected.begin(), expected.end(), 0);
  EXPECT_EQ(order, expected);
}

TEST(TaskPool, TasksRunSideBySide) {
  std::promise<void> first, second;
  std::promise<bool> met;
  TaskPool pool(2);  // its end waits for the tasks, which may still be in what they set
  pool.Submit([&] {
    first.set_value();
    second.get_future().wait();
  });
  pool.Submit([&] {
    first.get_future().wait();
    second.set_value();
    met.set_value(true);
  });
  EXPECT_TRUE(met.get_future().get());
}

TEST(TaskPool, ATaskMaySubmitAnotherAndDrainWaitsForIt) {
  TaskPool pool(2);
  std::atomic<int> done{0};
  pool.Submit([&] { pool.Submit([&] { ++done; }); });
  pool.Drain();
  EXPECT_EQ(done, 1);
}

TEST(TaskPool, TheDestructorFinishesWhatWasSubmitted) {
  std::atomic<int> done{0};
  {
    TaskPool pool(2);
    for (int i = 0; i < 100; ++i) pool.Submit([&] { ++done; });
  }
  EXPECT_EQ(done, 100);
}

TEST(TaskPool, WhatATaskHoldsIsGoneAfterDrain) {
  TaskPool pool(1);
  auto held = std::make_shared<int>(1);
  pool.Submit([held] {});
  pool.Drain();
  EXPECT_EQ(held.use_count(), 1);
}

TEST(TaskPool, NoThreadsMeansOne) {
  EXPECT_EQ(TaskPool(0).threads(), 1);
  EXPECT_EQ(TaskPool(-3).threads(), 1);
}

}  // namespace
}  // namespace interlude
