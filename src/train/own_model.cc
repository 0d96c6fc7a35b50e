#include "train/own_model.h"

#include <ATen/core/grad_mode.h>
#include <c10/util/Exception.h>

#include <algorithm>

#include "base/log.h"

namespace interlude {
namespace {

// One of the module's parameters that is trained, and the name of its place in the layout.
struct Trained {
  at::Tensor tensor;
  std::string place;
  bool is_first = false;  // of those in that place
};

// Tied weights: tensors over the same memory have one place.
std::vector<Trained> TrainedTensors(const OwnModule& module) {
  std::vector<Trained> all;
  for (const NamedTensor& named : module.Parameters()) {
    if (!named.tensor.requires_grad()) continue;
    const auto twin = std::ranges::find_if(all, [&](const Trained& other) {
      return other.tensor.data_ptr() == named.tensor.data_ptr() &&
             other.tensor.sizes() == named.tensor.sizes();
    });
    const bool is_first = twin == all.end();
    all.push_back({named.tensor, is_first ? named.name : twin->place, is_first});
  }
  return all;
}

StatusOr<std::vector<ModelParameter>> Describe(const OwnModule& module, const std::string& what) {
  std::vector<ModelParameter> parameters;
  for (const Trained& trained : TrainedTensors(module)) {
    if (trained.tensor.scalar_type() != at::kFloat) {
      return InvalidArgumentError(
          "{}: parameter {} is {}; parameters are trained and exchanged in fp32 only: call "
          ".float() on the model before it is exported",
          what, trained.place, c10::toString(trained.tensor.scalar_type()));
    }
    if (!trained.is_first) continue;
    parameters.push_back({.spec = {.name = trained.place, .shape = trained.tensor.sizes().vec()},
                          .initializer = {},
                          .decays = trained.tensor.dim() >= 2});
  }
  if (parameters.empty()) {
    return InvalidArgumentError(
        "{}: no parameter requires a gradient, so there is nothing to train (torch.jit.freeze "
        "makes constants of them)",
        what);
  }
  return parameters;
}

std::vector<at::Tensor> CopyBuffers(const OwnModule& module) {
  std::vector<at::Tensor> copies;
  for (const NamedTensor& named : module.Buffers()) copies.push_back(named.tensor.clone());
  return copies;
}

// Which of the buffers are not as they were; makes them so again.
std::vector<size_t> RestoreBuffers(const OwnModule& module, const std::vector<at::Tensor>& before) {
  std::vector<size_t> moved;
  const std::vector<NamedTensor> now = module.Buffers();
  for (size_t i = 0; i < now.size(); ++i) {
    if (at::equal(now[i].tensor, before[i])) continue;
    now[i].tensor.copy_(before[i]);
    moved.push_back(i);
  }
  return moved;
}

Status CheckLogits(const at::Tensor& logits, int64_t pictures, const ModelConfig& config,
                   const std::string& what) {
  if (logits.is_floating_point() &&
      logits.sizes() == at::IntArrayRef({pictures, int64_t{config.classes}})) {
    return OkStatus();
  }
  return InvalidArgumentError(
      "{}: gives {} [{}] for {} pictures; wanted is a float for each of model.classes = {}: [{}, "
      "{}]",
      what, c10::toString(logits.scalar_type()), fmt::join(logits.sizes(), ", "), pictures,
      config.classes, pictures, config.classes);
}

StatusOr<std::vector<size_t>> Try(OwnModule& module, const ModelConfig& config,
                                  const TrainDevice& device, const std::string& what) {
  constexpr int64_t kPictures = 2;
  const int64_t side = config.image_size;
  const at::NoGradGuard no_gradient;
  const int64_t channels = config.channels;
  // Not of one color, which a filter without bias turns to 0, where statistics begin.
  const at::Tensor pictures = at::arange(kPictures * channels * side * side,
                                         at::TensorOptions(at::kFloat).device(device.device))
                                  .sin()
                                  .view({kPictures, channels, side, side});
  const std::vector<at::Tensor> buffers = CopyBuffers(module);
  for (const bool training : {false, true}) {
    try {
      module.SetTraining(training);
      const at::Tensor logits = module.Forward(pictures);
      INTERLUDE_RETURN_IF_ERROR(CheckLogits(logits, kPictures, config, what));
    } catch (const std::exception& failure) {
      const auto* own = dynamic_cast<const c10::Error*>(&failure);
      return InvalidArgumentError("{}: fails on {} pictures of {} x {} x {} ({}): {}", what,
                                  kPictures, config.channels, side, side,
                                  training ? "training" : "scoring",
                                  own != nullptr ? own->what_without_backtrace() : failure.what());
    }
  }
  return RestoreBuffers(module, buffers);
}

class BoundModel final : public Model {
 public:
  explicit BoundModel(OpenedModel own) : own_(std::move(own)) {}

