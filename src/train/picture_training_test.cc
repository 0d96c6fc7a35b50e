// Training on files of pictures, from a folder to a score.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "images/test_folder.h"
#include "images/test_pictures.h"
#include "train/test_images.h"
#include "train/trainer_factory.h"

namespace interlude {
namespace {

using ::testing::HasSubstr;

/// Two classes that differ in color, each with a picture under a wrong name.
class PictureTraining : public ::testing::Test {
 protected:
  PictureTraining() {
    for (int i = 0; i < 12; ++i) {
      const int width = 30 + i, height = 44 - i;
      folder_.Write(fmt::format("colored/{}.jpg", i),
                    PictureFile(PictureKind::kColor, width, height, i == 3 ? ".gif" : ".jpg"));
      folder_.Write(fmt::format("gray/{}.jpg", i),
                    PictureFile(PictureKind::kGray, width, height, i == 5 ? ".png" : ".jpg"));
    }
    config_ = TinyImageRun(ModelKind::kVit);
    config_.data.name = "folder";
    config_.data.directory = folder_.path();
    config_.data.test_share = 0.25;
    config_.augment.random_crop = true;
    config_.augment.scale_min = 0.3;
    config_.augment.flip = 0.5;
    config_.model.image_size = 16;
    config_.model.channels = 3;
    config_.model.patch_size = 8;
    config_.model.layers = 1;
    config_.model.classes = 2;
    config_.train.batch = 6;
    config_.round.rounds = 1;
    config_.round.local_steps = 60;
  }

  StatusOr<EvaluationResult> Score(std::vector<float>& parameters) {
    INTERLUDE_ASSIGN_OR_RETURN(const auto trainer, CreateTorchTrainer(config_, 0, 1, 1));
    INTERLUDE_RETURN_IF_ERROR(
        trainer->TrainRound({.round = 1, .first_step = 0, .local_steps = 60}, nullptr).status());
    const auto values = trainer->parameters();
    parameters.assign(values.begin(), values.end());
    return trainer->Evaluate(0, 1);
  }

  TestFolder folder_;
  RunConfig config_;
};

TEST_F(PictureTraining, AFolderIsLearnedWithTheSameBitsHoweverItIsLoaded) {
  std::vector<float> first, other;
  const auto score = Score(first);
  ASSERT_TRUE(score.ok()) << score.status().ToString();
  EXPECT_EQ(score->samples, 6u);
  EXPECT_EQ(score->correct, 6u);
  config_.data.cache = false;
  config_.data.loader_threads = 3;
  config_.data.prefetch = 5;
  ASSERT_TRUE(Score(other).ok());
  EXPECT_EQ(first, other);
}

TEST_F(PictureTraining, ABadFileIsToleratedWithinTheShareAndNamedBeyondIt) {
  for (int i = 0; i < 12; ++i) {
    const std::string name = fmt::format("gray/{}.jpg", i);
    if (i % 4 == 0) folder_.Write(name, "no picture");
  }
  std::vector<float> unused;
  EXPECT_THAT(Score(unused).status().message(), HasSubstr("not a JPEG, PNG, GIF, WebP or TIFF"));
  config_.data.bad_share = 0.5;
  const auto score = Score(unused);
  EXPECT_TRUE(score.ok()) << score.status().ToString();
}

/// The same run with data of the workers' own: worker 1 has gray pictures alone.
class LocalPictures : public PictureTraining {
 protected:
  LocalPictures() {
    config_.data.sharing = SharingKind::kLocal;
    for (int i = 0; i < 20; ++i) {
      folder_.Write(fmt::format("other/gray/{}.png", i),
                    PictureFile(PictureKind::kGray, 20 + i, 30, ".png"));
    }
    for (const char* site : {"one", "other"}) {
      folder_.Write(fmt::format("{}/classes.txt", site), "colored\ngray\n");
    }
    for (const char* name : {"colored", "gray"}) {
      std::filesystem::rename(folder_ / name, folder_.path() + "/one/" + name);
    }
  }

  std::unique_ptr<LocalTrainer> Trainer(uint32_t worker, const std::string& site) {
    RunConfig config = config_;
    config.data.directory = folder_ / site;
    auto trainer = CreateTorchTrainer(config, worker, 2, 1);
    EXPECT_TRUE(trainer.ok()) << trainer.status().ToString();
    return *std::move(trainer);
  }

  static std::vector<float> Trained(LocalTrainer& trainer, uint64_t first_step, uint32_t steps) {
    const auto result =
        trainer.TrainRound({.round = 1, .first_step = first_step, .local_steps = steps}, nullptr);
    EXPECT_TRUE(result.ok()) << result.status().ToString();
    EXPECT_EQ(result.ok() ? result->samples : 0, steps * 6u);
    return {trainer.parameters().begin(), trainer.parameters().end()};
  }
};

TEST_F(LocalPictures, AWorkerThatLacksAClassTrainsAndScoresAllThatItHas) {
  const auto one = Trainer(0, "one"), other = Trainer(1, "other");
  const DataFacts facts = other->data_facts();
  EXPECT_EQ(facts.classes, one->data_facts().classes);
  EXPECT_EQ(facts.mean, one->data_facts().mean);
  EXPECT_EQ(facts.counts, (ClassCounts{{0, 15}, {0, 5}}));
  EXPECT_EQ(one->data_facts().counts, (ClassCounts{{9, 9}, {3, 3}}));
  Trained(*other, 0, 30);
  const auto score = other->Evaluate(1, 2);
  ASSERT_TRUE(score.ok());
  EXPECT_EQ(score->samples, 5u) << "no part of it: nobody else has these";
  EXPECT_EQ(score->correct, 5u);
  EXPECT_EQ(one->Evaluate(0, 2)->samples, 6u);
}

TEST_F(LocalPictures, WhatAWorkerSeesFollowsFromItsNumberAndTheStepAlone) {
  const std::vector<float> first = Trained(*Trainer(1, "one"), 0, 4);
  EXPECT_EQ(Trained(*Trainer(1, "one"), 0, 4), first);
  EXPECT_NE(Trained(*Trainer(0, "one"), 0, 4), first) << "the same order as another worker's";
  // Gone on with in another process, from the parameters that it had; SGD has no other memory.
  config_.train.optimizer = LocalOptimizerKind::kSgd;
  config_.train.momentum = 0;
  const auto whole = Trainer(1, "one"), resumed = Trainer(1, "one");
  const std::vector<float> half = Trained(*whole, 0, 5);
  std::ranges::copy(half, resumed->parameters().begin());
  EXPECT_EQ(Trained(*resumed, 5, 5), Trained(*whole, 5, 5));
}

TEST_F(LocalPictures, AWorkerThatKnowsOfFewerClassesThanTheModelIsToldHowToNameThem) {
  std::filesystem::remove(folder_ / "one/classes.txt");
  config_.data.directory = folder_ / "one";
  config_.model.classes = 3;
  EXPECT_THAT(CreateTorchTrainer(config_, 0, 2, 1).status().message(),
              HasSubstr("model.classes = 3, but the data set has 2; where pictures of some are not "
                        "here, classes.txt beside them names all"));
}

}  // namespace
}  // namespace interlude
