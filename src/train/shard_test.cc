#include "train/shard.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <set>

#include "base/rng.h"

namespace interlude {
namespace {

using ::testing::HasSubstr;

std::vector<uint32_t> Epoch(ShardedOrder& order, uint64_t epoch) {
  std::vector<uint32_t> all;
  const uint64_t first = epoch * order.steps_per_epoch();
  for (uint64_t step = first; step < first + order.steps_per_epoch(); ++step) {
    const auto batch = order.Batch(step);
    all.insert(all.end(), batch.begin(), batch.end());
  }
  return all;
}

ShardedOrder Make(uint64_t samples, uint32_t batch, uint64_t seed, uint32_t worker,
                  uint32_t workers) {
  auto order = ShardedOrder::Create(samples, batch, seed, worker, workers);
  EXPECT_TRUE(order.ok()) << order.status().ToString();
  return *std::move(order);
}

TEST(ShardTest, WorkersShareNoSampleWithinAnEpochAndMissFewerThanOneBatchEach) {
  for (const uint32_t workers : {1u, 2u, 3u, 8u}) {
    for (const uint32_t batch : {1u, 4u, 7u}) {
      for (const uint64_t epoch : {0u, 1u, 5u}) {
        std::set<uint32_t> seen;
        size_t drawn = 0;
        for (uint32_t worker = 0; worker < workers; ++worker) {
          ShardedOrder order = Make(101, batch, 9, worker, workers);
          const std::vector<uint32_t> mine = Epoch(order, epoch);
          EXPECT_EQ(mine.size(), order.steps_per_epoch() * batch);
          drawn += mine.size();
          seen.insert(mine.begin(), mine.end());
        }
        EXPECT_EQ(seen.size(), drawn) << workers << " workers, batch " << batch;
        EXPECT_LT(*seen.rbegin(), 101u);
        EXPECT_GT(drawn + size_t{workers} * batch + workers, 101u);
      }
    }
  }
}

TEST(ShardTest, WithoutRemainderAnEpochCoversEverySample) {
  std::set<uint32_t> seen;
  for (uint32_t worker = 0; worker < 3; ++worker) {
    ShardedOrder order = Make(120, 8, 1, worker, 3);
    for (const uint32_t sample : Epoch(order, 2)) seen.insert(sample);
  }
  EXPECT_EQ(seen.size(), 120u);
}

TEST(ShardTest, AStepsBatchFollowsFromItsNumberAlone) {
  ShardedOrder from_start = Make(50, 5, 3, 1, 2);
  std::vector<std::vector<uint32_t>> batches;
  for (uint64_t step = 0; step < 17; ++step) {
    const auto batch = from_start.Batch(step);
    batches.emplace_back(batch.begin(), batch.end());
  }
  ShardedOrder joined_late = Make(50, 5, 3, 1, 2);
  for (const uint64_t step : {16u, 3u, 11u, 0u}) {
    const auto batch = joined_late.Batch(step);
    EXPECT_TRUE(std::ranges::equal(batch, batches[step])) << step;
  }
}

// Whoever is there: what a worker sees in a step depends on nobody else, so that shares stay
// disjoint however workers join, leave and come back.
TEST(ShardTest, JoiningLeavingAndComingBackMoveNobodysShare) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    Rng rng(seed);
    const auto workers = static_cast<uint32_t>(1 + rng.Below(6));
    const auto batch = static_cast<uint32_t>(1 + rng.Below(5));
    const uint64_t samples = workers * (batch + rng.Below(40)) + rng.Below(workers);
    std::vector<std::optional<ShardedOrder>> there(workers);
    std::set<uint32_t> seen_in_epoch, seen;
    uint64_t drawn_in_epoch = 0;
    ShardedOrder whole = Make(samples, 1, seed, 0, 1);
    const uint64_t steps = Make(samples, batch, seed, 0, workers).steps_per_epoch();
    for (uint64_t step = 0; step < 6 * steps; ++step) {
      if (step % steps == 0) {
        seen_in_epoch.clear();
        drawn_in_epoch = 0;
      }
      for (uint32_t worker = 0; worker < workers; ++worker) {
        if (rng.Below(4) == 0) there[worker].reset();
        if (!there[worker] && rng.Below(2) == 0)
          there[worker] = Make(samples, batch, seed, worker, workers);
        if (!there[worker]) continue;
        const auto mine = there[worker]->Batch(step);
        drawn_in_epoch += mine.size();
        seen_in_epoch.insert(mine.begin(), mine.end());
        seen.insert(mine.begin(), mine.end());
        // Positions p of the epoch's order with p % workers == worker.
        for (uint64_t i = 0; i < batch; ++i) {
          const uint64_t position = (step % steps * batch + i) * workers + worker;
          EXPECT_EQ(mine[i], whole.Batch(step / steps * samples + position)[0]);
        }
      }
      ASSERT_EQ(seen_in_epoch.size(), drawn_in_epoch) << "seed " << seed << " step " << step;
    }
    EXPECT_TRUE(seen.empty() || *seen.rbegin() < samples);
  }
}

TEST(ShardTest, WhatAWorkerThatIsAwayLeavesOutOthersHaveInLaterEpochs) {
  std::set<uint32_t> seen;
  ShardedOrder alone = Make(200, 5, 7, 0, 2);
  for (uint64_t epoch = 0; epoch < 20; ++epoch) {
    for (const uint32_t sample : Epoch(alone, epoch)) seen.insert(sample);
  }
  EXPECT_EQ(seen.size(), 200u);
}

TEST(ShardTest, EachWorkerHasAnOrderOfItsOwnWhereDataAreLocal) {
  std::set<std::vector<uint32_t>> orders;
  for (uint32_t worker = 0; worker < 5; ++worker) {
    ShardedOrder order = Make(60, 6, SeedOfWorker(3, worker), 0, 1);
    for (uint64_t epoch = 0; epoch < 2; ++epoch) {
      std::vector<uint32_t> all = Epoch(order, epoch);
      EXPECT_EQ(std::set<uint32_t>(all.begin(), all.end()).size(), 60u);
      orders.insert(std::move(all));
    }
  }
  EXPECT_EQ(orders.size(), 10u);
  EXPECT_NE(SeedOfWorker(3, 0), SeedOfWorker(4, 0));
}

TEST(ShardTest, SeedAndEpochChangeTheOrder) {
  ShardedOrder order = Make(1000, 100, 3, 0, 1);
  ShardedOrder other_seed = Make(1000, 100, 4, 0, 1);
  EXPECT_NE(Epoch(order, 0), Epoch(other_seed, 0));
  EXPECT_NE(Epoch(order, 0), Epoch(order, 1));
}

TEST(ShardTest, ImpossibleRequestsSayWhatToChange) {
  EXPECT_EQ(ShardedOrder::Create(10, 1, 0, 2, 2).status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(ShardedOrder::Create(10, 1, 0, 0, 0).status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(ShardedOrder::Create(10, 0, 0, 0, 1).status().code(), StatusCode::kInvalidArgument);
  const Status too_few = ShardedOrder::Create(10, 6, 0, 0, 2).status();
  EXPECT_EQ(too_few.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(too_few.message(), HasSubstr("fewer than train.batch = 6"));
  EXPECT_EQ(ShardedOrder::Create(5, 6, 0, 0, 1).status().message(),
            "5 training samples are fewer than train.batch = 6; lower train.batch or raise "
            "data.train_limit");
}

}  // namespace
}  // namespace interlude