  // The module's own random numbers are LibTorch's, which begin anew with each step's noise.
  at::Tensor Forward(const at::Tensor& images, StepNoise* noise) const override {
    if (noise != nullptr) noise->SeedLibTorch();
    own_.module->SetTraining(noise != nullptr);
    return own_.module->Forward(images);
  }

  std::vector<at::Tensor> Statistics() const override {
    const std::vector<NamedTensor> buffers = own_.module->Buffers();
    std::vector<at::Tensor> statistics;
    for (const size_t i : own_.statistics) statistics.push_back(buffers[i].tensor);
    return statistics;
  }

 private:
  const OpenedModel own_;
};

std::string What(const ModelConfig& config) {
  return config.kind == ModelKind::kTorchScript
             ? fmt::format("model.file = {}", config.file)
             : fmt::format("model.module = \"{}\"", config.module);
}

void LogModel(const OpenedModel& own, const std::string& what) {
  const std::vector<NamedTensor> parameters = own.module->Parameters();
  const auto frozen = std::ranges::count_if(
      parameters, [](const NamedTensor& named) { return !named.tensor.requires_grad(); });
  LogInfo("{}: {} tensors are trained; {} that require no gradient and {} buffers stay here", what,
          own.tensors.size(), frozen, own.module->Buffers().size());
}

}  // namespace

StatusOr<std::unique_ptr<OwnModule>> OpenOwnModule(const RunConfig& config, at::Device device) {
  if (config.model.kind == ModelKind::kTorchScript) return OpenScriptModule(config.model, device);
  if (config.model.kind == ModelKind::kModule) return MakeRegisteredModule(config, device);
  return std::unique_ptr<OwnModule>();
}

StatusOr<OpenedModel> OpenModel(const RunConfig& config, const TrainDevice& device) {
  OpenedModel opened;
  INTERLUDE_ASSIGN_OR_RETURN(opened.module, OpenOwnModule(config, device.device));
  if (opened.module == nullptr) {
    INTERLUDE_ASSIGN_OR_RETURN(opened.tensors, ModelParameters(config.model));
    return opened;
  }
  const std::string what = What(config.model);
  INTERLUDE_ASSIGN_OR_RETURN(opened.tensors, Describe(*opened.module, what));
  INTERLUDE_ASSIGN_OR_RETURN(opened.statistics, Try(*opened.module, config.model, device, what));
  LogModel(opened, what);
  return opened;
}

std::unique_ptr<Model> BindModel(const ModelConfig& config, OpenedModel model,
                                 FlatParameters& parameters) {
  if (model.module == nullptr) return CreateModel(config, parameters);
  const at::NoGradGuard no_gradient;
  for (Trained& trained : TrainedTensors(*model.module)) {
    const at::Tensor leaf = parameters.Leaf(trained.place);
    if (trained.is_first) leaf.copy_(trained.tensor);
    trained.tensor.set_data(leaf.detach());
    trained.tensor.mutable_grad() = leaf.grad();
  }
  return std::make_unique<BoundModel>(std::move(model));
}

}  // namespace interlude
