// Checks the ViT against another implementation's weights, logits, loss, gradients and first SGD
// step.

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

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

class VitOracleTest : public ::testing::Test {
 protected:
  void SetUp() override {
    directory_ = std::string(INTERLUDE_SHARED_DATA) + "/vit-tiny";
    if (!std::filesystem::exists(directory_ + "/model.safetensors")) {
      GTEST_SKIP() << "no oracle data in " << directory_;
    }
    config_.model = {.image_size = 32,
                     .channels = 3,
                     .patch_size = 8,
                     .hidden_size = 32,
                     .layers = 2,
                     .heads = 2,
                     .mlp_size = 64,
                     .classes = 37};
    parameters_ = std::make_unique<FlatParameters>(ModelLayout(config_).value());
    Load(Open("model.safetensors"), parameters_->span());
    model_ = CreateModel(config_.model, {.layer_norm_epsilon = 1e-6}, *parameters_);
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

TEST_F(VitOracleTest, LogitsAndLossAreTheOracles) {
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

TEST_F(VitOracleTest, GradientsAreTheOracles) {
  at::cross_entropy_loss(model_->Forward(images_), labels_).backward();
  ExpectNear(Gradient(), "oracle_grads.safetensors");
}

TEST_F(VitOracleTest, OneSgdStepGivesTheOraclesWeights) {
  config_.train.optimizer = LocalOptimizerKind::kSgd;
  config_.train.momentum = 0;
  config_.train.weight_decay = 0;
  const auto optimizer =
      CreateLocalOptimizer(config_.train, ModelParameters(config_.model).value(), *parameters_);
  at::cross_entropy_loss(model_->Forward(images_), labels_).backward();
  optimizer->Step(0.1);
  ExpectNear(parameters_->span(), "oracle_after_sgd_lr0.1.safetensors");
}

TEST(VitTest, TheEpsilonOfLayerNormIsUsed) {
  RunConfig config;
  config.model.layers = 1;
  FlatParameters parameters(ModelLayout(config).value());
  InitializeParameters(ModelParameters(config.model).value(), parameters.layout(), 1,
                       parameters.span());
  const at::Tensor images = at::ones({2, 1, 28, 28});
  const at::Tensor small = CreateModel(config.model, {}, parameters)->Forward(images);
  const at::Tensor large =
      CreateModel(config.model, {.layer_norm_epsilon = 100.0}, parameters)->Forward(images);
  EXPECT_GT((small - large).abs().max().item<float>(), 1e-3f);
}

}  // namespace
}  // namespace interlude
