// Checks the ViT against another implementation's weights, logits, loss, gradients and first SGD
// step.

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "train/first_parameters.h"
#include "train/local_optimizer.h"
#include "train/models.h"

namespace interlude {
namespace {

constexpr double kTolerance = 1e-5;

// A safetensors file: the length of a JSON header, the header, the values. The test trusts it.
class File {
 public:
  explicit File(const std::string& path) : path_(path) {
    std::ifstream in(path, std::ios::binary);
    uint64_t header_bytes = 0;
    in.read(reinterpret_cast<char*>(&header_bytes), sizeof(header_bytes));
    std::string header(header_bytes, ' ');
    in.read(header.data(), static_cast<std::streamsize>(header_bytes));
    tensors_ = nlohmann::json::parse(header);
    tensors_.erase("__metadata__");
    data_.assign(std::istreambuf_iterator<char>(in), {});
  }

  size_t size() const { return tensors_.size(); }

  std::vector<float> Floats(const std::string& name) const {
    if (!tensors_.contains(name) || tensors_[name]["dtype"] != "F32") {
      ADD_FAILURE() << path_ << " has no fp32 tensor " << name;
      return {};
    }
    const size_t begin = tensors_[name]["data_offsets"][0];
    const size_t end = tensors_[name]["data_offsets"][1];
    std::vector<float> values((end - begin) / sizeof(float));
    std::memcpy(values.data(), data_.data() + begin, end - begin);
    return values;
  }

 private:
  std::string path_;
  nlohmann::json tensors_;
  std::string data_;
};

// A run's text that names the file, from which parameters and model are made as a worker makes
// them.
class VitOracleTest : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    directory_ = std::string(INTERLUDE_SHARED_DATA) + "/vit-tiny";
    if (!std::filesystem::exists(directory_ + "/model.safetensors")) {
      GTEST_SKIP() << "no oracle data in " << directory_;
    }
    config_ = ParseRunConfig(
                  "[model]\nimage_size = 32\nchannels = 3\npatch_size = 8\nhidden_size = 32\n"
                  "layers = 2\nheads = 2\nmlp_size = 64\nclasses = 37\n"
                  "layer_norm_epsilon = 1e-6\npretrained = \"" +
                      directory_ + "/" + GetParam() + "\"\n",
                  "oracle")
                  .value();
    parameters_ = std::make_unique<FlatParameters>(ModelLayout(config_).value());
    ASSERT_EQ(FillFirstParameters(config_, *parameters_).value(), FirstParameters::kMade);
    model_ = CreateModel(config_.model, *parameters_);
    const File oracle = Open("oracle.safetensors");
    images_ = at::tensor(at::ArrayRef<float>(oracle.Floats("pixel_values"))).view({4, 3, 32, 32});
    labels_ = at::tensor(at::ArrayRef<int64_t>({0, 5, 20, 36}));
  }

  File Open(const std::string& name) const { return File(directory_ + "/" + name); }

  // Every tensor of the file into its place in `flat`.
  void Load(const File& file, std::span<float> flat) const {
    const auto& specs = parameters_->layout().parameters();
    ASSERT_EQ(file.size(), specs.size());
    for (const ParameterSpec& spec : specs) {
      const auto values = file.Floats(spec.name);
      ASSERT_EQ(values.size(), spec.count) << spec.name;
      std::ranges::copy(values, flat.begin() + static_cast<std::ptrdiff_t>(spec.offset));
    }
  }

  void ExpectNear(std::span<const float> actual, const std::string& file_name) const {
    std::vector<float> expected(actual.size());
    Load(Open(file_name), expected);
    for (size_t i = 0; i < actual.size(); ++i) {
      ASSERT_NEAR(actual[i], expected[i], kTolerance * std::max(1.0f, std::abs(expected[i])))
          << parameters_->layout().DescribePosition(i);
    }
  }

  std::span<const float> Gradient() const {
    return {parameters_->gradient().data_ptr<float>(), parameters_->layout().total_params()};
  }

  std::string directory_;
  RunConfig config_;
  std::unique_ptr<FlatParameters> parameters_;
  std::unique_ptr<Model> model_;
  at::Tensor images_;
  at::Tensor labels_;
};

TEST_P(VitOracleTest, LogitsAndLossAreTheOracles) {
  const File oracle = Open("oracle.safetensors");
  const at::Tensor logits = model_->Forward(images_);
  const std::vector<float> expected = oracle.Floats("logits");
  ASSERT_EQ(logits.numel(), static_cast<int64_t>(expected.size()));
  for (size_t i = 0; i < expected.size(); ++i) {
    EXPECT_NEAR(logits.data_ptr<float>()[i], expected[i], kTolerance) << i;
  }
  const at::Tensor loss = at::cross_entropy_loss(logits, labels_);
  EXPECT_NEAR(loss.item<float>(), oracle.Floats("loss")[0], kTolerance);
}

TEST_P(VitOracleTest, GradientsAreTheOracles) {
  at::cross_entropy_loss(model_->Forward(images_), labels_).backward();
  ExpectNear(Gradient(), "oracle_grads.safetensors");
}

TEST_P(VitOracleTest, OneSgdStepGivesTheOraclesWeights) {
  config_.train.optimizer = LocalOptimizerKind::kSgd;
  config_.train.momentum = 0;
  config_.train.weight_decay = 0;
  const auto optimizer =
      CreateLocalOptimizer(config_.train, ModelParameters(config_.model).value(), *parameters_);
  at::cross_entropy_loss(model_->Forward(images_), labels_).backward();
  optimizer->Step(0.1);
  ExpectNear(parameters_->span(), "oracle_after_sgd_lr0.1.safetensors");
}

