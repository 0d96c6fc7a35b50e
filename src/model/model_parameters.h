// The models' tensors by name, shape and first value, without LibTorch: the same parameters on
// every machine and library version for the same configuration and seed. How they compute is in
// train/models.h.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/status.h"
#include "config/run_config.h"
#include "layout/layout.h"

namespace interlude {

/// How a tensor begins.
struct Initializer {
  enum class Kind { kZero, kOne, kBell };
  Kind kind = Kind::kZero;
  float deviation = 0;  // kBell: bell-shaped around 0, within 3.5 standard deviations
};

/// One tensor of a model.
struct ModelParameter {
  ParameterSpec spec;  // name and shape; offset and count are Layout::Create's
  Initializer initializer;
  /// Whether weight decay shrinks it: matrices and filters; not biases, norms, class token and
  /// positions.
  bool decays = false;
};

/// The tensors of config.kind in layout order. A ViT's names are those of Hugging Face's
/// ViTForImageClassification; query, key and value weights stand side by side (and so do their
/// biases), so that one matrix product serves all three. InvalidArgument for sizes that do not fit
/// together, for kSynthetic, which has no tensors of this kind, and for kTorchScript and kModule,
/// which bring their own.
StatusOr<std::vector<ModelParameter>> ModelParameters(const ModelConfig& config);

/// The layout of these tensors in chunks of `chunk_params`. Errors of Layout::Create.
StatusOr<Layout> LayoutOf(const std::vector<ModelParameter>& parameters, uint64_t chunk_params);

/// The layout of config.model's tensors in chunks of config.round.chunk_params.
StatusOr<Layout> ModelLayout(const RunConfig& config);

/// Fills `values` with the first values of tensor `index` of `parameters`, whose size they have.
/// Follows from `seed` and `index` alone, bit for bit on every machine; each tensor has its own
/// sequence.
void InitializeTensor(const std::vector<ModelParameter>& parameters, size_t index, uint64_t seed,
                      std::span<float> values);

/// InitializeTensor for all tensors of `layout`, which was made of `parameters`; `values` is
/// layout.total_params() long.
void InitializeParameters(const std::vector<ModelParameter>& parameters, const Layout& layout,
                          uint64_t seed, std::span<float> values);

}  // namespace interlude
