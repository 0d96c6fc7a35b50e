#include "train/gradient.h"

#include <gtest/gtest.h>
#include <torch/types.h>

#include <cmath>
#include <limits>

// After the types, which it does not include.
#include <torch/nn/utils/clip_grad.h>

#include "model/model_parameters.h"
#include "train/test_devices.h"
#include "train/test_images.h"

namespace interlude {
namespace {

// A model with its first parameters and a batch for it.
struct World {
  World(ModelKind kind, at::Device device)
      : config(TinyImageRun(kind)),
        parameters(ModelLayout(config).value(), {.device = device, .in_host_memory = false}),
        model(CreateModel(config.model, parameters)) {
    std::vector<float> values(parameters.layout().total_params());
    InitializeParameters(ModelParameters(config.model).value(), parameters.layout(), 3, values);
    parameters.values().copy_(TensorOf(values, device));
    const at::TensorOptions options(device);
    batch.images = at::sin(at::arange(20 * 64, options.dtype(at::kFloat)).view({20, 1, 8, 8}));
    batch.labels = at::arange(20, options.dtype(at::kLong)).remainder(10);
  }

  double Compute() { return ComputeGradient(config.train, *model, batch, parameters); }

  RunConfig config;
  FlatParameters parameters;
  std::unique_ptr<Model> model;
  Batch batch;
};

double Longest(const at::Tensor& a) { return a.abs().max().item<float>(); }

class GradientTest : public ::testing::TestWithParam<ModelKind> {};

TEST_P(GradientTest, OfABatchInPartsIsThatOfTheWhole) {
  for (const at::Device device : TestDevices()) {
    World world(GetParam(), device);
    world.config.train.label_smoothing = 0.1;
    world.batch =
        MixUp(world.batch, at::arange(19, -1, -1, at::TensorOptions(at::kLong).device(device)),
              at::linspace(0.1, 0.9, 20, at::TensorOptions(at::kFloat).device(device)));
    const double loss = world.Compute();
    const at::Tensor whole = world.parameters.gradient().clone();
    ASSERT_GT(Longest(whole), 0.01);
    for (const uint32_t parts : {2, 3, 7, 20}) {
      world.config.train.accumulate = parts;
      EXPECT_NEAR(world.Compute(), loss, 1e-6) << parts;
      EXPECT_LT(Longest(world.parameters.gradient() - whole), 1e-6) << parts;
    }
    world.config.train.accumulate = 1000;  // more than the batch has samples
    EXPECT_NEAR(world.Compute(), loss, 1e-6);
  }
}

TEST_P(GradientTest, IsThatOfThisBatchAlone) {
  World world(GetParam(), at::kCPU);
  world.Compute();
  const at::Tensor first = world.parameters.gradient().clone();
  world.Compute();
  EXPECT_TRUE(at::equal(world.parameters.gradient(), first));
  at::cross_entropy_loss(world.model->Forward(world.batch.images), world.batch.labels).backward();
  EXPECT_LT(Longest(world.parameters.gradient() - 2 * first), 1e-6);
}

TEST_P(GradientTest, UnderAutocastIsNearThatInFp32AndNotTheSame) {
  for (const at::Device device : TestDevices()) {
    World world(GetParam(), device);
    const double loss = world.Compute();
    const at::Tensor exact = world.parameters.gradient().clone();
    world.config.train.autocast = AutocastKind::kBf16;
    const at::Tensor before = world.parameters.values().clone();
    EXPECT_NEAR(world.Compute(), loss, 0.02);
    EXPECT_EQ(world.parameters.gradient().scalar_type(), at::kFloat);
    EXPECT_TRUE(at::equal(world.parameters.values(), before));
    const at::Tensor difference = world.parameters.gradient() - exact;
    EXPECT_GT(difference.norm().item<float>(), 1e-4 * exact.norm().item<float>());
    EXPECT_LT(difference.norm().item<float>(), 0.03 * exact.norm().item<float>());
    // The casts of the parameters that were kept do not outlive the step.
    world.parameters.values().mul_(0.5);
    const double changed = world.Compute();
    world.config.train.autocast = AutocastKind::kNone;
    EXPECT_NEAR(world.Compute(), changed, 0.02);
    EXPECT_GT(std::abs(changed - loss), 0.04);
  }
}

TEST_P(GradientTest, OfALossThatIsNotFiniteIsNotComputed) {
  World world(GetParam(), at::kCPU);
  world.config.train.accumulate = 2;
  world.batch.images[15].fill_(NAN);
  EXPECT_TRUE(std::isnan(world.Compute()));
}

INSTANTIATE_TEST_SUITE_P(Models, GradientTest,
                         ::testing::Values(ModelKind::kVit, ModelKind::kConvNet),
                         [](const auto& instance) {
                           return instance.param == ModelKind::kVit ? "Vit" : "ConvNet";
                         });

TEST(Length, IsThatInDoublePrecisionForAnyNumberOfValues) {
  for (const at::Device device : TestDevices()) {
    for (const int64_t count : {0, 1, 65'535, 65'536, 65'537, 3'000'000}) {
      const at::Tensor values = at::cos(at::arange(count, at::TensorOptions(at::kFloat)));
      const double expected = values.to(at::kDouble).norm().item<double>();
      EXPECT_NEAR(Length(values.to(device)).item<double>(), expected, 1e-6 * expected) << count;
    }
  }
}

TEST(Length, DoesNotSaturateWithThePlacesOfFp32) {
  // One value seen 2^27 times: a sum in fp32 stops at 2^24 in each lane.
  const at::Tensor ones = at::ones({1}).expand({1 << 27});
  EXPECT_NEAR(Length(ones).item<double>(), std::sqrt(0x1p27), 1e-3);
}

TEST(ClipGradient, ScalesAsPyTorchDoes) {
  for (const at::Device device : TestDevices()) {
    for (const double bound : {0.01, 1.0, 4.0, 1e9}) {
      at::Tensor gradient = at::cos(at::arange(30, at::TensorOptions(at::kFloat).device(device)));
      // The norm over all tensors, not each.
      at::Tensor left = at::zeros({10}), right = at::zeros({20});
      left.mutable_grad() = gradient.narrow(0, 0, 10).clone();
      right.mutable_grad() = gradient.narrow(0, 10, 20).clone();
      torch::nn::utils::clip_grad_norm_({left, right}, bound);
      ClipGradient(gradient, bound);
      const at::Tensor expected = at::cat({left.grad(), right.grad()});
      EXPECT_LT(Longest(gradient - expected), 1e-6) << bound;
      EXPECT_LE(gradient.norm().item<float>(), bound * (1 + 1e-6));
    }
  }
}

TEST(ClipGradient, LeavesAShortOneAsItIs) {
  const at::Tensor before = at::cos(at::arange(30, at::kFloat));
  at::Tensor gradient = before.clone();
  ClipGradient(gradient, 100);
  EXPECT_TRUE(at::equal(gradient, before));
  gradient.zero_();
  ClipGradient(gradient, 1);
  EXPECT_EQ(Longest(gradient), 0);
}

TEST(ClipGradient, LeavesWhatIsNotFiniteToBeFound) {
  at::Tensor gradient = at::ones({4});
  gradient[2] = std::numeric_limits<float>::infinity();
  ClipGradient(gradient, 1);
  EXPECT_FALSE(gradient.isfinite().all().item<bool>());
}

}  // namespace
}  // namespace interlude
