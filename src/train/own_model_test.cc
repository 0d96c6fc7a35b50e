// Holds the training of TorchScript files against the same training in PyTorch:
// tools/make_own_models.py makes both when the test runs.
#include "train/own_model.h"

#include <ATen/core/grad_mode.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/nn/modules/linear.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/hash_file.h"
#include "interlude/model.h"
#include "train/gradient.h"
#include "train/kept_statistics.h"
#include "train/local_optimizer.h"
#include "train/predictor.h"
#include "train/test_images.h"
#include "train/trainer_factory.h"

namespace interlude {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// As in the script.
constexpr int64_t kSteps = 8;
constexpr int64_t kBatch = 12;
constexpr double kClose = 1e-5;

const std::string& Folder() {
  static const std::string folder = [] {
    const std::string made = testing::TempDir() + "/own-models";
    const std::string script = std::string(INTERLUDE_SOURCE_DIR) + "/tools/make_own_models.py ";
    return std::system(("/usr/bin/python3 " + script + made).c_str()) == 0 ? made : "";
  }();
  return folder;
}

bool HavePyTorch() {
  static const bool have = std::system("/usr/bin/python3 -c 'import torch' 2>/dev/null") == 0;
  return have;
}

at::Tensor ReadTensor(const std::string& name, at::IntArrayRef shape, at::ScalarType type) {
  std::ifstream in(Folder() + "/" + name, std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(in)), {});
  at::Tensor all = at::empty({static_cast<int64_t>(bytes.size())}, at::kByte);
  std::copy(bytes.begin(), bytes.end(), static_cast<char*>(all.data_ptr()));
  return all.view(type).view(shape);
}

at::Tensor Expected(const std::string& name) { return ReadTensor(name, {-1}, at::kFloat); }

double Distance(const at::Tensor& a, const at::Tensor& b) {
  return a.sub(b).abs().max().item<double>();
}

RunConfig ScriptRun(const std::string& name) {
  RunConfig config = TinyImageRun(ModelKind::kTorchScript);
  config.model.file = Folder() + "/" + name + ".pt";
  config.train.optimizer = LocalOptimizerKind::kSgd;
  config.train.momentum = 0.9;
  config.train.weight_decay = 0.01;
  return config;
}

std::vector<std::string> Names(const std::vector<ModelParameter>& tensors) {
  std::vector<std::string> names;
  for (const ModelParameter& tensor : tensors) names.push_back(tensor.spec.name);
  return names;
}

class OwnModelTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!HavePyTorch()) GTEST_SKIP() << "python3-torch is not installed";
    ASSERT_NE(Folder(), "") << "tools/make_own_models.py failed";
  }

  static Status OpenError(const std::string& name) {
    return OpenModel(ScriptRun(name), {}).status();
  }
};

// A model on its way through the script's steps.
struct Training {
  explicit Training(const RunConfig& run, TrainDevice device = {})
      : config(run), own(OpenModel(config, device).value()) {
    parameters = std::make_unique<FlatParameters>(
        LayoutOf(own.tensors, config.round.chunk_params).value(), device);
    optimizer = CreateLocalOptimizer(config.train, own.tensors, *parameters);
    model = BindModel(config.model, std::move(own), *parameters);
  }

  double Step(int64_t step) {
    constexpr double kRate = 0.05;
    StepNoise noise(static_cast<uint64_t>(step));
    const double loss = ComputeGradient(config.train, *model,
                                        {pictures.select(0, step), labels.select(0, step), {}, {}},
                                        *parameters, &noise);
    optimizer->Step(kRate);
    return loss;
  }

  RunConfig config;
  OpenedModel own;
  std::unique_ptr<FlatParameters> parameters;
  std::unique_ptr<LocalOptimizer> optimizer;
  std::unique_ptr<Model> model;
  at::Tensor pictures = ReadTensor("pictures", {kSteps, kBatch, 1, 8, 8}, at::kFloat);
  at::Tensor labels = ReadTensor("labels", {kSteps, kBatch}, at::kLong);
};

class TrainedAsInPyTorch
    : public OwnModelTest,
      public ::testing::WithParamInterface<std::pair<const char*, const char*>> {};

