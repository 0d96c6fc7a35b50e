// From a run's description to a model that computes, also where somebody else made the model: which
// of its tensors are exchanged, and their memory. One thread at a time.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "base/status.h"
#include "config/run_config.h"
#include "model/model_parameters.h"
#include "train/device.h"
#include "train/flat_parameters.h"
#include "train/models.h"
#include "train/own_module.h"

namespace interlude {

/// A model whose parameters have no place yet.
struct OpenedModel {
  /// In layout order. Of a module those that require a gradient, a tensor of several names under
  /// the first; their initializers stand for nothing, since the module has values.
  std::vector<ModelParameter> tensors;
  /// Null for the kinds that are made here.
  std::unique_ptr<OwnModule> module;
  /// Which of module->Buffers() a training step moves (running statistics of batch norms).
  std::vector<size_t> statistics;
};

/// The model of `config`. A module is tried on two pictures, as in training and as in scoring,
/// which leaves its buffers as they were. Errors of ModelParameters and OpenOwnModule, and
/// InvalidArgument where a module has nothing to train, a parameter that requires a gradient is not
/// fp32, or the module fails on such pictures or gives anything but a number for each picture and
/// class.
StatusOr<OpenedModel> OpenModel(const RunConfig& config, const TrainDevice& device);

/// Lets `model` compute with `parameters`, which was laid out by its tensors and must outlive what
/// is returned. A module's values move there; for other kinds they stay as they are.
std::unique_ptr<Model> BindModel(const ModelConfig& config, OpenedModel model,
                                 FlatParameters& parameters);

}  // namespace interlude
