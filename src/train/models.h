// How the models compute, over parameters that live in a FlatParameters. The registry: one function
// that makes a model of any ModelKind. Tensors and their first values: model_parameters.h.
#pragma once

#include <ATen/ATen.h>

#include <memory>
#include <vector>

#include "config/run_config.h"
#include "train/flat_parameters.h"
#include "train/step_noise.h"

namespace interlude {

/// Classifies images. One thread at a time.
class Model {
 public:
  virtual ~Model() = default;
  /// `images` is fp32 [batch, channels, height, width]; returns logits, fp32 [batch, classes]. With
  /// `noise` as a training step computes them, where the model has dropout or stochastic depth.
  virtual at::Tensor Forward(const at::Tensor& images, StepNoise* noise) const = 0;
  /// As the model is used and scored: nothing in it is random.
  at::Tensor Forward(const at::Tensor& images) const { return Forward(images, nullptr); }
  /// What training steps move besides the parameters, and scoring goes by: the running statistics
  /// of batch norms. Empty: nothing.
  virtual std::vector<at::Tensor> Statistics() const { return {}; }
};

/// Whether CreateModel makes it.
inline bool IsMadeHere(ModelKind kind) {
  return kind == ModelKind::kVit || kind == ModelKind::kConvNet;
}

/// A model whose parameters are views of `parameters`, laid out by ModelLayout of the same
/// configuration. `parameters` must outlive it. Aborts for the kinds that ModelLayout refuses:
/// kSynthetic, and those of one's own (own_model.h).
std::unique_ptr<Model> CreateModel(const ModelConfig& config, FlatParameters& parameters);

std::unique_ptr<Model> CreateVit(const ModelConfig& config, FlatParameters& parameters);
std::unique_ptr<Model> CreateConvNet(FlatParameters& parameters);

}  // namespace interlude