std::string SchemeOf(const ::testing::TestParamInfo<const char*>& info) {
  const std::string file = info.param;
  return file == "model.safetensors" ? "HuggingFace" : file.substr(0, file.find('.'));
}

INSTANTIATE_TEST_SUITE_P(Names, VitOracleTest,
                         ::testing::Values("model.safetensors", "timm.safetensors",
                                           "torchvision.safetensors"),
                         SchemeOf);

// The oracle's files of two-byte values hold the fp32 ones, rounded.
class VitHalfOracleTest : public VitOracleTest {};

TEST_P(VitHalfOracleTest, ParametersAreTheRoundedOnesAndLogitsNearTheOracles) {
  const bool brain = std::string(GetParam()).find("bf16") != std::string::npos;
  std::vector<float> exact(parameters_->span().size());
  Load(Open("model.safetensors"), exact);
  const auto count = static_cast<int64_t>(exact.size());
  const at::Tensor rounded = at::from_blob(exact.data(), {count}, at::kFloat)
                                 .to(brain ? at::kBFloat16 : at::kHalf)
                                 .to(at::kFloat);
  EXPECT_TRUE(at::equal(parameters_->values(), rounded));
  const at::Tensor logits = model_->Forward(images_).flatten();
  const at::Tensor expected =
      at::tensor(at::ArrayRef<float>(Open("oracle.safetensors").Floats("logits")));
  // bf16 has 8 bits of precision, fp16 11.
  EXPECT_LT((logits - expected).abs().max().item<float>(), brain ? 0.1f : 0.0125f);
}

INSTANTIATE_TEST_SUITE_P(Types, VitHalfOracleTest,
                         ::testing::Values("model.fp16.safetensors", "model.bf16.safetensors"),
                         [](const auto& test) {
                           return std::string(test.param).find("bf16") == std::string::npos
                                      ? "Float16"
                                      : "Bfloat16";
                         });

class VitTest : public ::testing::Test {
 protected:
  VitTest() { config_.model.layers = 3; }

  void Make() {
    parameters_ = std::make_unique<FlatParameters>(ModelLayout(config_).value());
    InitializeParameters(ModelParameters(config_.model).value(), parameters_->layout(), 1,
                         parameters_->span());
    model_ = CreateModel(config_.model, *parameters_);
  }
  at::Tensor WithNoise(uint64_t seed) const {
    StepNoise noise(seed);
    return model_->Forward(images_, &noise);
  }

  RunConfig config_;
  std::unique_ptr<FlatParameters> parameters_;
  std::unique_ptr<Model> model_;
  const at::Tensor images_ = at::ones({64, 1, 28, 28});
};

TEST_F(VitTest, TheEpsilonOfLayerNormIsUsed) {
  Make();
  const at::Tensor small = model_->Forward(images_);
  config_.model.layer_norm_epsilon = 1;
  Make();
  EXPECT_GT((small - model_->Forward(images_)).abs().max().item<float>(), 1e-3f);
}

TEST_F(VitTest, WithoutDropoutATrainingStepComputesWhatAnEvaluationDoes) {
  Make();
  EXPECT_TRUE(at::equal(WithNoise(1), model_->Forward(images_)));
}

TEST_F(VitTest, DropoutFollowsFromItsSeedAloneAndLeavesEvaluationAsItIs) {
  Make();
  const at::Tensor plain = model_->Forward(images_);
  config_.model.dropout = 0.1;
  config_.model.stochastic_depth = 0.2;
  Make();
  EXPECT_TRUE(at::equal(model_->Forward(images_), plain));
  const at::Tensor first = WithNoise(1);
  at::rand({100});  // the generator of all moves on
  EXPECT_FALSE(at::equal(WithNoise(2), first));
  EXPECT_TRUE(at::equal(WithNoise(1), first));
  EXPECT_FALSE(at::equal(first, plain));
}

TEST_F(VitTest, NoiseDoesNotMoveTheGeneratorOfAll) {
  config_.model.dropout = 0.5;
  Make();
  at::manual_seed(3);
  const at::Tensor expected = at::rand({8});
  at::manual_seed(3);
  WithNoise(1);
  EXPECT_TRUE(at::equal(at::rand({8}), expected));
}

TEST_F(VitTest, StochasticDepthSkipsWholeSamplesAndNoneInTheFirstLayer) {
  config_.model.layers = 1;
  config_.model.stochastic_depth = 0.9;
  Make();
  EXPECT_TRUE(at::equal(WithNoise(1), model_->Forward(images_)));
  config_.model.layers = 2;
  config_.model.stochastic_depth = 0.5;
  Make();
  // All samples are equal, so each result is one of four: which of two branches were skipped.
  const at::Tensor rows = std::get<0>(at::unique_dim(WithNoise(1).mul(1e3).round(), 0));
  EXPECT_EQ(rows.size(0), 4);
}

TEST(StepNoise, LetsThroughTheShareAskedForAndKeepsTheMean) {
  StepNoise noise(StepSeed(1, 2, 3));
  const at::Tensor mask = noise.Mask({100'000}, 0.75, at::empty({1}));
  EXPECT_NEAR(mask.mean().item<float>(), 1.0, 0.01);
  EXPECT_NEAR(mask.eq(0).sum().item<int64_t>(), 25'000, 500);
}

TEST(StepNoise, DiffersByRunWorkerAndStep) {
  const std::set<uint64_t> seeds = {StepSeed(1, 0, 0), StepSeed(2, 0, 0), StepSeed(1, 1, 0),
                                    StepSeed(1, 0, 1), StepSeed(0, 1, 0)};
  EXPECT_EQ(seeds.size(), 5u);
}

}  // namespace
}  // namespace interlude
