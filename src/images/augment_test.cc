// The random changes of pictures: color operations, warps, RandAugment, mixup.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "images/affine.h"
#include "images/color_ops.h"
#include "images/mixup.h"
#include "images/rand_augment.h"
#include "images/test_noise.h"

namespace interlude {
namespace {

Picture Of(std::vector<uint8_t> bytes, uint32_t channels) {
  return {static_cast<uint32_t>(bytes.size()) / channels, 1, channels, std::move(bytes)};
}

TEST(ColorOps, AFactorOfOneChangesNothing) {
  const Picture original = NoisePicture(13, 11, 3, 1);
  for (auto* scale : {ScaleBrightness, ScaleContrast, ScaleSaturation, ScaleSharpness}) {
    Picture picture = original;
    scale(1, picture);
    EXPECT_EQ(picture.bytes, original.bytes);
  }
}

TEST(ColorOps, BlendWithBlackMeanAndGray) {
  Picture picture = Of({10, 100, 200}, 3);
  ScaleBrightness(1.5f, picture);
  EXPECT_EQ(picture.bytes, (std::vector<uint8_t>{15, 150, 255}));
  picture = Of({10, 30}, 1);
  ScaleContrast(2, picture);  // around 20
  EXPECT_EQ(picture.bytes, (std::vector<uint8_t>{0, 40}));
  picture = Of({255, 0, 0}, 3);
  ScaleSaturation(0, picture);
  EXPECT_EQ(picture.bytes, (std::vector<uint8_t>{76, 76, 76}));
}

TEST(ColorOps, SharpnessBlursAtZeroAndKeepsTheEdge) {
  Picture picture{3, 3, 1, {0, 0, 0, 0, 130, 0, 0, 0, 0}};
  ScaleSharpness(0, picture);
  EXPECT_EQ(picture.bytes, (std::vector<uint8_t>{0, 0, 0, 0, 50, 0, 0, 0, 0}));
}

TEST(ColorOps, PosterizeSolarizeStretchAndEqualize) {
  Picture picture = Of({0xff, 0x17}, 1);
  Posterize(4, picture);
  EXPECT_EQ(picture.bytes, (std::vector<uint8_t>{0xf0, 0x10}));
  picture = Of({99, 100, 255}, 1);
  Solarize(100, picture);
  EXPECT_EQ(picture.bytes, (std::vector<uint8_t>{99, 155, 0}));
  picture = Of({50, 100, 75}, 1);
  AutoContrast(picture);
  EXPECT_EQ(picture.bytes, (std::vector<uint8_t>{0, 255, 127}));
  picture = NoisePicture(64, 64, 3, 2);
  for (uint8_t& value : picture.bytes) value /= 4;
  Equalize(picture);
  EXPECT_GT(*std::ranges::max_element(picture.bytes), 250);
}

TEST(Warp, TheIdentityChangesNothingAndAShiftMoves) {
  const Picture picture = NoisePicture(9, 6, 3, 3);
  Picture out;
  Warp(picture.view(), {}, out);
  EXPECT_EQ(out.bytes, picture.bytes);
  Warp(picture.view(), {.dx = 2}, out);
  EXPECT_EQ(out.row(3)[0], picture.view().row(3)[6]);
  EXPECT_EQ(out.row(3)[26], kOutside);
}

TEST(Warp, AHalfTurnMirrorsBothWays) {
  const Picture picture = NoisePicture(8, 5, 1, 4);
  Picture out;
  Warp(picture.view(), {.xx = -1, .yy = -1}, out);
  EXPECT_TRUE(std::equal(out.bytes.begin(), out.bytes.end(), picture.bytes.rbegin()));
}

TEST(RandAugment, WithoutStrengthOnlyAutoContrastAndEqualizeChangeAnything) {
  const Picture original = NoisePicture(16, 16, 3, 5);
  for (int op = 0; op < kRandAugmentOps; ++op) {
    Picture picture = original, scratch;
    const auto kind = static_cast<RandAugmentOp>(op);
    if (kind == RandAugmentOp::kAutoContrast || kind == RandAugmentOp::kEqualize) continue;
    ApplyRandAugmentOp(kind, 0, op % 2 == 1, scratch, picture);
    EXPECT_EQ(picture.bytes, original.bytes) << op;
  }
}

TEST(RandAugment, EveryOperationKeepsTheSizeAndMostChangeThePicture) {
  const Picture original = NoisePicture(17, 12, 3, 6);
  int changed = 0;
  for (int op = 0; op < kRandAugmentOps; ++op) {
    for (const bool negative : {false, true}) {
      Picture picture = original, scratch;
      ApplyRandAugmentOp(static_cast<RandAugmentOp>(op), 1, negative, scratch, picture);
      EXPECT_EQ(picture.width, 17u);
      EXPECT_EQ(picture.bytes.size(), original.bytes.size());
      changed += picture.bytes != original.bytes ? 1 : 0;
    }
  }
  EXPECT_GE(changed, 2 * (kRandAugmentOps - 3));
}

TEST(MakeMixup, FollowsFromSeedEpochAndBatchAlone) {
  const Mixup a = MakeMixup(0.2, 1, 2, 3, 32), b = MakeMixup(0.2, 1, 2, 3, 32);
  EXPECT_EQ(a.lambda, b.lambda);
  EXPECT_EQ(a.partner, b.partner);
  EXPECT_NE(a.partner, MakeMixup(0.2, 1, 2, 4, 32).partner);
  EXPECT_NE(a.partner, MakeMixup(0.2, 1, 3, 3, 32).partner);
  EXPECT_NE(a.partner, MakeMixup(0.2, 2, 2, 3, 32).partner);
  EXPECT_EQ(std::set<uint32_t>(a.partner.begin(), a.partner.end()).size(), 32u);
}

TEST(MakeMixup, SharesHaveTheMeanAndSpreadOfTheBetaDistribution) {
  for (const double alpha : {0.1, 0.4, 1.0, 4.0}) {
    double sum = 0, squares = 0;
    constexpr int kDraws = 20'000;
    for (int i = 0; i < kDraws; ++i) {
      const double lambda = MakeMixup(alpha, 7, 0, static_cast<uint64_t>(i), 1).lambda;
      ASSERT_TRUE(lambda >= 0 && lambda <= 1) << lambda;
      sum += lambda;
      squares += lambda * lambda;
    }
    const double mean = sum / kDraws;
    EXPECT_NEAR(mean, 0.5, 0.02) << alpha;
    EXPECT_NEAR(squares / kDraws - mean * mean, 1 / (4 * (2 * alpha + 1)), 0.01) << alpha;
  }
}

}  // namespace
}  // namespace interlude
