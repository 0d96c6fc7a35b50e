#include "model/pretrained.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <filesystem>
#include <fstream>

#include "base/rng.h"
#include "config/model_presets.h"
#include "layout/layout.h"
#include "model/position_grid.h"
#include "model/test_checkpoint.h"

namespace interlude {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr uint64_t kSeed = 5;
constexpr WeightNaming kAllNamings[] = {WeightNaming::kHuggingFace, WeightNaming::kHuggingFaceBare,
                                        WeightNaming::kTimm, WeightNaming::kTorchvision};

ModelConfig SmallVit() {
  ModelConfig config;
  config.image_size = 16;
  config.channels = 3;
  config.patch_size = 4;
  config.hidden_size = 8;
  config.layers = 2;
  config.heads = 2;
  config.mlp_size = 12;
  config.classes = 5;
  return config;
}

class PretrainedTest : public testing::Test {
 protected:
  PretrainedTest() {
    directory_ = testing::TempDir() + "/pretrained-" +
                 testing::UnitTest::GetInstance()->current_test_info()->name();
    std::filesystem::remove_all(directory_);
    std::filesystem::create_directories(directory_);
    config_.pretrained = directory_ + "/model.safetensors";
  }
  ~PretrainedTest() override { std::filesystem::remove_all(directory_); }

  void Write(const std::vector<CheckpointTensor>& tensors, const std::string& dtype = "F32") {
    WriteCheckpoint(config_.pretrained, tensors, dtype);
  }
  void WriteNaming(WeightNaming naming) { Write(CheckpointTensors(naming, config_, kSeed)); }

  StatusOr<PretrainedWeights> Open() const {
    return PretrainedWeights::Open(config_, ModelParameters(config_).value());
  }
  std::string Error() const {
    const auto weights = Open();
    EXPECT_FALSE(weights.ok());
    return weights.status().message();
  }
  std::string Report() const {
    std::string text;
    for (const std::string& line : Open().value().Report()) text += line + "\n";
    return text;
  }
  std::vector<float> Values(const PretrainedWeights& weights, size_t index) const {
    const auto layout = Layout::Create({ModelParameters(config_).value()[index].spec}, 64).value();
    std::vector<float> values(layout.total_params());
    const Status status = weights.Read(index, values);
    EXPECT_TRUE(status.ok()) << status.ToString();
    return values;
  }
  size_t IndexOf(const std::string& name) const {
    const auto parameters = ModelParameters(config_).value();
    for (size_t i = 0; i < parameters.size(); ++i) {
      if (parameters[i].spec.name == name) return i;
    }
    ADD_FAILURE() << name;
    return 0;
  }

