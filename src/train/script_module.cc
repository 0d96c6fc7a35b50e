// A model as a TorchScript file.
#include <c10/util/Exception.h>
#include <torch/csrc/jit/api/module.h>
#include <torch/csrc/jit/serialization/import.h>

#include <filesystem>

#include "base/hash_file.h"
#include "train/own_module.h"

namespace interlude {
namespace {

class ScriptModule final : public OwnModule {
 public:
  explicit ScriptModule(torch::jit::Module module) : module_(std::move(module)) {}

  std::vector<NamedTensor> Parameters() const override {
    std::vector<NamedTensor> named;
    for (const auto& entry : module_.named_parameters()) named.push_back({entry.name, entry.value});
    return named;
  }

  std::vector<NamedTensor> Buffers() const override {
    std::vector<NamedTensor> named;
    for (const auto& entry : module_.named_buffers()) named.push_back({entry.name, entry.value});
    return named;
  }

  void SetTraining(bool on) override { module_.train(on); }

  at::Tensor Forward(const at::Tensor& images) override {
    const c10::IValue output = module_.forward({images});
    TORCH_CHECK(output.isTensor(), "forward() returns ", output.tagKind(), ", not one tensor");
    return output.toTensor();
  }

 private:
  torch::jit::Module module_;
};

}  // namespace

StatusOr<std::unique_ptr<OwnModule>> OpenScriptModule(const ModelConfig& config,
                                                      at::Device device) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(config.file, error)) {
    return NotFoundError(
        "model.file = {} is no file on this machine; each worker needs its own copy of it, and a "
        "relative path is taken from the folder where the worker was started",
        config.file);
  }
  INTERLUDE_ASSIGN_OR_RETURN(const Hash128 hash, HashFile(config.file));
  if (!config.file_hash.empty() && config.file_hash != hash.ToHex()) {
    return FailedPreconditionError(
        "model.file = {} hashes to {} here, the run's to {}; give all workers the same file",
        config.file, hash.ToHex(), config.file_hash);
  }
  try {
    torch::jit::Module module = torch::jit::load(config.file, device);
    if (!module.find_method("forward")) {
      return InvalidArgumentError("model.file = {}: the module has no forward()", config.file);
    }
    return std::unique_ptr<OwnModule>(std::make_unique<ScriptModule>(std::move(module)));
  } catch (const c10::Error& failure) {
    return InvalidArgumentError(
        "model.file = {} can't be read as TorchScript; write it with "
        "torch.jit.script(model).save(\"{}\"): {}",
        config.file, std::filesystem::path(config.file).filename().string(),
        failure.what_without_backtrace());
  }
}

}  // namespace interlude