TEST_P(TrainedAsInPyTorch, StepByStepToTheLastStatistic) {
  const auto [file, expected] = GetParam();
  const std::string name = expected;
  for (const bool in_host_memory : {true, false}) {
    Training training(ScriptRun(file), {.in_host_memory = in_host_memory});
    const at::Tensor losses = Expected(name + ".losses");
    for (int64_t step = 0; step < kSteps; ++step) {
      EXPECT_NEAR(training.Step(step), losses[step].item<float>(), kClose) << "step " << step;
    }
    EXPECT_LT(Distance(training.parameters->values(), Expected(name + ".parameters")), kClose);
    std::vector<at::Tensor> statistics;
    for (const at::Tensor& tensor : training.model->Statistics())
      if (tensor.is_floating_point()) statistics.push_back(tensor.view(-1));
    EXPECT_LT(Distance(at::cat(statistics), Expected(name + ".statistics")), kClose);
  }
}

INSTANTIATE_TEST_SUITE_P(Models, TrainedAsInPyTorch,
                         ::testing::Values(std::pair("cnn", "cnn"), std::pair("cnn-traced", "cnn"),
                                           std::pair("mlp", "mlp")));

TEST_F(OwnModelTest, ScoringGoesByTheStatisticsAsPyTorchsDoes) {
  for (const std::string name : {"cnn", "mlp"}) {
    Training training(ScriptRun(name));
    for (int64_t step = 0; step < kSteps; ++step) training.Step(step);
    const at::NoGradGuard no_gradient;
    const at::Tensor logits = training.model->Forward(training.pictures[kSteps - 1]);
    EXPECT_LT(Distance(logits.view(-1), Expected(name + ".logits")), kClose);
    EXPECT_TRUE(at::equal(logits, training.model->Forward(training.pictures[kSteps - 1])));
  }
}

TEST_F(OwnModelTest, TensorsAreThoseThatAreTrainedAndMatricesDecay) {
  const OpenedModel cnn = OpenModel(ScriptRun("cnn"), {}).value();
  EXPECT_THAT(Names(cnn.tensors),
              ElementsAre("first.weight", "norm.weight", "norm.bias", "second.weight",
                          "second.bias", "head.weight", "head.bias"));
  EXPECT_TRUE(cnn.tensors[0].decays);
  EXPECT_FALSE(cnn.tensors[1].decays);
  EXPECT_EQ(cnn.statistics.size(), 3u);  // mean, variance, number of batches
  const OpenedModel mlp = OpenModel(ScriptRun("mlp"), {}).value();
  EXPECT_THAT(Names(mlp.tensors),
              ElementsAre("first.weight", "first.bias", "norm.weight", "norm.bias", "second.weight",
                          "second.bias", "third.bias", "head.weight", "head.bias"));
  EXPECT_EQ(mlp.statistics.size(), 3u);
}

TEST_F(OwnModelTest, TryingAModelLeavesItAsItIs) {
  const OpenedModel own = OpenModel(ScriptRun("cnn"), {}).value();
  for (const NamedTensor& buffer : own.module->Buffers()) {
    const bool is_variance = buffer.name.ends_with("running_var");
    EXPECT_TRUE(buffer.tensor.eq(is_variance ? 1 : 0).all().item<bool>()) << buffer.name;
  }
}

TEST_F(OwnModelTest, DropoutFollowsFromTheStepAlone) {
  const auto gradient = [](int64_t step) {
    Training training(ScriptRun("dropping"));
    training.Step(step);
    return training.parameters->gradient().clone();
  };
  EXPECT_TRUE(at::equal(gradient(3), gradient(3)));
  Training other(ScriptRun("dropping"));
  StepNoise noise(99);
  ComputeGradient(other.config.train, *other.model, {other.pictures[3], other.labels[3], {}, {}},
                  *other.parameters, &noise);
  EXPECT_FALSE(at::equal(gradient(3), other.parameters->gradient()));
}

