// A vision transformer of a published size, from a made-up checkpoint of its real shapes to a local
// step and an exchange with a coordinator. INTERLUDE_FULL_SIZE names the preset: vit_ti16 (the
// default), vit_b16 or vit_h14; what they take is in docs/models.md.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <thread>

#include "config/model_presets.h"
#include "coordinator/coordinator.h"
#include "model/test_checkpoint.h"
#include "train/first_parameters.h"
#include "train/local_optimizer.h"
#include "train/models.h"
#include "train/torch_setup.h"
#include "worker/worker.h"

namespace interlude {
namespace {

constexpr uint64_t kSeed = 3;

// Steps on made-up pictures, one at a time.
class PictureTrainer final : public LocalTrainer {
 public:
  explicit PictureTrainer(const RunConfig& config)
      : config_(config),
        parameters_(ModelLayout(config).value()),
        model_(CreateModel(config.model, parameters_)),
        optimizer_(CreateLocalOptimizer(config.train, ModelParameters(config.model).value(),
                                        parameters_)) {
    const auto first = FillFirstParameters(config, parameters_);
    EXPECT_TRUE(first.ok()) << first.status().ToString();
  }

  const Layout& layout() const override { return parameters_.layout(); }
  std::span<float> parameters() override { return parameters_.span(); }

  StatusOr<TrainResult> TrainRound(const TrainRequest& request,
                                   const StepCallback& on_step) override {
    const auto side = static_cast<int64_t>(config_.model.image_size);
    StepNoise noise(StepSeed(config_.seed, 0, request.first_step));
    const at::Tensor picture = noise.Mask({1, 3, side, side}, 0.5, at::empty({1})) - 1.0;
    const at::Tensor label = at::full({1}, 7, at::kLong);
    const at::Tensor loss = at::cross_entropy_loss(model_->Forward(picture), label);
    loss.backward();
    optimizer_->Step(1e-3);
    const double value = loss.item<float>();
    on_step(1, value);
    return TrainResult{.samples = 1, .mean_loss = value, .last_loss = value};
  }
  StatusOr<EvaluationResult> Evaluate(uint32_t, uint32_t) override {
    return EvaluationResult{.correct = 0, .samples = 1, .loss_sum = 1};
  }

 private:
  const RunConfig config_;
  FlatParameters parameters_;
  std::unique_ptr<Model> model_;
  std::unique_ptr<LocalOptimizer> optimizer_;
};

void ExpectTheFilesValues(LocalTrainer& trainer) {
  const auto& specs = trainer.layout().parameters();
  for (size_t i = 0; i < specs.size(); ++i) {
    std::vector<float> expected(specs[i].count);
    FillCheckpointValues(i, kSeed, expected);
    const auto actual = trainer.parameters().subspan(specs[i].offset, specs[i].count);
    ASSERT_TRUE(std::ranges::equal(actual, expected)) << specs[i].name;
  }
}

RunConfig ConfigOf(const std::string& preset, const std::string& file) {
  RunConfig config;
  EXPECT_TRUE(ApplyPreset(preset, config.model)) << preset;
  config.model.classes = 1000;
  config.model.pretrained = file;
  config.train.batch = 1;
  config.train.weight_decay = 0;
  config.round.rounds = 1;
  config.round.local_steps = 1;
  config.round.patience = 0;
  if (preset.starts_with(
          "vit_h")) {  // no state of optimizers: 8 bytes a parameter less on each side
    config.train.optimizer = LocalOptimizerKind::kSgd;
    config.train.momentum = 0;
    config.outer.optimizer = OuterOptimizerKind::kSgd;
  }
  return config;
}

std::string PeakMemory() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmHWM:")) return line.substr(line.find_first_of("0123456789"));
  }
  return "unknown";
}

class Stopwatch {
 public:
  void Lap(const std::string& what) {
    const auto now = std::chrono::steady_clock::now();
    std::cout << what << ": " << std::chrono::duration<double>(now - begin_).count() << " s\n";
    begin_ = now;
  }

 private:
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

TEST(FullSizeModel, LoadsItsCheckpointTakesAStepAndExchanges) {
  const char* const wanted = std::getenv("INTERLUDE_FULL_SIZE");
  const std::string preset = wanted != nullptr ? wanted : "vit_ti16";
  const std::string directory =
      (std::filesystem::temp_directory_path() / ("full-size-" + std::to_string(getpid()))).string();
  std::filesystem::create_directories(directory);
  const RunConfig config = ConfigOf(preset, directory + "/timm.safetensors");
  Stopwatch watch;
  WriteCheckpoint(config.model.pretrained,
                  CheckpointTensors(WeightNaming::kTimm, config.model, kSeed));
  watch.Lap("checkpoint written");
  SetUpTorch(2);

  CoordinatorOptions options;
  options.config = config;
  options.workers = 1;
  options.directory = directory + "/run";
  options.threads = 2;
  auto coordinator = Coordinator::Start(options, SystemClock(), nullptr);
  ASSERT_TRUE(coordinator.ok()) << coordinator.status().ToString();
  const TrainerFactory factory = [&](const RunConfig& told, WorkerId, uint32_t,
                                     int) -> StatusOr<std::unique_ptr<LocalTrainer>> {
    auto trainer = std::make_unique<PictureTrainer>(told);
    watch.Lap("model built and loaded");
    ExpectTheFilesValues(*trainer);
    watch.Lap("all values compared");
    return std::unique_ptr<LocalTrainer>(std::move(trainer));
  };
  WorkerOptions worker_options;
  worker_options.coordinator = (*coordinator)->address();
  worker_options.threads = 2;
  const auto worker = RunWorker(worker_options, factory, SystemClock(), [] { return false; });
  (*coordinator)->Stop("the worker is gone");
  const auto outcome = (*coordinator)->Wait();
  watch.Lap("first base, a local step, a round's exchange and the final model");
  ASSERT_TRUE(worker.ok()) << worker.status().ToString();
  ASSERT_TRUE(outcome.ok()) << outcome.status().ToString();
  EXPECT_EQ(outcome->rounds, 1u);
  EXPECT_EQ(outcome->root_hash, worker->root_hash);
  std::cout << preset << ": peak memory of coordinator and worker together " << PeakMemory()
            << "\n";
  std::filesystem::remove_all(directory);
}

}  // namespace
}  // namespace interlude
