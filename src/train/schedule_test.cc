#include "train/schedule.h"

#include <gtest/gtest.h>

namespace interlude {
namespace {

TrainConfig Config() {
  TrainConfig config;
  config.learning_rate = 0.4;
  config.warmup_steps = 4;
  config.final_learning_rate_ratio = 0.25;
  config.schedule = ScheduleKind::kCosine;
  return config;
}

TEST(ScheduleTest, WarmUpRisesInEqualStepsToTheFullRate) {
  EXPECT_DOUBLE_EQ(LearningRate(Config(), 104, 0), 0.1);
  EXPECT_DOUBLE_EQ(LearningRate(Config(), 104, 1), 0.2);
  EXPECT_DOUBLE_EQ(LearningRate(Config(), 104, 3), 0.4);
  EXPECT_DOUBLE_EQ(LearningRate(Config(), 104, 4), 0.4);
}

TEST(ScheduleTest, CosineIsHalfWayAtTheMiddleAndEndsAtTheFinalShare) {
  EXPECT_NEAR(LearningRate(Config(), 104, 54), 0.25, 1e-12);
  EXPECT_NEAR(LearningRate(Config(), 104, 104), 0.1, 1e-12);
  EXPECT_NEAR(LearningRate(Config(), 104, 1000), 0.1, 1e-12);
}

TEST(ScheduleTest, CosineNeverRises) {
  for (uint64_t step = 4; step < 120; ++step) {
    EXPECT_LE(LearningRate(Config(), 104, step + 1), LearningRate(Config(), 104, step)) << step;
  }
}

TEST(ScheduleTest, ConstantStaysAtTheFullRateAfterWarmUp) {
  TrainConfig config = Config();
  config.schedule = ScheduleKind::kConstant;
  EXPECT_DOUBLE_EQ(LearningRate(config, 104, 1), 0.2);
  EXPECT_DOUBLE_EQ(LearningRate(config, 104, 103), 0.4);
}

TEST(ScheduleTest, WarmUpMayBeAbsentOrLongerThanTheRun) {
  TrainConfig config = Config();
  config.warmup_steps = 0;
  EXPECT_DOUBLE_EQ(LearningRate(config, 10, 0), 0.4);
  config.warmup_steps = 20;
  EXPECT_DOUBLE_EQ(LearningRate(config, 10, 9), 0.2);
  EXPECT_DOUBLE_EQ(LearningRate(config, 10, 20), 0.1);
}

}  // namespace
}  // namespace interlude