TEST_F(OwnModelTest, FilesThatDoNotFitAreRefusedWithTheReason) {
  EXPECT_THAT(OpenError("missing").message(), HasSubstr("is no file on this machine"));
  EXPECT_THAT(OpenError("text").message(),
              AllOf(HasSubstr("text.pt can't be read as TorchScript"), HasSubstr("torch.jit")));
  EXPECT_THAT(OpenError("eleven").message(),
              AllOf(HasSubstr("[2, 11] for 2 pictures"), HasSubstr("model.classes = 10")));
  EXPECT_THAT(OpenError("failing").message(),
              AllOf(HasSubstr("fails on 2 pictures of 1 x 8 x 8 (scoring)"),
                    HasSubstr("this model has no use for pictures")));
  EXPECT_THAT(OpenError("pair").message(), HasSubstr("forward() returns Tuple, not one tensor"));
  EXPECT_THAT(OpenError("double").message(),
              AllOf(HasSubstr("parameter head.weight is Double"), HasSubstr("fp32 only")));
  EXPECT_THAT(OpenError("frozen").message(), HasSubstr("no parameter requires a gradient"));
}

TEST_F(OwnModelTest, PredictionsNeedAModelWithoutStatistics) {
  const DataFacts data{.mean = {0.5f}, .deviation = {0.5f}};
  EXPECT_TRUE(CreateTorchPredictor(ScriptRun("dropping"), data, 1).ok());
  EXPECT_THAT(CreateTorchPredictor(ScriptRun("cnn"), data, 1).status().message(),
              HasSubstr("goes by running statistics (norm.running_mean)"));
}

TEST_F(OwnModelTest, AnotherFileThanTheRunsIsRefused) {
  RunConfig config = ScriptRun("cnn");
  config.model.file_hash = HashFile(config.model.file)->ToHex();
  EXPECT_TRUE(OpenModel(config, {}).ok());
  config.model.file = Folder() + "/mlp.pt";
  EXPECT_THAT(OpenModel(config, {}).status().message(),
              AllOf(HasSubstr("mlp.pt hashes to "), HasSubstr(config.model.file_hash)));
}

TEST_F(OwnModelTest, AnEvaluationMakesStatisticsAnewAndPutsTheOldOnesBack) {
  const RunConfig config = ScriptRun("cnn");
  const auto evaluation = [&](uint32_t steps) {
    const auto trainer = CreateTorchTrainer(config, 0, 1, 1).value();
    const std::vector<float> first(trainer->parameters().begin(), trainer->parameters().end());
    EXPECT_TRUE(steps == 0 || trainer->TrainRound({.local_steps = steps}, nullptr).ok());
    std::ranges::copy(first, trainer->parameters().begin());
    return trainer->Evaluate(0, 1).value().loss_sum;
  };
  // Whatever the local steps have left in the statistics, parameters alone decide.
  EXPECT_NEAR(evaluation(0), evaluation(5), 0.02 * evaluation(0));
  Training training(config);
  training.Step(0);
  const at::Tensor before = training.model->Statistics()[0].clone();
  {
    const KeptStatistics kept(*training.model);
    training.Step(1);
    EXPECT_FALSE(at::equal(training.model->Statistics()[0], before));
  }
  EXPECT_TRUE(at::equal(training.model->Statistics()[0], before));
}

struct Net : torch::nn::Module {
  explicit Net(const ModelShape& shape)
      : head(register_module(
            "head", torch::nn::Linear(shape.image_size * shape.image_size, shape.classes))) {}
  at::Tensor forward(at::Tensor x) { return head(x.flatten(1)); }
  torch::nn::Linear head;
};

TEST(RegisteredModel, BeginsAlikeInEachWorkerAndLearns) {
  RegisterModel<Net>("own-model-test");
  RunConfig config = TinyImageRun(ModelKind::kModule);
  config.model.module = "own-model-test";
  const auto trainer = CreateTorchTrainer(config, 0, 2, 1).value();
  const auto other = CreateTorchTrainer(config, 1, 2, 1).value();
  EXPECT_EQ(trainer->layout().parameters()[0].name, "head.weight");
  EXPECT_TRUE(std::ranges::equal(trainer->parameters(), other->parameters()));
  const double before = trainer->Evaluate(0, 1).value().loss_sum;
  ASSERT_TRUE(trainer->TrainRound({.local_steps = 20}, nullptr).ok());
  EXPECT_LT(trainer->Evaluate(0, 1).value().loss_sum, before);

  config.model.module = "nobody";
  EXPECT_THAT(CreateTorchTrainer(config, 0, 1, 1).status().message(),
              AllOf(HasSubstr("\"nobody\" is not registered"), HasSubstr("\"own-model-test\"")));
}

}  // namespace
}  // namespace interlude
