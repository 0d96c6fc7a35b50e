// Evaluations over real gRPC, and the models that are kept for them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "ledger/run_database.h"
#include "store/model_facts.h"
#include "store/safetensors.h"
#include "tests/cluster.h"
#include "worker/forwarding_trainer.h"

namespace interlude {
namespace {

// Says that so much of the test set is right after so many rounds.
class ScriptedScores final : public ForwardingTrainer {
 public:
  ScriptedScores(std::unique_ptr<LocalTrainer> inner, std::vector<uint64_t> correct)
      : ForwardingTrainer(std::move(inner)), correct_(std::move(correct)) {}

  DataFacts data_facts() const override { return {{"cat", "dog"}, {0.5f}, {0.25f}}; }
  StatusOr<EvaluationResult> Evaluate(uint32_t /*part*/, uint32_t /*parts*/) override {
    const uint64_t correct = correct_.at(evaluations_++);
    return EvaluationResult{.correct = correct,
                            .samples = 10,
                            .loss_sum = 1,
                            .classes = 2,
                            .top5 = 10,
                            .confusion = {{0, 0, correct}, {0, 1, 10 - correct}}};
  }

 private:
  const std::vector<uint64_t> correct_;
  size_t evaluations_ = 0;
};

StatusOr<std::map<std::string, std::string>> FactsOf(const std::string& path) {
  INTERLUDE_ASSIGN_OR_RETURN(const SafetensorsHeader header, ReadSafetensorsHeader(path));
  return header.metadata;
}

TEST(ClusterScores, KeepsTheBestModelTheLastOneAndTheAverage) {
  ClusterOptions options;
  options.config = SyntheticConfig(1000, 256, 5);
  options.config.round.evaluate_every = 1;
  options.config.outer.ema_decay = 0.5;
  options.directory = FreshDirectory("best");
  options.hook = [](std::unique_ptr<LocalTrainer> trainer, WorkerId) {
    return std::make_unique<ScriptedScores>(std::move(trainer),
                                            std::vector<uint64_t>{8, 8, 3, 5, 7});
  };
  const ClusterResult result = RunCluster(options);
  ASSERT_TRUE(result.outcome.ok()) << result.outcome.status().ToString();
  const Layout layout = LayoutOf(options.config);

  const auto best = ReadModel(options.directory + "/model-best.safetensors", layout);
  ASSERT_TRUE(best.ok()) << best.status().ToString();
  EXPECT_TRUE(SameBits(*best, ReplaySerially(options.config, options.workers, 1)));
  auto facts = FactsOf(options.directory + "/model-best.safetensors");
  ASSERT_TRUE(facts.ok());
  EXPECT_EQ((*facts)[kModelRounds], "1");
  EXPECT_EQ((*facts)[kModelAccuracy], "0.8");
  EXPECT_EQ((*facts)[kModelClasses], "[\"cat\",\"dog\"]");
  EXPECT_EQ((*facts)[kModelNormalization], "{\"mean\": [0.5], \"deviation\": [0.25]}");
  EXPECT_EQ((*facts)[kModelConfig], FormatRunConfig(options.config));

  facts = FactsOf(result.outcome->model_path);
  ASSERT_TRUE(facts.ok());
  EXPECT_EQ((*facts)[kModelRounds], "5");
  EXPECT_EQ((*facts)[kModelAccuracy], "0.7");
  EXPECT_EQ((*facts)[kModelRootHash], result.outcome->root_hash);

  const auto average = ReadModel(options.directory + "/model-ema.safetensors", layout);
  ASSERT_TRUE(average.ok()) << average.status().ToString();
  std::vector<double> expected(average->size());
  double weights = 0;
  for (uint32_t round = 1; round <= 5; ++round) {
    const std::vector<float> base = ReplaySerially(options.config, options.workers, round);
    weights = 0.5 * weights + 1;
    for (size_t i = 0; i < expected.size(); ++i) expected[i] = 0.5 * expected[i] + base[i];
  }
  for (size_t i = 0; i < expected.size(); ++i)
    ASSERT_NEAR((*average)[i], expected[i] / weights, 1e-6);

  auto database = RunDatabase::OpenReadOnly(options.directory + "/run.db");
  ASSERT_TRUE(database.ok());
  const auto evaluations = (*database)->Evaluations().value();
  ASSERT_EQ(evaluations.size(), 5u);
  EXPECT_EQ(evaluations[1].top5, 20u);
  EXPECT_EQ(evaluations[1].confusion, (Confusion{{0, 0, 16}, {0, 1, 4}}));
  EXPECT_EQ((*database)->GetMeta(kMetaClasses)->value_or(""), "[\"cat\",\"dog\"]");
}

// In the rounds between, one that is better comes too early where the one before is still being
// written; the last one's is waited for.
TEST(ClusterScores, ABetterModelTakesThePlaceOfTheBestOne) {
  ClusterOptions options;
  options.config = SyntheticConfig(1000, 256, 5);
  options.config.round.evaluate_every = 1;
  options.directory = FreshDirectory("better");
  options.hook = [](std::unique_ptr<LocalTrainer> trainer, WorkerId) {
    return std::make_unique<ScriptedScores>(std::move(trainer),
                                            std::vector<uint64_t>{3, 8, 8, 5, 9});
  };
  ASSERT_TRUE(RunCluster(options).outcome.ok());
  const std::string path = options.directory + "/model-best.safetensors";
  const auto best = ReadModel(path, LayoutOf(options.config));
  ASSERT_TRUE(best.ok()) << best.status().ToString();
  EXPECT_TRUE(SameBits(*best, ReplaySerially(options.config, options.workers, 5)));
  auto facts = FactsOf(path);
  ASSERT_TRUE(facts.ok());
  EXPECT_EQ((*facts)[kModelRounds], "5");
  EXPECT_EQ((*facts)[kModelAccuracy], "0.9");
}

TEST(ClusterScores, SavesNoBestModelWhereItIsNotAskedFor) {
  ClusterOptions options;
  options.directory = FreshDirectory("no-best");
  ASSERT_TRUE(RunCluster(options).outcome.ok());
  EXPECT_FALSE(std::filesystem::exists(options.directory + "/model-best.safetensors"));
  EXPECT_FALSE(std::filesystem::exists(options.directory + "/model-ema.safetensors"));
  options.config.round.evaluate_every = 1;
  options.config.round.save_best = false;
  options.directory = FreshDirectory("no-best-either");
  ASSERT_TRUE(RunCluster(options).outcome.ok());
  EXPECT_FALSE(std::filesystem::exists(options.directory + "/model-best.safetensors"));
}

TEST(ClusterScores, EvaluatesEveryKRoundsAndAtTheEnd) {
  ClusterOptions options;
  options.config.round.rounds = 4;
  options.config.round.evaluate_every = 2;
  options.workers = 3;
  options.directory = FreshDirectory("evaluate");
  const ClusterResult result = RunCluster(options);
  ASSERT_TRUE(result.outcome.ok()) << result.outcome.status().ToString();
  EXPECT_TRUE(result.outcome->accuracy.has_value());
  const auto database = RunDatabase::OpenReadOnly(options.directory + "/run.db");
  ASSERT_TRUE(database.ok());
  std::vector<uint32_t> after;
  for (const EvaluationRecord& evaluation : (*database)->Evaluations().value()) {
    after.push_back(evaluation.after_rounds);
    EXPECT_EQ(evaluation.samples, result.outcome->test_samples)
        << "every sample is scored by one worker";
  }
  EXPECT_THAT(after, testing::ElementsAre(2, 4));
}

}  // namespace
}  // namespace interlude
