#include "model/model_parameters.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <map>
#include <set>

namespace interlude {
namespace {

using ::testing::HasSubstr;

std::vector<ModelParameter> Parameters(const ModelConfig& config) {
  auto parameters = ModelParameters(config);
  EXPECT_TRUE(parameters.ok()) << parameters.status().ToString();
  return *std::move(parameters);
}

RunConfig SmallVit() {
  RunConfig config;
  config.model.hidden_size = 8;
  config.model.layers = 1;
  config.model.heads = 2;
  config.model.mlp_size = 12;
  return config;
}

std::vector<float> Values(const RunConfig& config, uint64_t seed) {
  const auto layout = ModelLayout(config);
  EXPECT_TRUE(layout.ok()) << layout.status().ToString();
  std::vector<float> values(layout->total_params(), NAN);
  InitializeParameters(Parameters(config.model), *layout, seed, values);
  return values;
}

TEST(ModelParametersTest, AVitHasTheTensorsOfHuggingFace) {
  std::map<std::string, std::vector<int64_t>> shapes;
  for (const ModelParameter& p : Parameters(SmallVit().model)) shapes[p.spec.name] = p.spec.shape;
  const std::string layer = "vit.encoder.layer.0.";
  const std::map<std::string, std::vector<int64_t>> expected = {
      {"vit.embeddings.cls_token", {1, 1, 8}},
      {"vit.embeddings.position_embeddings", {1, 17, 8}},
      {"vit.embeddings.patch_embeddings.projection.weight", {8, 1, 7, 7}},
      {"vit.embeddings.patch_embeddings.projection.bias", {8}},
      {layer + "layernorm_before.weight", {8}},
      {layer + "layernorm_before.bias", {8}},
      {layer + "attention.attention.query.weight", {8, 8}},
      {layer + "attention.attention.query.bias", {8}},
      {layer + "attention.attention.key.weight", {8, 8}},
      {layer + "attention.attention.key.bias", {8}},
      {layer + "attention.attention.value.weight", {8, 8}},
      {layer + "attention.attention.value.bias", {8}},
      {layer + "attention.output.dense.weight", {8, 8}},
      {layer + "attention.output.dense.bias", {8}},
      {layer + "layernorm_after.weight", {8}},
      {layer + "layernorm_after.bias", {8}},
      {layer + "intermediate.dense.weight", {12, 8}},
      {layer + "intermediate.dense.bias", {12}},
      {layer + "output.dense.weight", {8, 12}},
      {layer + "output.dense.bias", {8}},
      {"vit.layernorm.weight", {8}},
      {"vit.layernorm.bias", {8}},
      {"classifier.weight", {10, 8}},
      {"classifier.bias", {10}},
  };
  EXPECT_EQ(shapes, expected);
}

TEST(ModelParametersTest, OnlyMatricesAndFiltersDecay) {
  for (const ModelParameter& p : Parameters(SmallVit().model)) {
    const bool weight =
        p.spec.name.ends_with(".weight") && p.spec.name.find("layernorm") == std::string::npos;
    EXPECT_EQ(p.decays, weight) << p.spec.name;
  }
}

TEST(ModelParametersTest, ViTBase16Has86Million) {
  RunConfig config;
  config.model = {.image_size = 224,
                  .channels = 3,
                  .patch_size = 16,
                  .hidden_size = 768,
                  .layers = 12,
                  .heads = 12,
                  .mlp_size = 3072,
                  .classes = 1000};
  // The published model's count (85.8 million without the classifier).
  EXPECT_EQ(ModelLayout(config)->total_params(), 86'567'656u);
}

TEST(ModelParametersTest, TheConvNetIsSmall) {
  RunConfig config;
  config.model.kind = ModelKind::kConvNet;
  EXPECT_EQ(ModelLayout(config)->total_params(), 160u + 4640u + 200'832u + 1290u);
}

TEST(ModelParametersTest, FirstValuesFollowFromTheSeedAlone) {
  const std::vector<float> a = Values(SmallVit(), 7);
  const std::vector<float> b = Values(SmallVit(), 7);
  const std::vector<float> other = Values(SmallVit(), 8);
  EXPECT_EQ(std::memcmp(a.data(), b.data(), a.size() * sizeof(float)), 0);
  EXPECT_NE(std::memcmp(a.data(), other.data(), a.size() * sizeof(float)), 0);
}

TEST(ModelParametersTest, NormsBeginAtOneBiasesAtZeroWeightsAsABell) {
  RunConfig config = SmallVit();
  config.model.hidden_size = 128;
  const auto layout = ModelLayout(config);
  const std::vector<float> values = Values(config, 3);
  int compared = 0;
  for (const ParameterSpec& spec : layout->parameters()) {
    double sum = 0, squares = 0, largest = 0;
    for (size_t i = spec.offset; i < spec.offset + spec.count; ++i) {
      sum += values[i];
      squares += double{values[i]} * values[i];
      largest = std::max(largest, std::abs(double{values[i]}));
    }
    const double mean = sum / static_cast<double>(spec.count);
    if (spec.name.find("layernorm") != std::string::npos && spec.name.ends_with("weight")) {
      EXPECT_EQ(mean, 1.0) << spec.name;
    } else if (spec.name.ends_with("bias")) {
      EXPECT_EQ(largest, 0.0) << spec.name;
    } else if (spec.count > 2000) {
      const double inputs = static_cast<double>(spec.count) / static_cast<double>(spec.shape[0]);
      const double expected =
          spec.name == "vit.embeddings.position_embeddings" ? 0.02 : 0.02 * std::sqrt(768 / inputs);
      ++compared;
      EXPECT_NEAR(mean, 0.0, 0.1 * expected) << spec.name;
      EXPECT_NEAR(std::sqrt(squares / static_cast<double>(spec.count)), expected, 0.05 * expected)
          << spec.name;
      EXPECT_LT(largest, 3.5 * expected) << spec.name;
    }
  }
  EXPECT_EQ(compared, 6);  // positions, patches, query, key, value, attention output
}

TEST(ModelParametersTest, TensorsOfOneShapeBeginDifferently) {
  const auto layout = ModelLayout(SmallVit());
  const std::vector<float> values = Values(SmallVit(), 3);
  std::set<float> first_values;
  size_t matrices = 0;
  for (const ParameterSpec& spec : layout->parameters()) {
    if (spec.shape != std::vector<int64_t>{8, 8}) continue;
    ++matrices;
    first_values.insert(values[spec.offset]);
  }
  EXPECT_EQ(matrices, 4u);
  EXPECT_EQ(first_values.size(), matrices);
}

TEST(ModelParametersTest, SizesThatDoNotFitTogetherAreRefusedWithBothKeys) {
  ModelConfig config;
  config.patch_size = 6;
  EXPECT_THAT(ModelParameters(config).status().message(), HasSubstr("model.patch_size = 6"));
  EXPECT_THAT(ModelParameters(config).status().message(), HasSubstr("model.image_size = 28"));
  config = ModelConfig();
  config.heads = 5;
  EXPECT_THAT(ModelParameters(config).status().message(), HasSubstr("model.heads = 5"));
  config = ModelConfig();
  config.kind = ModelKind::kConvNet;
  config.image_size = 30;
  EXPECT_EQ(ModelParameters(config).status().code(), StatusCode::kInvalidArgument);
  config.kind = ModelKind::kSynthetic;
  EXPECT_EQ(ModelParameters(config).status().code(), StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace interlude
