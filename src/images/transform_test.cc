#include "images/transform.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "images/test_noise.h"

namespace interlude {
namespace {

std::vector<float> Trained(const Transform& transform, const Picture& picture, uint64_t epoch,
                           uint64_t sample) {
  TransformScratch scratch;
  std::vector<float> out(transform.elements());
  transform.ForTraining(picture.view(), epoch, sample, scratch, out);
  return out;
}

std::vector<float> Evaluated(const Transform& transform, const Picture& picture) {
  TransformScratch scratch;
  std::vector<float> out(transform.elements());
  transform.ForEvaluation(picture.view(), scratch, out);
  return out;
}

TransformOptions Everything() {
  TransformOptions options{.size = 16, .seed = 5, .statistics = kImageNetStatistics};
  options.augment = {.random_crop = true,
                     .flip = 0.5,
                     .brightness = 0.4,
                     .contrast = 0.4,
                     .saturation = 0.4,
                     .randaugment_ops = 2};
  return options;
}

TEST(Transform, PixelsAreNormalisedChannelByChannel) {
  const Picture picture{2, 2, 3, {0, 51, 255, 1, 2, 3, 4, 5, 6, 255, 0, 0}};
  const Transform transform({.size = 2, .statistics = {{0.5f, 0.0f, 0.25f}, {0.5f, 1.0f, 0.25f}}});
  const std::vector<float> out = Evaluated(transform, picture);
  EXPECT_FLOAT_EQ(out[0], -1.0f);
  EXPECT_FLOAT_EQ(out[3], 1.0f);
  EXPECT_FLOAT_EQ(out[4], 0.2f);
  EXPECT_FLOAT_EQ(out[8], 3.0f);
  EXPECT_EQ(Trained(transform, picture, 3, 9), out);
  EXPECT_FALSE(transform.is_random());
}

TEST(Transform, APictureOfTheModelsSizeIsNormalisedAndNothingElse) {
  RunConfig config;
  config.model.image_size = 16;
  DataSet data;
  data.statistics = {{0.2860f}, {0.3530f}};
  const Transform transform(MakeTransformOptions(config, data));
  Picture picture;
  picture.Reshape(16, 16, 1);
  for (size_t i = 0; i < 256; ++i) picture.bytes[i] = static_cast<uint8_t>(i);
  const auto trained = Trained(transform, picture, 2, 7);
  for (size_t i = 0; i < 256; ++i) {
    // To the bit: runs on Fashion-MNIST depend on it.
    ASSERT_EQ(trained[i], (static_cast<float>(i) / 255.0f - 0.2860f) / 0.3530f);
  }
  EXPECT_EQ(Evaluated(transform, picture), trained);
}

TEST(Transform, AFlipOfOneMirrors) {
  TransformOptions options{.size = 3, .channels = 1};
  options.augment.flip = 1;
  const Picture picture{3, 3, 1, {0, 51, 255, 0, 0, 0, 0, 0, 0}};
  const std::vector<float> out = Trained(Transform(options), picture, 0, 0);
  EXPECT_FLOAT_EQ(out[0], 1.0f);
  EXPECT_FLOAT_EQ(out[1], 0.2f);
  EXPECT_FLOAT_EQ(out[2], 0.0f);
}

TEST(Transform, WhatIsDrawnFollowsFromSeedEpochAndSampleAlone) {
  const Picture picture = NoisePicture(40, 30, 3, 1);
  const Transform transform(Everything());
  const auto first = Trained(transform, picture, 1, 2);
  EXPECT_EQ(Trained(transform, picture, 1, 2), first);
  EXPECT_NE(Trained(transform, picture, 2, 2), first);
  EXPECT_NE(Trained(transform, picture, 1, 3), first);
  TransformOptions other = Everything();
  other.seed = 6;
  EXPECT_NE(Trained(Transform(other), picture, 1, 2), first);
}

TEST(Transform, EvaluationSeesTheMiddle) {
  // 20 x 10: a crop of half of the shorter side is 5 x 5 in the middle, here scaled to 4.
  const Transform transform({.size = 5, .channels = 1, .eval_crop = 0.5});
  EXPECT_EQ(transform.evaluation_side(), 10u);
  Picture picture = NoisePicture(20, 10, 1, 2);
  const auto out = Evaluated(transform, picture);
  for (uint32_t y = 0; y < 5; ++y) {
    for (uint32_t x = 0; x < 5; ++x) {
      EXPECT_FLOAT_EQ(out[y * 5 + x], picture.row(2 + y)[7 + x] / 255.0f);
    }
  }
}

TEST(Transform, TakesPicturesOfAnySizeAndEitherNumberOfChannels) {
  for (const uint32_t channels : {1u, 3u}) {
    TransformOptions options = Everything();
    options.channels = channels;
    const Transform transform(options);
    for (const uint32_t from : {1u, 3u}) {
      for (const auto& [width, height] :
           {std::pair{1u, 1u}, {2u, 1u}, {1u, 5000u}, {5000u, 1u}, {33u, 17u}, {16u, 16u}}) {
        const Picture picture = NoisePicture(width, height, from, 3);
        for (const auto& out : {Trained(transform, picture, 0, 1), Evaluated(transform, picture)}) {
          for (const float value : out) ASSERT_TRUE(std::isfinite(value));
        }
      }
    }
  }
}

TEST(Transform, TrainingPicturesAreDecodedSoThatTheSmallestCropIsNotScaledUp) {
  TransformOptions options{.size = 224, .eval_crop = 0.875};
  EXPECT_EQ(Transform(options).evaluation_side(), 256u);
  EXPECT_EQ(Transform(options).training_side(0), 256u);
  options.augment.random_crop = true;
  options.augment.scale_min = 0.25;
  EXPECT_EQ(Transform(options).training_side(0), 448u);
  EXPECT_EQ(Transform(options).training_side(300), 300u);
}

TEST(RandomBox, HasAreaAndShapeInRangeAndLiesInside) {
  AugmentConfig augment{.scale_min = 0.1, .scale_max = 0.5};
  Rng rng(8);
  std::set<std::pair<uint32_t, uint32_t>> places;
  for (int i = 0; i < 2000; ++i) {
    const PictureBox box = RandomBox(augment, 400, 300, rng);
    ASSERT_LE(box.x + box.width, 400u);
    ASSERT_LE(box.y + box.height, 300u);
    const double share = box.width * box.height / 120'000.0;
    EXPECT_GT(share, 0.098);
    EXPECT_LT(share, 0.51);
    const double ratio = static_cast<double>(box.width) / box.height;
    EXPECT_GT(ratio, 0.74);
    EXPECT_LT(ratio, 1.35);
    places.emplace(box.x, box.y);
  }
  EXPECT_GT(places.size(), 1500u);
}

TEST(RandomBox, IsTheLargestAllowedInTheMiddleWhereNoneFits) {
  AugmentConfig augment{.scale_min = 1, .scale_max = 1};
  Rng rng(8);
  EXPECT_EQ(RandomBox(augment, 400, 100, rng), (PictureBox{133, 0, 133, 100}));
  EXPECT_EQ(RandomBox(augment, 100, 400, rng), (PictureBox{0, 133, 100, 133}));
  EXPECT_EQ(RandomBox(augment, 1, 1, rng), (PictureBox{0, 0, 1, 1}));
}

TEST(MakeTransformOptions, ChoosesStatisticsAndMiddleByTheDataSet) {
  RunConfig config;
  DataSet data;
  data.statistics = {{0.1f}, {0.2f}};
  EXPECT_EQ(MakeTransformOptions(config, data).eval_crop, 1);
  EXPECT_EQ(MakeTransformOptions(config, data).statistics.mean[0], 0.1f);
  data.train.files = {"a.jpg"};
  EXPECT_EQ(MakeTransformOptions(config, data).eval_crop, 0.875);
  config.augment.normalize = NormalizeKind::kHalf;
  EXPECT_EQ(MakeTransformOptions(config, data).statistics.mean[0], 0.5f);
}

}  // namespace
}  // namespace interlude
