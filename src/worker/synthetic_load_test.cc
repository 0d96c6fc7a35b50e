#include "worker/synthetic_load.h"

#include <gtest/gtest.h>

#include "worker/process_phase.h"

namespace interlude {
namespace {

std::unique_ptr<SyntheticLoad> Make(const ModelConfig& model, int threads) {
  StatusOr<std::unique_ptr<SyntheticLoad>> load = SyntheticLoad::Create(model, threads);
  EXPECT_TRUE(load.ok()) << load.status().ToString();
  return std::move(*load);
}

TEST(SyntheticLoadTest, AStepSpendsTheCpuTimeWithAnyNumberOfThreads) {
  ModelConfig model;
  model.synthetic_cpu_ms = 4;
  for (const int threads : {1, 3}) {
    const auto load = Make(model, threads);
    const int64_t before = ProcessCpuNs();
    SyntheticLoad::Team team(*load);
    ASSERT_TRUE(team.Step().ok());
    ASSERT_TRUE(team.Step().ok());
    EXPECT_GE(ProcessCpuNs() - before, 7'900'000) << threads << " threads";
  }
}

TEST(SyntheticLoadTest, WithoutALoadAStepDoesNothing) {
  const auto load = Make(ModelConfig(), 4);
  SyntheticLoad::Team team(*load);
  EXPECT_TRUE(team.Step().ok());
}

TEST(SyntheticLoadTest, ItReadsPastTheEndOfItsFileFromTheBeginning) {
  ModelConfig model;
  model.synthetic_read_mb = 2;
  model.synthetic_map_mb = 3;
  const StatusOr<std::unique_ptr<SyntheticLoad>> load = SyntheticLoad::Create(model, 1);
  if (!load.ok()) GTEST_SKIP() << load.status().ToString();  // not every file system has O_DIRECT
  SyntheticLoad::Team team(**load);
  for (int step = 0; step < 4; ++step) EXPECT_TRUE(team.Step().ok());
}

}  // namespace
}  // namespace interlude
