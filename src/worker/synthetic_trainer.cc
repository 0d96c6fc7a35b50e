#include "worker/synthetic_trainer.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/free_memory.h"
#include "base/memory_account.h"
#include "base/rng.h"
#include "worker/synthetic_load.h"

namespace interlude {
namespace {

constexpr size_t kNoiseBlock = size_t{1} << 20;
constexpr uint64_t kMadeUpTestSet = 10'000;
constexpr uint64_t kMadeUpPercentCorrect = 80;

/// Uniform in [-1, 1) from a 32-bit counter and key: the finalizer of MurmurHash3, which compilers
/// vectorise.
inline float Noise(uint32_t counter, uint32_t key) {
  uint32_t x = counter * 0x9E3779B9u + key;
  x ^= x >> 16;
  x *= 0x85EBCA6Bu;
  x ^= x >> 13;
  x *= 0xC2B2AE35u;
  x ^= x >> 16;
  return static_cast<float>(static_cast<int32_t>(x)) * 0x1p-31f;
}

uint32_t BlockKey(uint64_t key, size_t block) {
  return static_cast<uint32_t>(Mix64(key ^ Mix64(block)) >> 32);
}

/// values[i] += scale * noise(key, i).
void AddNoise(std::span<float> values, uint64_t key, float scale) {
  for (size_t begin = 0; begin < values.size(); begin += kNoiseBlock) {
    const uint32_t block_key = BlockKey(key, begin / kNoiseBlock);
    const auto count = static_cast<uint32_t>(std::min(kNoiseBlock, values.size() - begin));
    float* const block = values.data() + begin;
    for (uint32_t i = 0; i < count; ++i) block[i] += scale * Noise(i, block_key);
  }
}

/// Made up: falls smoothly towards 0.1.
double LossAtStep(uint64_t step) { return 0.1 + 2.2 / (1.0 + static_cast<double>(step) / 50.0); }

StatusOr<Layout> MakeLayout(uint64_t params, uint64_t chunk_params) {
  std::vector<ParameterSpec> tensors;
  for (const char* name : {"embedding.weight", "encoder.weight", "head.weight"}) {
    if (params == 0) break;
    const bool last = std::string_view(name) == "head.weight";
    const uint64_t count = last ? params : std::min(params, (params / 2) | 1);
    tensors.push_back({.name = name, .shape = {static_cast<int64_t>(count)}});
    params -= count;
  }
  return Layout::Create(std::move(tensors), chunk_params);
}

class SyntheticTrainer final : public LocalTrainer {
 public:
  SyntheticTrainer(const RunConfig& config, WorkerId worker, Layout layout,
                   std::unique_ptr<SyntheticLoad> load)
      : config_(config),
        worker_(worker),
        load_(std::move(load)),
        layout_(std::move(layout)),
        parameters_(Buffer::Floats("parameters", layout_.total_params())) {
    AddNoise(parameters_.floats(), Mix64(config_.seed), 0.05f);
  }

  const Layout& layout() const override { return layout_; }
  std::span<float> parameters() override { return parameters_.floats(); }

  StatusOr<TrainResult> TrainRound(const TrainRequest& request,
                                   const StepCallback& on_step) override {
    const auto begin = std::chrono::steady_clock::now();
    Move(request);
    double loss_sum = 0;
    SyntheticLoad::Team team(*load_);
    for (uint32_t step = 0; step < request.local_steps; ++step) {
      INTERLUDE_RETURN_IF_ERROR(team.Step());
      // The time that a GPU would take; what went before is part of it.
      const std::chrono::duration<double, std::milli> taken(config_.model.synthetic_step_ms *
                                                            (step + 1));
      std::this_thread::sleep_until(begin +
                                    std::chrono::duration_cast<std::chrono::nanoseconds>(taken));
      const double loss = LossAtStep(request.first_step + step);
      loss_sum += loss;
      if (!on_step(step + 1, loss)) {
        return CancelledError("stopped after {} of {} local steps of round {}", step + 1,
                              request.local_steps, request.round);
      }
    }
    const uint32_t steps = std::max(request.local_steps, 1u);
    return TrainResult{.samples = uint64_t{request.local_steps} * config_.train.batch,
                       .mean_loss = loss_sum / steps,
                       .last_loss = LossAtStep(request.first_step + steps - 1)};
  }

  StatusOr<EvaluationResult> Evaluate(uint32_t part, uint32_t parts) override {
    const uint64_t limit = config_.data.test_limit;
    const uint64_t test_set = limit > 0 ? std::min(limit, kMadeUpTestSet) : kMadeUpTestSet;
    EvaluationResult result;
    for (uint64_t sample = part; sample < test_set; sample += parts) {
      ++result.samples;
      if (Mix64(sample) % 100 < kMadeUpPercentCorrect) ++result.correct;
    }
    result.loss_sum = 0.5 * static_cast<double>(result.samples);
    return result;
  }

 private:
  /// A round's whole movement in two passes: a direction that all workers share, and this worker's
  /// own.
  void Move(const TrainRequest& request) {
    const auto scale =
        static_cast<float>(1e-3 / std::sqrt(1.0 + static_cast<double>(request.first_step) / 100.0));
    const uint64_t shared = Mix64(Mix64(config_.seed) ^ request.first_step);
    const uint64_t own = Mix64(shared ^ Mix64(static_cast<uint64_t>(worker_) + 1));
    AddNoise(parameters_.floats(), shared, scale);
    AddNoise(parameters_.floats(), own, scale);
  }

  const RunConfig config_;
  const WorkerId worker_;
  const std::unique_ptr<SyntheticLoad> load_;
  const Layout layout_;
  Buffer parameters_;
};

}  // namespace

StatusOr<std::unique_ptr<LocalTrainer>> CreateSyntheticTrainer(const RunConfig& config,
                                                               WorkerId worker, uint32_t workers,
                                                               int threads) {
  if (config.model.kind != ModelKind::kSynthetic) {
    return InvalidArgumentError(
        "the synthetic trainer was asked for another model; set model.kind = \"synthetic\"");
  }
  if (worker < 0 || static_cast<uint32_t>(worker) >= workers) {
    return InvalidArgumentError("worker {} of {}: ids count from 0", worker, workers);
  }
  INTERLUDE_RETURN_IF_ERROR(CheckFreeMemory(
      fmt::format("a synthetic model of {} parameters", config.model.synthetic_params),
      config.model.synthetic_params * sizeof(float)));
  INTERLUDE_ASSIGN_OR_RETURN(Layout layout,
                             MakeLayout(config.model.synthetic_params, config.round.chunk_params));
  INTERLUDE_ASSIGN_OR_RETURN(std::unique_ptr<SyntheticLoad> load,
                             SyntheticLoad::Create(config.model, threads));
  return std::unique_ptr<LocalTrainer>(
      new SyntheticTrainer(config, worker, std::move(layout), std::move(load)));
}

}  // namespace interlude
