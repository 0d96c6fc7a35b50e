#include "train/local_optimizer.h"

#include <array>
#include <cmath>

#include "base/check.h"
#include "train/name_tensor.h"

namespace interlude {

namespace {

constexpr char kOwner[] = "optimizer state";

struct DecayingRange {
  at::Tensor values;
  at::Tensor gradient;
};

// Views of the decaying tensors, neighbours joined.
std::vector<DecayingRange> DecayingRanges(const std::vector<ModelParameter>& tensors,
                                          FlatParameters& parameters) {
  const auto& specs = parameters.layout().parameters();
  INTERLUDE_CHECK(tensors.size() == specs.size(), "{} tensors for a layout of {}", tensors.size(),
                  specs.size());
  std::vector<DecayingRange> ranges;
  for (size_t i = 0; i < tensors.size();) {
    const size_t first = i;
    while (i < tensors.size() && tensors[i].decays == tensors[first].decays) ++i;
    if (!tensors[first].decays) continue;
    const auto begin = static_cast<int64_t>(specs[first].offset);
    const auto count = static_cast<int64_t>(specs[i - 1].offset + specs[i - 1].count) - begin;
    ranges.push_back({parameters.values().narrow(0, begin, count),
                      parameters.gradient().narrow(0, begin, count)});
  }
  return ranges;
}

class AdamW final : public LocalOptimizer {
 public:
  AdamW(const TrainConfig& config, std::vector<DecayingRange> decaying, FlatParameters& parameters)
      : config_(config),
        decaying_(std::move(decaying)),
        values_(parameters.values()),
        gradient_(parameters.gradient()),
        mean_(at::zeros_like(values_)),
        square_(at::zeros_like(values_)),
        scratch_(at::empty_like(values_)),
        names_{NameTensor(kOwner, mean_), NameTensor(kOwner, square_),
               NameTensor(kOwner, scratch_)} {}

  void Step(double learning_rate) override {
    ++steps_;
    for (DecayingRange& range : decaying_)
      range.values.mul_(1.0 - learning_rate * config_.weight_decay);
    mean_.mul_(config_.beta1).add_(gradient_, 1.0 - config_.beta1);
    square_.mul_(config_.beta2).addcmul_(gradient_, gradient_, 1.0 - config_.beta2);
    const auto steps = static_cast<double>(steps_);
    const double mean_correction = 1.0 - std::pow(config_.beta1, steps);
    const double square_correction = 1.0 - std::pow(config_.beta2, steps);
    at::sqrt_out(scratch_, square_);
    scratch_.div_(std::sqrt(square_correction)).add_(config_.epsilon);
    values_.addcdiv_(mean_, scratch_, -learning_rate / mean_correction);
  }

 private:
  const TrainConfig config_;
  std::vector<DecayingRange> decaying_;
  at::Tensor values_;
  at::Tensor gradient_;
  at::Tensor mean_;
  at::Tensor square_;
  at::Tensor scratch_;
  const std::array<NamedMemory, 3> names_;
  uint64_t steps_ = 0;
};

class Sgd final : public LocalOptimizer {
 public:
  Sgd(const TrainConfig& config, std::vector<DecayingRange> decaying, FlatParameters& parameters)
      : config_(config),
        decaying_(std::move(decaying)),
        values_(parameters.values()),
        gradient_(parameters.gradient()) {
    if (config_.momentum != 0) velocity_ = at::zeros_like(values_);
    name_ = NameTensor(kOwner, velocity_);
  }

  void Step(double learning_rate) override {
    for (DecayingRange& range : decaying_) range.gradient.add_(range.values, config_.weight_decay);
    if (!velocity_.defined()) {
      values_.add_(gradient_, -learning_rate);
      return;
    }
    velocity_.mul_(config_.momentum).add_(gradient_);
    values_.add_(velocity_, -learning_rate);
  }

 private:
  const TrainConfig config_;
  std::vector<DecayingRange> decaying_;
  at::Tensor values_;
  at::Tensor gradient_;
  at::Tensor velocity_;
  NamedMemory name_;
};

}  // namespace

std::unique_ptr<LocalOptimizer> CreateLocalOptimizer(const TrainConfig& config,
                                                     const std::vector<ModelParameter>& tensors,
                                                     FlatParameters& parameters) {
  std::vector<DecayingRange> decaying;
  if (config.weight_decay != 0) decaying = DecayingRanges(tensors, parameters);
  if (config.optimizer == LocalOptimizerKind::kSgd) {
    return std::make_unique<Sgd>(config, std::move(decaying), parameters);
  }
  return std::make_unique<AdamW>(config, std::move(decaying), parameters);
}

}  // namespace interlude
