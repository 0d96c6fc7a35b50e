#include "train/gradient.h"

#include <algorithm>
#include <cmath>

#include "train/autocast.h"

namespace interlude {

at::Tensor ForwardAs(AutocastKind autocast, const Model& model, const at::Tensor& images,
                     StepNoise* noise) {
  const AutocastScope scope(autocast, images.device().type());
  return model.Forward(images, noise).to(at::kFloat);
}

double ComputeGradient(const TrainConfig& config, const Model& model, const Batch& batch,
                       FlatParameters& parameters, StepNoise* noise) {
  const int64_t parts = std::min<int64_t>(config.accumulate, batch.size());
  double sum = 0;
  for (int64_t part = 0; part < parts; ++part) {
    const int64_t begin = batch.size() * part / parts;
    const int64_t count = batch.size() * (part + 1) / parts - begin;
    const Batch slice = parts == 1 ? batch : batch.Slice(begin, count);
    const at::Tensor loss = BatchLoss(ForwardAs(config.autocast, model, slice.images, noise), slice,
                                      config.label_smoothing);
    const double share = static_cast<double>(count) / static_cast<double>(batch.size());
    const double value = loss.item<float>();
    if (!std::isfinite(value)) return value;
    sum += value * share;
    if (part == 0) parameters.gradient().zero_();
    (parts == 1 ? loss : loss * share).backward();
  }
  return sum;
}

at::Tensor Length(const at::Tensor& values) {
  // A sum of squares in one go is far off beyond some 1e7 values: fp32 has 24 bits.
  constexpr int64_t kBlock = 1 << 16;
  const int64_t whole = values.numel() / kBlock * kBlock;
  const at::Tensor blocks = values.narrow(0, 0, whole).view({-1, kBlock});
  const at::Tensor rest = values.narrow(0, whole, values.numel() - whole);
  const at::Tensor lengths = at::cat({blocks.norm(2, 1), rest.norm().unsqueeze(0)});
  return lengths.to(at::kDouble).norm();
}

void ClipGradient(at::Tensor& gradient, double bound) {
  // PyTorch's own constant, which keeps the quotient finite.
  constexpr double kAdded = 1e-6;
  gradient.mul_((bound / (Length(gradient) + kAdded)).clamp_max_(1.0));
}

}  // namespace interlude
