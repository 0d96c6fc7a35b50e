// The gradient of one local step: of a batch as a whole or in parts, and its length. Not the
// update, which is LocalOptimizer's. One thread.
#pragma once

#include "config/run_config.h"
#include "train/batch_loss.h"
#include "train/flat_parameters.h"
#include "train/models.h"

namespace interlude {

/// Writes the gradient of the batch's mean loss to parameters.gradient() and returns the loss.
/// With config.accumulate above 1 the batch goes through the model in so many parts, whose sizes
/// differ by one at most, with the activations of one part in memory at a time. It is the same
/// gradient but for rounding, except with `noise`: dropout draws anew for each part. A loss that is
/// not finite is returned at once; the gradient is then unspecified. `noise` is for dropout and
/// stochastic depth (models.h).
double ComputeGradient(const TrainConfig& config, const Model& model, const Batch& batch,
                       FlatParameters& parameters, StepNoise* noise = nullptr);

/// The model's logits for `images`, fp32, computed in what `autocast` says. With `noise` as in a
/// training step.
at::Tensor ForwardAs(AutocastKind autocast, const Model& model, const at::Tensor& images,
                     StepNoise* noise = nullptr);

/// The Euclidean length of a one-dimensional fp32 tensor, a double on its device: to 1e-6 for any
/// number of values.
at::Tensor Length(const at::Tensor& values);

/// Scales `gradient` down to the length `bound` where it is longer, as PyTorch's clip_grad_norm_.
/// Values that are not finite become NaN.
void ClipGradient(at::Tensor& gradient, double bound);

}  // namespace interlude
