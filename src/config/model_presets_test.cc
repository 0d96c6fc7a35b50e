#include "config/model_presets.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace interlude {
namespace {

using testing::HasSubstr;

TEST(ModelPresets, AreTheFiveWidthsWithEachOfFourPatches) {
  EXPECT_EQ(AllPresets().size(), 20u);
  ModelConfig config;
  ASSERT_TRUE(ApplyPreset("vit_h14", config));
  EXPECT_EQ(config.hidden_size, 1280u);
  EXPECT_EQ(config.layers, 32u);
  EXPECT_EQ(config.heads, 16u);
  EXPECT_EQ(config.mlp_size, 5120u);
  EXPECT_EQ(config.patch_size, 14u);
  EXPECT_EQ(config.channels, 3u);
  const ModelConfig before = config;
  EXPECT_FALSE(ApplyPreset("vit_h15", config));
  EXPECT_EQ(config, before);
}

TEST(ModelPresets, GiveWayToTheKeysOfTheSameTextWhereverTheyStand) {
  const auto config = ParseRunConfig(
      "[model]\nimage_size = 384\nlayers = 2\npreset = \"vit_b16\"\nclasses = 37\n", "run.toml");
  ASSERT_TRUE(config.ok()) << config.status().ToString();
  EXPECT_EQ(config->model.image_size, 384u);
  EXPECT_EQ(config->model.layers, 2u);
  EXPECT_EQ(config->model.hidden_size, 768u);
  EXPECT_EQ(config->model.classes, 37u);
  EXPECT_EQ(config->model.layer_norm_epsilon, 1e-6);
}

TEST(ModelPresets, InASettingOverruleTheFileAndGiveWayToOtherSettings) {
  RunConfig config = ParseRunConfig("[model]\nhidden_size = 64\nlayers = 7\n", "run.toml").value();
  ASSERT_TRUE(ApplySettings({"model.layers=5", "model.preset=vit_s16"}, config).ok());
  EXPECT_EQ(config.model.hidden_size, 384u);
  EXPECT_EQ(config.model.layers, 5u);
}

TEST(ModelPresets, TheFirstFaultOfATextIsStillTheOneThatIsNamed) {
  const auto config =
      ParseRunConfig("[model]\nlayer = 2\npreset = \"vitb16\"\n", "run.toml").status();
  EXPECT_THAT(config.message(), HasSubstr("unknown key model.layer"));
  const auto preset = ParseRunConfig("[model]\npreset = \"vitb16\"\n", "run.toml").status();
  EXPECT_THAT(preset.message(), HasSubstr("did you mean \"vit_b16\"?"));
}

TEST(ModelPresets, AreReadBackEqualWithWhatOverrulesThem) {
  const auto config =
      ParseRunConfig("[model]\npreset = \"vit_l14\"\nheads = 8\n", "run.toml").value();
  EXPECT_EQ(ParseRunConfig(FormatRunConfig(config), "formatted").value(), config);
}

TEST(ModelPresets, PretrainedWeightsAreForAVisionTransformer) {
  const auto status =
      ParseRunConfig("[model]\nkind = \"convnet\"\npretrained = \"a\"\n", "run.toml").status();
  EXPECT_THAT(status.message(), HasSubstr("model.pretrained is for"));
}

}  // namespace
}  // namespace interlude
