#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>

#include "model/test_checkpoint.h"
#include "train/test_images.h"
#include "train/trainer_factory.h"

namespace interlude {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class TorchTrainerTest : public ::testing::TestWithParam<ModelKind> {
 protected:
  void SetUp() override { config_ = TinyImageRun(GetParam()); }

  std::unique_ptr<LocalTrainer> Make(uint32_t worker = 0, uint32_t workers = 1) const {
    auto trainer = CreateTorchTrainer(config_, worker, workers, 1);
    EXPECT_TRUE(trainer.ok()) << trainer.status().ToString();
    return *std::move(trainer);
  }

  static std::vector<float> Copy(LocalTrainer& trainer) {
    const auto values = trainer.parameters();
    return {values.begin(), values.end()};
  }

  TrainResult Train(LocalTrainer& trainer, uint32_t round) const {
    const auto result = trainer.TrainRound(
        {.round = round, .first_step = uint64_t{round} * 5, .local_steps = 5}, nullptr);
    EXPECT_TRUE(result.ok()) << result.status().ToString();
    return *result;
  }

  Status FactoryError() const { return CreateTorchTrainer(config_, 0, 1, 1).status(); }

  RunConfig config_;
};

bool SameBits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

TEST_P(TorchTrainerTest, TrainingLowersTheLossAndRaisesTheAccuracy) {
  config_.round.rounds = 24;
  const auto trainer = Make();
  const auto before = trainer->Evaluate(0, 1);
  ASSERT_TRUE(before.ok());
  for (uint32_t round = 0; round < 24; ++round) Train(*trainer, round);
  const auto after = trainer->Evaluate(0, 1);
  ASSERT_TRUE(after.ok());
  EXPECT_EQ(after->samples, kTinyTestImages);
  EXPECT_LT(after->loss_sum, 0.5 * before->loss_sum);
  EXPECT_GT(after->correct, before->correct + kTinyTestImages / 3);
}

TEST_P(TorchTrainerTest, OneSeedGivesTheSameRunBitForBit) {
  const auto a = Make();
  const auto b = Make();
  const std::vector<float> first = Copy(*a);
  ASSERT_TRUE(SameBits(first, Copy(*b)));
  for (uint32_t round = 0; round < 3; ++round) {
    EXPECT_EQ(Train(*a, round).mean_loss, Train(*b, round).mean_loss);
    EXPECT_TRUE(SameBits(Copy(*a), Copy(*b)));
  }
  config_.seed = 2;
  EXPECT_FALSE(SameBits(first, Copy(*Make())));
}

TEST_P(TorchTrainerTest, WorkersBeginAlikeAndSeeDifferentSamples) {
  const auto first = Make(0, 2);
  const auto second = Make(1, 2);
  EXPECT_TRUE(SameBits(Copy(*first), Copy(*second)));
  EXPECT_EQ(first->layout().signature(), second->layout().signature());
  EXPECT_NE(Train(*first, 0).mean_loss, Train(*second, 0).mean_loss);
}

TEST_P(TorchTrainerTest, ParametersStayWhereTheyAreAndWhatIsWrittenIsUsed) {
  const auto trainer = Make();
  const float* const memory = trainer->parameters().data();
  const std::vector<float> first = Copy(*trainer);
  Train(*trainer, 0);
  EXPECT_EQ(trainer->parameters().data(), memory);
  EXPECT_FALSE(SameBits(first, Copy(*trainer)));
  std::ranges::fill(trainer->parameters(), 0.0f);
  const auto zeros = trainer->Evaluate(0, 1);
  ASSERT_TRUE(zeros.ok());
  EXPECT_NEAR(zeros->loss_sum / kTinyTestImages, std::log(10.0), 1e-5);
  const auto again = trainer->TrainRound({.round = 1, .first_step = 5, .local_steps = 1}, nullptr);
  ASSERT_TRUE(again.ok());
  EXPECT_NEAR(again->last_loss, std::log(10.0), 1e-5);
}

TEST_P(TorchTrainerTest, DataAndLearningRateFollowFromFirstStep) {
  const auto from_start = Make();
  const auto joined_late = Make();
  Train(*from_start, 0);
  std::ranges::copy(Copy(*joined_late), from_start->parameters().begin());
  const TrainRequest one{.round = 1, .first_step = 5, .local_steps = 1};
  const auto a = from_start->TrainRound(one, nullptr);
  const auto b = joined_late->TrainRound(one, nullptr);
  ASSERT_TRUE(a.ok() && b.ok());
  EXPECT_EQ(a->last_loss, b->last_loss);
}

TEST_P(TorchTrainerTest, ResultAndCallbackTellEachStep) {
  const auto trainer = Make();
  std::vector<double> losses;
  const auto result = trainer->TrainRound({.round = 0, .first_step = 0, .local_steps = 4},
                                          [&](uint32_t done, double loss) {
                                            losses.push_back(loss);
                                            EXPECT_EQ(done, losses.size());
                                            return true;
                                          });
  ASSERT_TRUE(result.ok());
  ASSERT_EQ(losses.size(), 4u);
  EXPECT_EQ(result->samples, 80u);
  EXPECT_EQ(result->last_loss, losses[3]);
  EXPECT_NEAR(result->mean_loss, (losses[0] + losses[1] + losses[2] + losses[3]) / 4, 1e-12);
}

TEST_P(TorchTrainerTest, ResultTellsWhatLoadingTookInThisRound) {
  const auto trainer = Make();  // in memory: the training thread prepares the samples itself
  for (uint32_t round = 0; round < 2; ++round) {
    const auto load = Train(*trainer, round).load;
    ASSERT_TRUE(load.has_value());
    EXPECT_EQ(load->bytes, 100u * kTinyImageSide * kTinyImageSide * sizeof(float));
    EXPECT_GT(load->cpu_ns, 0);
    EXPECT_GT(load->wait_ns, 0);
  }
}

TEST_P(TorchTrainerTest, ACallbackThatSaysNoCancelsTheRound) {
  const auto trainer = Make();
  uint32_t calls = 0;
  const auto result = trainer->TrainRound({.round = 0, .first_step = 0, .local_steps = 5},
                                          [&](uint32_t, double) { return ++calls < 2; });
  EXPECT_EQ(result.status().code(), StatusCode::kCancelled);
  EXPECT_EQ(calls, 2u);
}

TEST_P(TorchTrainerTest, PartsOfAnEvaluationAddUpToTheWhole) {
  const auto trainer = Make();
  Train(*trainer, 0);
  const std::vector<float> before = Copy(*trainer);
  const auto whole = trainer->Evaluate(0, 1);
  ASSERT_TRUE(whole.ok());
  EvaluationResult sum;
  for (uint32_t part = 0; part < 3; ++part) {
    const auto piece = trainer->Evaluate(part, 3);
    ASSERT_TRUE(piece.ok());
    EXPECT_EQ(piece->samples, part == 0 ? 21u : 20u);
    sum.samples += piece->samples;
    sum.correct += piece->correct;
    sum.loss_sum += piece->loss_sum;
  }
  EXPECT_EQ(sum.samples, whole->samples);
  EXPECT_EQ(sum.correct, whole->correct);
  EXPECT_NEAR(sum.loss_sum, whole->loss_sum, 1e-3);
  EXPECT_TRUE(SameBits(before, Copy(*trainer)));
  EXPECT_EQ(trainer->Evaluate(3, 3).status().code(), StatusCode::kInvalidArgument);
}

TEST_P(TorchTrainerTest, NanInAParameterIsNamedWithItsStep) {
  const auto trainer = Make();
  const ParameterSpec& bias = trainer->layout().parameters().back();
  ASSERT_EQ(bias.name, "classifier.bias");
  trainer->parameters()[bias.offset + 3] = NAN;
  const Status status =
      trainer->TrainRound({.round = 2, .first_step = 10, .local_steps = 5}, nullptr).status();
  EXPECT_EQ(status.code(), StatusCode::kDataLoss);
  EXPECT_THAT(status.message(), AllOf(HasSubstr("classifier.bias[3]"), HasSubstr("local step 10"),
                                      HasSubstr("round 2")));
}

TEST_P(TorchTrainerTest, AnUpdateBeyondAllBoundsIsFoundAtTheEndOfTheRound) {
  // Decay multiplies by 1 - 3e38, which the classifier's weights of up to 7 do not survive.
  config_.train.learning_rate = 3e37;
  config_.train.weight_decay = 10;
  config_.train.warmup_steps = 0;
  const auto trainer = Make();
  for (const ParameterSpec& spec : trainer->layout().parameters()) {
    if (spec.name != "classifier.weight") continue;
    for (float& value : trainer->parameters().subspan(spec.offset, spec.count)) value *= 100;
  }
  const Status status =
      trainer->TrainRound({.round = 0, .first_step = 0, .local_steps = 1}, nullptr).status();
  EXPECT_EQ(status.code(), StatusCode::kDataLoss);
  EXPECT_THAT(status.message(),
              AllOf(HasSubstr("after local step 0"), HasSubstr("train.learning_rate")));
}

TEST_P(TorchTrainerTest, AModelThatDoesNotFitTheDataIsRefused) {
  config_.model.channels = 2;
  EXPECT_EQ(FactoryError().code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(FactoryError().message(), HasSubstr("model.channels = 2"));
  config_.model.channels = 1;
  config_.model.classes = 7;
  EXPECT_THAT(FactoryError().message(), HasSubstr("model.classes = 7"));
  config_.model.classes = 10;
  config_.train.batch = 241;
  EXPECT_THAT(FactoryError().message(), HasSubstr("train.batch = 241"));
  config_.model.kind = ModelKind::kSynthetic;
  EXPECT_EQ(FactoryError().code(), StatusCode::kInvalidArgument);
}

TEST_P(TorchTrainerTest, ThreadsThatPrepareBatchesAndHowManyAheadChangeNoBit) {
  config_.augment.random_crop = true;
  config_.augment.flip = 0.5;
  std::vector<float> expected;
  for (const auto& [threads, prefetch] : {std::pair{1u, 1u}, {3u, 4u}}) {
    config_.data.loader_threads = threads;
    config_.data.prefetch = prefetch;
    const auto trainer = Make();
    for (uint32_t round = 0; round < 3; ++round) Train(*trainer, round);
    if (expected.empty()) expected = Copy(*trainer);
    EXPECT_EQ(Copy(*trainer), expected);
  }
}

TEST_P(TorchTrainerTest, AStepOutOfTurnSeesItsOwnBatch) {
  const auto straight = Make(), jumping = Make();
  const auto losses = [](LocalTrainer& trainer, uint64_t step) {
    return trainer.TrainRound({.round = 1, .first_step = step, .local_steps = 1}, nullptr)
        ->last_loss;
  };
  const double first = losses(*straight, 7);
  EXPECT_GT(losses(*jumping, 0), 0);
  std::ranges::copy(Copy(*Make()), jumping->parameters().begin());
  EXPECT_EQ(losses(*jumping, 7), first);
}

TEST_P(TorchTrainerTest, PicturesAreScaledAndColoredAsTheModelSeesThem) {
  config_.model.image_size = 12;
  config_.model.channels = 3;
  const auto trainer = Make();
  Train(*trainer, 0);
  EXPECT_EQ(trainer->Evaluate(0, 1)->samples, kTinyTestImages);
}

class PretrainedTrainerTest : public TorchTrainerTest {
 protected:
  void SetUp() override {
    TorchTrainerTest::SetUp();
    config_.model.pretrained = testing::TempDir() + "/trainer_pretrained.safetensors";
    std::filesystem::remove(config_.model.pretrained);
  }
  void WriteFile() {
    WriteCheckpoint(config_.model.pretrained,
                    CheckpointTensors(WeightNaming::kTorchvision, config_.model, 7));
  }
};

TEST_P(PretrainedTrainerTest, TheFilesValuesAreTheFirstParametersHereAndOnADevice) {
  WriteFile();
  const auto trainer = Make();
  EXPECT_TRUE(trainer->MayProvideBase());
  const auto& specs = trainer->layout().parameters();
  for (size_t i = 0; i < specs.size(); ++i) {
    std::vector<float> expected(specs[i].count);
    FillCheckpointValues(i, 7, expected);
    const auto actual = trainer->parameters().subspan(specs[i].offset, specs[i].count);
    ASSERT_TRUE(std::ranges::equal(actual, expected)) << specs[i].name;
  }
  // The CPU's tensors as if they were a device's.
  const double loss = Train(*trainer, 0).mean_loss;
  config_.train.device = "cpu_tensors";
  EXPECT_EQ(Train(*Make(), 0).mean_loss, loss);
}

TEST_P(PretrainedTrainerTest, WithoutTheFileTheParametersAreToBeReplaced) {
  EXPECT_FALSE(Make()->MayProvideBase());
  config_.model.pretrained.clear();
  EXPECT_TRUE(Make()->MayProvideBase());
}

TEST_P(PretrainedTrainerTest, ADamagedFileIsAnErrorAndNotToBeReplaced) {
  WriteFile();
  std::filesystem::resize_file(config_.model.pretrained, 1000);
  EXPECT_EQ(FactoryError().code(), StatusCode::kDataLoss);
  EXPECT_THAT(FactoryError().message(), HasSubstr(config_.model.pretrained));
}

TEST_P(PretrainedTrainerTest, DropoutIsTheSameForOneSeed) {
  config_.model.dropout = 0.2;
  config_.model.stochastic_depth = 0.2;
  WriteFile();
  const auto first = Train(*Make(), 0);
  EXPECT_EQ(Train(*Make(), 0).mean_loss, first.mean_loss);
  config_.model.dropout = 0;
  EXPECT_NE(Train(*Make(), 0).mean_loss, first.mean_loss);
}

INSTANTIATE_TEST_SUITE_P(Models, PretrainedTrainerTest, ::testing::Values(ModelKind::kVit),
                         [](const auto&) { return "Vit"; });

TEST_P(TorchTrainerTest, AMissingDataSetNamesThePackage) {
  config_.data.directory = "/absent";
  EXPECT_EQ(FactoryError().code(), StatusCode::kNotFound);
  EXPECT_THAT(FactoryError().message(), HasSubstr("dataset-fashion-mnist"));
}

INSTANTIATE_TEST_SUITE_P(Models, TorchTrainerTest,
                         ::testing::Values(ModelKind::kVit, ModelKind::kConvNet),
                         [](const auto& instance) {
                           return instance.param == ModelKind::kVit ? "Vit" : "ConvNet";
                         });

}  // namespace
}  // namespace interlude
