#include "train/local_optimizer.h"

#include <array>
#include <cmath>

#include "base/check.h"
#include "train/layer_depth.h"
#include "train/name_tensor.h"

namespace interlude {

namespace {

constexpr char kOwner[] = "optimizer state";

// Neighbouring parameters that are treated alike.
struct Range {
  int64_t begin = 0;
  int64_t count = 0;
  double rate = 1;  // times the learning rate
  bool decays = false;

  at::Tensor Of(const at::Tensor& sequence) const { return sequence.narrow(0, begin, count); }
};

std::vector<double> Rates(const TrainConfig& config, const Layout& layout) {
  std::vector<std::string> names;
  for (const ParameterSpec& spec : layout.parameters()) names.push_back(spec.name);
  return LayerRates(LayerDepths(names), config.layer_decay);
}

std::vector<Range> Ranges(const TrainConfig& config, const std::vector<ModelParameter>& tensors,
                          const Layout& layout) {
  const auto& specs = layout.parameters();
  INTERLUDE_CHECK(tensors.size() == specs.size(), "{} tensors for a layout of {}", tensors.size(),
                  specs.size());
  const std::vector<double> rates = Rates(config, layout);
  std::vector<Range> ranges;
  for (size_t i = 0; i < specs.size(); ++i) {
    const bool decays = tensors[i].decays && config.weight_decay != 0;
    const auto count = static_cast<int64_t>(specs[i].count);
    if (!ranges.empty() && ranges.back().rate == rates[i] && ranges.back().decays == decays) {
      ranges.back().count += count;
    } else {
      ranges.push_back({static_cast<int64_t>(specs[i].offset), count, rates[i], decays});
    }
  }
  return ranges;
}

class AdamW final : public LocalOptimizer {
 public:
  AdamW(const TrainConfig& config, std::vector<Range> ranges, FlatParameters& parameters)
      : config_(config),
        ranges_(std::move(ranges)),
        values_(parameters.values()),
        gradient_(parameters.gradient()),
        mean_(at::zeros_like(values_)),
        square_(at::zeros_like(values_)),
        scratch_(at::empty_like(values_)),
        names_{NameTensor(kOwner, mean_), NameTensor(kOwner, square_),
               NameTensor(kOwner, scratch_)} {}

  void Step(double learning_rate) override {
    ++steps_;
    for (const Range& range : ranges_) {
      if (!range.decays) continue;
      range.Of(values_).mul_(1.0 - learning_rate * range.rate * config_.weight_decay);
    }
    mean_.mul_(config_.beta1).add_(gradient_, 1.0 - config_.beta1);
    square_.mul_(config_.beta2).addcmul_(gradient_, gradient_, 1.0 - config_.beta2);
    const auto steps = static_cast<double>(steps_);
    const double mean_correction = 1.0 - std::pow(config_.beta1, steps);
    const double square_correction = 1.0 - std::pow(config_.beta2, steps);
    at::sqrt_out(scratch_, square_);
    scratch_.div_(std::sqrt(square_correction)).add_(config_.epsilon);
    for (const Range& range : ranges_) {
      range.Of(values_).addcdiv_(range.Of(mean_), range.Of(scratch_),
                                 -learning_rate * range.rate / mean_correction);
    }
  }

 private:
  const TrainConfig config_;
  const std::vector<Range> ranges_;
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
  Sgd(const TrainConfig& config, std::vector<Range> ranges, FlatParameters& parameters)
      : config_(config),
        ranges_(std::move(ranges)),
        values_(parameters.values()),
        gradient_(parameters.gradient()) {
    if (config_.momentum != 0) velocity_ = at::zeros_like(values_);
    name_ = NameTensor(kOwner, velocity_);
  }

  void Step(double learning_rate) override {
    for (const Range& range : ranges_) {
      if (range.decays) range.Of(gradient_).add_(range.Of(values_), config_.weight_decay);
    }
    if (velocity_.defined()) velocity_.mul_(config_.momentum).add_(gradient_);
    const at::Tensor& direction = velocity_.defined() ? velocity_ : gradient_;
    for (const Range& range : ranges_)
      range.Of(values_).add_(range.Of(direction), -learning_rate * range.rate);
  }

 private:
  const TrainConfig config_;
  const std::vector<Range> ranges_;
  at::Tensor values_;
  at::Tensor gradient_;
  at::Tensor velocity_;
  NamedMemory name_;
};

}  // namespace

std::unique_ptr<LocalOptimizer> CreateLocalOptimizer(const TrainConfig& config,
                                                     const std::vector<ModelParameter>& tensors,
                                                     FlatParameters& parameters) {
  std::vector<Range> ranges = Ranges(config, tensors, parameters.layout());
  if (config.optimizer == LocalOptimizerKind::kSgd)
    return std::make_unique<Sgd>(config, std::move(ranges), parameters);
  return std::make_unique<AdamW>(config, std::move(ranges), parameters);
}

}  // namespace interlude
