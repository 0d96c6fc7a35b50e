#include "train/local_optimizer.h"

#include <gtest/gtest.h>
#include <torch/optim/adamw.h>
#include <torch/optim/sgd.h>

#include <algorithm>

#include "train/flat_parameters.h"

namespace interlude {
namespace {

constexpr int kSteps = 12;

// A matrix that decays between two vectors that do not.
std::vector<ModelParameter> Tensors() {
  return {{.spec = {.name = "norm", .shape = {5}}, .initializer = {}, .decays = false},
          {.spec = {.name = "matrix", .shape = {4, 3}}, .initializer = {}, .decays = true},
          {.spec = {.name = "bias", .shape = {3}}, .initializer = {}, .decays = false}};
}

Layout TensorLayout() {
  std::vector<ParameterSpec> specs;
  for (const ModelParameter& tensor : Tensors()) specs.push_back(tensor.spec);
  return Layout::Create(std::move(specs), 64).value();
}

// Values and gradients that differ by position and step, in a range where every term matters.
at::Tensor Wave(double phase) { return at::sin(at::arange(20, at::kFloat) * 1.7 + phase); }

// The same tensors under LibTorch's optimizer: one group with decay, one without.
template <typename Optimizer, typename Options>
class Reference {
 public:
  // `decay`: of the learning rate from each tensor to the one below it.
  explicit Reference(Options options, double decay = 1) : leaf_({Wave(0.3)}), decay_(decay) {
    Options without(options);
    without.weight_decay(0);
    matrix_ = leaf_.narrow(0, 5, 12).clone().set_requires_grad(true);
    norm_ = leaf_.narrow(0, 0, 5).clone().set_requires_grad(true);
    bias_ = leaf_.narrow(0, 17, 3).clone().set_requires_grad(true);
    std::vector<torch::optim::OptimizerParamGroup> groups;
    groups.emplace_back(std::vector<at::Tensor>{matrix_}, std::make_unique<Options>(options));
    groups.emplace_back(std::vector<at::Tensor>{norm_}, std::make_unique<Options>(without));
    groups.emplace_back(std::vector<at::Tensor>{bias_}, std::make_unique<Options>(without));
    optimizer_ = std::make_unique<Optimizer>(groups, options);
  }

  void Step(const at::Tensor& gradient, double learning_rate) {
    norm_.mutable_grad() = gradient.narrow(0, 0, 5).clone();
    matrix_.mutable_grad() = gradient.narrow(0, 5, 12).clone();
    bias_.mutable_grad() = gradient.narrow(0, 17, 3).clone();
    const double rates[] = {decay_, decay_ * decay_, 1};  // of the groups
    for (size_t i = 0; i < 3; ++i) {
      static_cast<Options&>(optimizer_->param_groups()[i].options()).lr(learning_rate * rates[i]);
    }
    optimizer_->step();
  }

  at::Tensor Values() const { return at::cat({norm_, matrix_, bias_}).detach(); }

