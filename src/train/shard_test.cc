#include "train/shard.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

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
}

}  // namespace
}  // namespace interlude
