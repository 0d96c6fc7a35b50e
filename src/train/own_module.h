// A model that somebody else made, as far as training needs to know it. What it is made of:
// script_module.cc (a TorchScript file), registered_module.cc (a torch::nn module of the worker's
// program). What becomes of its tensors: own_model.h.
#pragma once

#include <ATen/ATen.h>

#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "config/run_config.h"

namespace interlude {

struct NamedTensor {
  std::string name;
  at::Tensor tensor;  // the module's own
};

/// One thread at a time. Throws what LibTorch throws.
class OwnModule {
 public:
  virtual ~OwnModule() = default;
  /// In the module's order; the same tensor may come under several names.
  virtual std::vector<NamedTensor> Parameters() const = 0;
  virtual std::vector<NamedTensor> Buffers() const = 0;
  /// Whether dropout and the like act, in the module and all that are in it.
  virtual void SetTraining(bool on) = 0;
  virtual at::Tensor Forward(const at::Tensor& images) = 0;
};

/// The model of config.model, with all its tensors on `device`. Null for the kinds that are not
/// one's own. NotFound or InvalidArgument, with what to do, where it can't be had,
/// FailedPrecondition where the file has another hash than config.model.file_hash.
StatusOr<std::unique_ptr<OwnModule>> OpenOwnModule(const RunConfig& config, at::Device device);

/// kTorchScript: reads config.model.file.
StatusOr<std::unique_ptr<OwnModule>> OpenScriptModule(const ModelConfig& config, at::Device device);

/// kModule: calls what was registered under config.model.module (interlude/model.h), with
/// LibTorch's random numbers begun from config.seed.
StatusOr<std::unique_ptr<OwnModule>> MakeRegisteredModule(const RunConfig& config,
                                                          at::Device device);

}  // namespace interlude
