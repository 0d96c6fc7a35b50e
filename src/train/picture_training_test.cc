// Training on files of pictures, from a folder to a score.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

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

}  // namespace
}  // namespace interlude
