#include "train/layer_depth.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/model_parameters.h"

namespace interlude {
namespace {

using ::testing::DoubleEq;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<std::string> Names(ModelKind kind) {
  ModelConfig config;
  config.kind = kind;
  config.layers = 3;
  std::vector<std::string> names;
  for (const ModelParameter& tensor : ModelParameters(config).value())
    names.push_back(tensor.spec.name);
  return names;
}

TEST(LayerDepths, OfAVitAreItsEmbeddingsItsLayersAndItsHead) {
  const std::vector<std::string> names = Names(ModelKind::kVit);
  const std::vector<uint32_t> depths = LayerDepths(names);
  ASSERT_EQ(depths.size(), names.size());
  for (size_t i = 0; i < names.size(); ++i) {
    uint32_t expected = 4;
    if (names[i].starts_with("vit.embeddings.")) expected = 0;
    if (names[i].starts_with("vit.encoder.layer.")) expected = 1 + (names[i][18] - '0');
    EXPECT_EQ(depths[i], expected) << names[i];
  }
}

TEST(LayerDepths, OfAModelWithoutNumbersFollowItsModules) {
  EXPECT_THAT(LayerDepths(Names(ModelKind::kConvNet)), ElementsAre(0, 0, 1, 1, 2, 2, 3, 3));
  EXPECT_THAT(LayerDepths({}), IsEmpty());
  EXPECT_THAT(LayerDepths({"weight"}), ElementsAre(0));
}

TEST(LayerDepths, KnowTheUsualWordsForALayer) {
  EXPECT_THAT(LayerDepths({"patch_embed.proj.weight", "blocks.0.norm1.weight",
                           "blocks.11.mlp.fc1.weight", "norm.weight", "head.weight"}),
              ElementsAre(0, 1, 12, 13, 13));
  EXPECT_THAT(LayerDepths({"conv_proj.weight", "encoder.layers.7.x", "heads.head.weight"}),
              ElementsAre(0, 8, 9));
  EXPECT_THAT(LayerDepths({"layer.x.weight", "layer1.0.weight", "layer.4294967296.w"}),
              ElementsAre(0, 1, 2));
}

TEST(LayerRates, FallFromTheHeadDownwards) {
  EXPECT_THAT(LayerRates({0, 1, 1, 3}, 0.5),
              ElementsAre(DoubleEq(0.125), DoubleEq(0.25), DoubleEq(0.25), DoubleEq(1)));
  EXPECT_THAT(LayerRates({0, 5}, 1), ElementsAre(1, 1));
  EXPECT_THAT(LayerRates({}, 0.5), IsEmpty());
}

}  // namespace
}  // namespace interlude
