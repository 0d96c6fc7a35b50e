// How the models compute, over parameters that live in a FlatParameters. The registry: one function
// that makes a model of any ModelKind. Tensors and their first values: model_parameters.h.
#pragma once

#include <ATen/ATen.h>

#include <memory>

#include "config/run_config.h"
#include "train/flat_parameters.h"

namespace interlude {

/// Classifies images. One thread at a time.
class Model {
 public:
  virtual ~Model() = default;
  /// `images` is fp32 [batch, channels, height, width]; returns logits, fp32 [batch, classes].
  virtual at::Tensor Forward(const at::Tensor& images) const = 0;
};

struct ModelOptions {
  /// Added to the variance in each layer norm of a ViT; the default is that of Hugging Face's ViT.
  double layer_norm_epsilon = 1e-12;
};

/// A model whose parameters are views of `parameters`, laid out by ModelLayout of the same
/// configuration. `parameters` must outlive it. Aborts for kSynthetic, which ModelLayout refuses.
std::unique_ptr<Model> CreateModel(const ModelConfig& config, const ModelOptions& options,
                                   FlatParameters& parameters);

std::unique_ptr<Model> CreateVit(const ModelConfig& config, const ModelOptions& options,
                                 FlatParameters& parameters);
std::unique_ptr<Model> CreateConvNet(FlatParameters& parameters);

}  // namespace interlude
