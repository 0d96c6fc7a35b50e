#include "worker/synthetic_trainer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "worker/test_trainer.h"

namespace interlude {
namespace {

std::unique_ptr<LocalTrainer> Make(const RunConfig& config, WorkerId worker = 0) {
  return CreateSyntheticTrainer(config, worker, 3).value();
}

bool GoOn(uint32_t, double) { return true; }

std::vector<float> DeltaOf(const RunConfig& config, WorkerId worker, uint64_t first_step) {
  const auto trainer = Make(config, worker);
  const std::vector<float> before(trainer->parameters().begin(), trainer->parameters().end());
  EXPECT_TRUE(trainer->TrainRound({.first_step = first_step, .local_steps = 4}, GoOn).ok());
  std::vector<float> delta(before.size());
  for (size_t i = 0; i < delta.size(); ++i) delta[i] = trainer->parameters()[i] - before[i];
  return delta;
}

double Rms(const std::vector<float>& values) {
  double sum = 0;
  for (const float value : values) sum += double{value} * value;
  return std::sqrt(sum / static_cast<double>(values.size()));
}

TEST(SyntheticTrainer, TensorsAddUpForEverySize) {
  for (const uint64_t params : {1, 2, 3, 64, 1000, 1'000'001}) {
    RunConfig config = SmallConfig();
    config.model.synthetic_params = params;
    EXPECT_EQ(Make(config)->layout().total_params(), params);
  }
}

TEST(SyntheticTrainer, WorkersStartEqualAndMoveApart) {
  const RunConfig config = SmallConfig();
  const auto a = Make(config, 0);
  const auto b = Make(config, 1);
  EXPECT_TRUE(std::equal(a->parameters().begin(), a->parameters().end(), b->parameters().begin()));
  EXPECT_NE(DeltaOf(config, 0, 0), DeltaOf(config, 1, 0));
  EXPECT_EQ(DeltaOf(config, 1, 8), DeltaOf(config, 1, 8));
}

TEST(SyntheticTrainer, AnotherSeedGivesOtherParameters) {
  RunConfig config = SmallConfig();
  const auto a = Make(config);
  config.seed = 2;
  const auto b = Make(config);
  EXPECT_FALSE(std::equal(a->parameters().begin(), a->parameters().end(), b->parameters().begin()));
}

TEST(SyntheticTrainer, DeltasHaveARealisticSizeAndShrink) {
  const double first = Rms(DeltaOf(SmallConfig(), 0, 0));
  const double later = Rms(DeltaOf(SmallConfig(), 0, 10'000));
  EXPECT_GT(first, 3e-4);
  EXPECT_LT(first, 3e-3);
  EXPECT_LT(later, first / 5);
}

TEST(SyntheticTrainer, StepsAreReportedAndTheLossFalls) {
  const auto trainer = Make(SmallConfig());
  std::vector<double> losses;
  const TrainResult result = trainer
                                 ->TrainRound({.local_steps = 5},
                                              [&](uint32_t step, double loss) {
                                                losses.push_back(loss);
                                                EXPECT_EQ(step, losses.size());
                                                return true;
                                              })
                                 .value();
  EXPECT_EQ(losses.size(), 5u);
  EXPECT_TRUE(std::is_sorted(losses.rbegin(), losses.rend()));
  EXPECT_EQ(result.last_loss, losses.back());
  EXPECT_EQ(result.samples, 5u * SmallConfig().train.batch);
}

TEST(SyntheticTrainer, StopsWhenTheCallbackSaysSo) {
  int calls = 0;
  const auto result = Make(SmallConfig())->TrainRound({.local_steps = 9}, [&](uint32_t, double) {
    return ++calls < 3;
  });
  EXPECT_EQ(result.status().code(), StatusCode::kCancelled);
  EXPECT_EQ(calls, 3);
}

TEST(SyntheticTrainer, PartsOfAnEvaluationAddUpToTheWhole) {
  const auto trainer = Make(SmallConfig());
  const EvaluationResult whole = trainer->Evaluate(0, 1).value();
  EvaluationResult sum;
  for (uint32_t part = 0; part < 3; ++part) {
    const EvaluationResult one = trainer->Evaluate(part, 3).value();
    sum.correct += one.correct;
    sum.samples += one.samples;
  }
  EXPECT_EQ(sum.samples, whole.samples);
  EXPECT_EQ(sum.correct, whole.correct);
  EXPECT_GT(whole.correct, 0u);
  EXPECT_LT(whole.correct, whole.samples);
}

TEST(SyntheticTrainer, RefusesAConfigurationOfAnotherModel) {
  RunConfig config = SmallConfig();
  config.model.kind = ModelKind::kVit;
  EXPECT_EQ(CreateSyntheticTrainer(config, 0, 1).status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(CreateSyntheticTrainer(SmallConfig(), 1, 1).status().code(),
            StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace interlude
