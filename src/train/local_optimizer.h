// A worker's own optimizer: AdamW or SGD over the flat parameters, in place.
#pragma once

#include <ATen/ATen.h>

#include <memory>
#include <vector>

#include "config/run_config.h"
#include "model/model_parameters.h"
#include "train/flat_parameters.h"

namespace interlude {

/// Its state (moments) belongs to this worker and lives on across rounds; it is not exchanged. One
/// thread.
class LocalOptimizer {
 public:
  virtual ~LocalOptimizer() = default;
  /// One update of `parameters.values()` from `parameters.gradient()`. The memory stays where it
  /// is.
  virtual void Step(double learning_rate) = 0;
};

/// AdamW (Loshchilov and Hutter 2019, decoupled decay) or SGD with momentum (decay added to the
/// gradient), each as LibTorch's of that name. Weight decay touches only tensors whose `decays` is
/// set. With config.layer_decay below 1 each tensor has a learning rate of its own (layer_depth.h).
/// `parameters` must outlive the optimizer.
std::unique_ptr<LocalOptimizer> CreateLocalOptimizer(const TrainConfig& config,
                                                     const std::vector<ModelParameter>& tensors,
                                                     FlatParameters& parameters);

}  // namespace interlude