  std::string directory_;
  ModelConfig config_ = SmallVit();
};

float CutOff(float value, const std::string& dtype) {
  const uint32_t dropped = dtype == "F32" ? 0 : dtype == "F16" ? 13 : 16;
  return std::bit_cast<float>(std::bit_cast<uint32_t>(value) >> dropped << dropped);
}

TEST_F(PretrainedTest, EveryNamingAndTypeFillsEveryTensorWithItsValues) {
  for (const WeightNaming naming : kAllNamings) {
    for (const std::string dtype : {"F32", "F16", "BF16"}) {
      Write(CheckpointTensors(naming, config_, kSeed), dtype);
      const auto weights = Open();
      ASSERT_TRUE(weights.ok()) << weights.status().ToString();
      const size_t count = ModelParameters(config_)->size();
      for (size_t i = 0; i < count; ++i) {
        ASSERT_TRUE(weights->Holds(i));
        const std::vector<float> actual = Values(*weights, i);
        std::vector<float> expected(actual.size());
        FillCheckpointValues(i, kSeed, expected);
        for (float& value : expected) value = CutOff(value, dtype);
        ASSERT_EQ(actual, expected) << NamingName(naming) << " " << dtype << " " << i;
      }
    }
    EXPECT_THAT(Report(), HasSubstr(std::string(NamingName(naming)) + ", values in BF16"));
    EXPECT_THAT(Report(), HasSubstr("matched: 40 of 40 tensors"));
  }
}

TEST_F(PretrainedTest, ModelsOfRandomSizesFindEveryTensor) {
  Rng rng(31);
  const auto from_1_to = [&](uint64_t most) { return static_cast<uint32_t>(1 + rng.Below(most)); };
  for (int trial = 0; trial < 40; ++trial) {
    config_.heads = from_1_to(3);
    config_.hidden_size = config_.heads * from_1_to(4);
    config_.layers = from_1_to(12);  // also numbers of two digits
    config_.mlp_size = from_1_to(9);
    config_.patch_size = from_1_to(3);
    config_.image_size = config_.patch_size * from_1_to(4);
    config_.channels = from_1_to(4);
    config_.classes = 1 + from_1_to(5);
    WriteNaming(kAllNamings[trial % 4]);
    const auto weights = Open();
    ASSERT_TRUE(weights.ok()) << trial << weights.status().ToString();
    for (size_t i = 0; i < ModelParameters(config_)->size(); ++i) {
      const std::vector<float> actual = Values(*weights, i);
      std::vector<float> expected(actual.size());
      FillCheckpointValues(i, kSeed, expected);
      ASSERT_EQ(actual, expected) << "trial " << trial << ", tensor " << i;
    }
  }
}

TEST_F(PretrainedTest, TheFirstTorchvisionsNamesOfTheMlpAreKnownToo) {
  auto tensors = CheckpointTensors(WeightNaming::kTorchvision, config_, kSeed);
  for (CheckpointTensor& tensor : tensors) {
    for (const auto& [from, to] : {std::pair<std::string, std::string>{"mlp.0", "mlp.linear_1"},
                                   {"mlp.3", "mlp.linear_2"}}) {
      if (const size_t at = tensor.name.find(from); at != std::string::npos)
        tensor.name.replace(at, from.size(), to);
    }
  }
  Write(tensors);
  EXPECT_THAT(Report(), HasSubstr("matched: 40 of 40"));
}

TEST_F(PretrainedTest, AnotherNumberOfClassesMakesTheHeadAnew) {
  WriteNaming(WeightNaming::kTimm);
  config_.classes = 7;
  const auto weights = Open();
  ASSERT_TRUE(weights.ok()) << weights.status().ToString();
  EXPECT_FALSE(weights->Holds(IndexOf("classifier.weight")));
  EXPECT_FALSE(weights->Holds(IndexOf("classifier.bias")));
  EXPECT_TRUE(weights->Holds(IndexOf("vit.layernorm.weight")));
  EXPECT_THAT(Report(), HasSubstr("newly made: 2: classifier.weight, classifier.bias (classifier: "
                                  "the file tells 5 classes apart, the model 7)"));
  EXPECT_THAT(Report(), HasSubstr("ignored: 2 of the file's 32 tensors: head.bias, head.weight"));
}

TEST_F(PretrainedTest, AHeadOfTheSameSizeIsKeptUnlessANewOneIsWanted) {
  WriteNaming(WeightNaming::kTorchvision);
  EXPECT_TRUE(Open()->Holds(IndexOf("classifier.weight")));
  config_.new_head = true;
  EXPECT_FALSE(Open()->Holds(IndexOf("classifier.weight")));
  EXPECT_THAT(Report(), HasSubstr("(classifier: model.new_head)"));
}

TEST_F(PretrainedTest, AHeadThatNeedsALayerOfItsOwnIsMadeAnew) {
  auto tensors = CheckpointTensors(WeightNaming::kTimm, config_, kSeed);
  tensors.push_back({.name = "pre_logits.fc.weight", .shape = {1}, .fill = [](auto) {}});
  Write(tensors);
  EXPECT_FALSE(Open()->Holds(IndexOf("classifier.weight")));
}

TEST_F(PretrainedTest, PositionsAreResizedAndTheClassTokensIsKept) {
  WriteNaming(WeightNaming::kHuggingFace);
  config_.image_size = 24;
  const auto weights = Open();
  ASSERT_TRUE(weights.ok()) << weights.status().ToString();
  EXPECT_THAT(Report(), HasSubstr("from 4 x 4 to 6 x 6 patches (bicubic)"));
  const size_t index = IndexOf("vit.embeddings.position_embeddings");
  std::vector<float> from(17 * 8), expected(36 * 8);
  FillCheckpointValues(index, kSeed, from);
  ResizeGrid(std::span<const float>(from).subspan(8), 4, expected, 6, 8);
  expected.insert(expected.begin(), from.begin(), from.begin() + 8);
  EXPECT_EQ(Values(*weights, index), expected);
}

TEST_F(PretrainedTest, ShardsGiveTheSameValues) {
  auto tensors = CheckpointTensors(WeightNaming::kHuggingFace, config_, kSeed);
  std::string map;
  for (const auto& tensor : tensors) {
    const bool first = &tensor - tensors.data() < 20;
    map += fmt::format("{}\"{}\":\"{}.safetensors\"", map.empty() ? "" : ",", tensor.name,
                       first ? "a" : "b");
  }
  WriteCheckpoint(directory_ + "/a.safetensors", {tensors.begin(), tensors.begin() + 20});
  WriteCheckpoint(directory_ + "/b.safetensors", {tensors.begin() + 20, tensors.end()}, "BF16");
  std::ofstream(directory_ + "/model.safetensors.index.json") << "{\"weight_map\":{" << map << "}}";
  config_.pretrained = directory_;
  const auto weights = Open();
  ASSERT_TRUE(weights.ok()) << weights.status().ToString();
  EXPECT_THAT(Report(), HasSubstr("values in BF16 and F32"));
  std::vector<float> expected(8);
  FillCheckpointValues(0, kSeed, expected);
  EXPECT_EQ(Values(*weights, 0), expected);
}

TEST_F(PretrainedTest, OnlyTheHeadMayBeMissingUnlessAllowed) {
  auto tensors = CheckpointTensors(WeightNaming::kTimm, config_, kSeed);
  std::erase_if(tensors, [](const CheckpointTensor& tensor) {
    return tensor.name == "norm.bias" || tensor.name.starts_with("head.");
  });
  Write(tensors);
  EXPECT_THAT(Error(), HasSubstr("1 of the model's 40 tensors are not there: norm.bias"));
  config_.allow_missing = true;
  EXPECT_THAT(Report(), HasSubstr("newly made: 3: vit.layernorm.bias, classifier.weight"));
  EXPECT_FALSE(Open()->Holds(IndexOf("vit.layernorm.bias")));
}

TEST_F(PretrainedTest, WhatWouldChangeTheResultIsNotIgnored) {
  auto tensors = CheckpointTensors(WeightNaming::kTimm, config_, kSeed);
  tensors.push_back({.name = "blocks.0.ls1.gamma", .shape = {8}, .fill = [](auto) {}});
  tensors.push_back({.name = "head_dist.weight", .shape = {1}, .fill = [](auto) {}});
  Write(tensors);
  EXPECT_THAT(Error(), HasSubstr("holds 1 tensors that this model has no place for"));
  EXPECT_THAT(Error(), HasSubstr("blocks.0.ls1.gamma"));
  config_.allow_missing = true;
  EXPECT_THAT(Report(), HasSubstr("ignored: 2 of the file's 34 tensors: blocks.0.ls1.gamma"));
}

TEST_F(PretrainedTest, FewerLayersThanTheFilesAreRefused) {
  WriteNaming(WeightNaming::kTorchvision);
  config_.layers = 1;
  EXPECT_THAT(Error(), HasSubstr("one with more layers"));
}

TEST_F(PretrainedTest, AWrongShapeIsNamedWithBothShapes) {
  WriteNaming(WeightNaming::kTimm);
  config_.mlp_size = 16;
  EXPECT_THAT(Error(), HasSubstr("tensor blocks.0.mlp.fc1.weight has shape [12, 8], the model's is "
                                 "[16, 8]"));
  config_ = SmallVit();
  config_.pretrained = directory_ + "/model.safetensors";
  config_.channels = 1;
  EXPECT_THAT(Error(), HasSubstr("patch_embed.proj.weight has shape [8, 3, 4, 4]"));
}

TEST_F(PretrainedTest, NanAndInfinityAreNamedWithTheirTensor) {
  for (const float bad : {NAN, INFINITY}) {
    auto tensors = CheckpointTensors(WeightNaming::kTimm, config_, kSeed);
    tensors[4].fill = [bad](std::span<float> values) { values.back() = bad; };
    Write(tensors);
    const auto weights = Open();
    ASSERT_TRUE(weights.ok());
    std::vector<float> values(8);
    const Status status = weights->Read(4, values);
    EXPECT_EQ(status.code(), StatusCode::kDataLoss);
    EXPECT_THAT(status.message(), HasSubstr("tensor " + tensors[4].name + " holds"));
  }
}

TEST_F(PretrainedTest, TypesThatAreNoFloatsAndOtherModelsAreRefused) {
  std::ofstream(config_.pretrained, std::ios::binary) << "no model at all";
  EXPECT_THAT(Error(), HasSubstr(config_.pretrained));
  Write({{.name = "a", .shape = {1}, .fill = [](auto) {}}});
  EXPECT_THAT(Error(), HasSubstr("not those of a vision transformer"));
  WriteNaming(WeightNaming::kTimm);
  std::fstream file(config_.pretrained, std::ios::in | std::ios::out | std::ios::binary);
  std::string bytes(std::istreambuf_iterator<char>(file), {});
  bytes.replace(bytes.find("F32"), 3, "I32");
  file.seekp(0);
  file << bytes << std::flush;
  EXPECT_THAT(Error(), HasSubstr("tensor cls_token is I32; F32, F16 and BF16 are read"));
}

TEST_F(PretrainedTest, EveryTruncationIsRefused) {
  WriteNaming(WeightNaming::kTorchvision);
  const auto bytes = std::filesystem::file_size(config_.pretrained);
  for (uintmax_t kept = bytes; kept > 0;) {
    kept -= std::min<uintmax_t>(kept, 97);
    std::filesystem::resize_file(config_.pretrained, kept);
    ASSERT_FALSE(Open().ok()) << kept;
  }
}

TEST_F(PretrainedTest, AConfigBesideTheFileMustAgreeOnWhatNoShapeTells) {
  WriteNaming(WeightNaming::kHuggingFace);
  const auto say = [&](const std::string& text) {
    std::ofstream(directory_ + "/config.json", std::ios::trunc) << text;
  };
  say(R"({"num_attention_heads":4})");
  EXPECT_THAT(Error(), HasSubstr("num_attention_heads = 4, but model.heads = 2"));
  say(R"({"num_attention_heads":2,"hidden_act":"quick_gelu"})");
  EXPECT_THAT(Error(), HasSubstr("quick_gelu"));
  say(R"({"num_attention_heads":2,"hidden_act":"gelu","layer_norm_eps":1e-6})");
  EXPECT_THAT(Report(), HasSubstr("note: config.json beside it says layer_norm_eps = 1e-06"));
  for (const char* odd : {"", "[]", "{", R"({"num_attention_heads":"2"})"}) {
    say(odd);
    EXPECT_TRUE(Open().ok()) << odd;
  }
}

TEST_F(PretrainedTest, TheModelOfAFileIsToldByItsShapes) {
  for (const WeightNaming naming : kAllNamings) {
    WriteNaming(naming);
    const auto model = ModelOf(SafetensorsSet::Open(config_.pretrained).value());
    ASSERT_TRUE(model.ok()) << model.status().ToString();
    EXPECT_EQ(model->image_size, 16u);
    EXPECT_EQ(model->patch_size, 4u);
    EXPECT_EQ(model->channels, 3u);
    EXPECT_EQ(model->hidden_size, 8u);
    EXPECT_EQ(model->layers, 2u);
    EXPECT_EQ(model->mlp_size, 12u);
    EXPECT_EQ(model->classes, 5u);
    EXPECT_EQ(model->preset, "");
  }
}

// torchvision's documentation gives these for 1000 classes.
TEST(ModelPresets, HaveThePublishedNumbersOfParameters) {
  const auto count = [](const std::string& preset) {
    ModelConfig config;
    ApplyPreset(preset, config);
    config.classes = 1000;
    uint64_t total = 0;
    for (const ModelParameter& parameter : ModelParameters(config).value()) {
      uint64_t values = 1;
      for (const int64_t size : parameter.spec.shape) values *= static_cast<uint64_t>(size);
      total += values;
    }
    return total;
  };
  EXPECT_EQ(count("vit_b16"), 86'567'656u);
  EXPECT_EQ(count("vit_b32"), 88'224'232u);
  EXPECT_EQ(count("vit_l16"), 304'326'632u);
  EXPECT_EQ(count("vit_l32"), 306'535'400u);
  EXPECT_EQ(count("vit_h14"), 632'045'800u);
}

}  // namespace
}  // namespace interlude