 private:
  at::Tensor leaf_, norm_, matrix_, bias_;
  const double decay_;
  std::unique_ptr<Optimizer> optimizer_;
};

template <typename Reference>
void ExpectSamePath(const TrainConfig& config, Reference reference) {
  FlatParameters parameters(TensorLayout());
  parameters.values().copy_(Wave(0.3));
  const float* const memory = parameters.span().data();
  const auto optimizer = CreateLocalOptimizer(config, Tensors(), parameters);
  for (int step = 0; step < kSteps; ++step) {
    const double learning_rate = 0.02 * (1 + step % 3);
    parameters.gradient().copy_(Wave(0.9 * step));
    reference.Step(Wave(0.9 * step), learning_rate);
    optimizer->Step(learning_rate);
    const double difference =
        (parameters.values() - reference.Values()).abs().max().template item<float>();
    ASSERT_LT(difference, 1e-6) << "step " << step;
  }
  EXPECT_EQ(parameters.values().data_ptr<float>(), memory);
  EXPECT_GT((parameters.values() - Wave(0.3)).abs().max().template item<float>(), 0.05f);
}

TEST(LocalOptimizerTest, AdamWTakesTheStepsOfLibTorchsAdamW) {
  TrainConfig config;
  config.weight_decay = 0.3;
  config.beta1 = 0.8;
  config.beta2 = 0.95;
  config.epsilon = 1e-4;
  using Options = torch::optim::AdamWOptions;
  Options options(0.1);
  options.weight_decay(0.3).betas({0.8, 0.95}).eps(1e-4);
  ExpectSamePath(config, Reference<torch::optim::AdamW, Options>(options));
}

TEST(LocalOptimizerTest, SgdTakesTheStepsOfLibTorchsSgd) {
  for (const double momentum : {0.0, 0.9}) {
    TrainConfig config;
    config.optimizer = LocalOptimizerKind::kSgd;
    config.weight_decay = 0.3;
    config.momentum = momentum;
    using Options = torch::optim::SGDOptions;
    Options options(0.1);
    options.weight_decay(0.3).momentum(momentum);
    ExpectSamePath(config, Reference<torch::optim::SGD, Options>(options));
  }
}

TEST(LocalOptimizerTest, EachLayerHasALearningRateOfItsOwn) {
  TrainConfig config;
  config.weight_decay = 0.3;
  config.layer_decay = 0.6;
  using Options = torch::optim::AdamWOptions;
  Options options(0.1);
  options.weight_decay(0.3).betas({0.9, 0.999}).eps(1e-8);
  ExpectSamePath(config, Reference<torch::optim::AdamW, Options>(options, 0.6));
  config.optimizer = LocalOptimizerKind::kSgd;
  using SgdOptions = torch::optim::SGDOptions;
  SgdOptions sgd(0.1);
  sgd.weight_decay(0.3).momentum(0.9);
  ExpectSamePath(config, Reference<torch::optim::SGD, SgdOptions>(sgd, 0.6));
}

TEST(LocalOptimizerTest, AZeroGradientMovesOnlyWhatDecays) {
  TrainConfig config;
  config.weight_decay = 0.5;
  FlatParameters parameters(TensorLayout());
  parameters.values().fill_(1.0f);
  CreateLocalOptimizer(config, Tensors(), parameters)->Step(0.1);
  const auto values = parameters.span();
  for (size_t i = 0; i < values.size(); ++i) {
    EXPECT_FLOAT_EQ(values[i], i >= 5 && i < 17 ? 0.95f : 1.0f) << i;
  }
}

TEST(FlatParametersTest, LeavesAreViewsOfTheFlatSequences) {
  FlatParameters parameters(TensorLayout());
  const at::Tensor matrix = parameters.Leaf("matrix");
  const at::Tensor bias = parameters.Leaf("bias");
  parameters.span()[5] = 2.5f;
  EXPECT_EQ(matrix[0][0].item<float>(), 2.5f);
  for (int pass = 0; pass < 2; ++pass) {
    parameters.gradient().zero_();
    (matrix.sum() * 3 + bias.sum()).backward();
    const float* const gradient = parameters.gradient().data_ptr<float>();
    EXPECT_EQ(gradient[4], 0.0f);
    EXPECT_EQ(gradient[5], 3.0f);
    EXPECT_EQ(gradient[16], 3.0f);
    EXPECT_EQ(gradient[17], 1.0f);
  }
  EXPECT_EQ(bias.grad().data_ptr<float>(), parameters.gradient().data_ptr<float>() + 17);
}

TEST(FlatParametersTest, OneLeafMayReachOverNeighbours) {
  FlatParameters parameters(TensorLayout());
  const at::Tensor both = parameters.Leaf("matrix", {5, 3});
  EXPECT_EQ(both.data_ptr<float>(), parameters.span().data() + 5);
  // LibTorch and OpenBLAS have started threads, beside which a plain fork is not safe.
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(parameters.Leaf("matrix", {13}), "within a tensor");
  EXPECT_DEATH(parameters.Leaf("absent"), "no tensor absent");
}

}  // namespace
}  // namespace interlude
