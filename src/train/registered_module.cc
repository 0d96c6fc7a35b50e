// Models that the worker's program has registered: one list for the process.
#include <ATen/Context.h>

#include <map>

#include "interlude/model.h"
#include "train/own_module.h"

namespace interlude {
namespace {

using Make = std::function<internal::AnyModule(const ModelShape&)>;

std::map<std::string, Make>& Registry() {
  static std::map<std::string, Make> models;
  return models;
}

std::string KnownNames() {
  std::string names;
  for (const auto& [name, make] : Registry())
    names += fmt::format("{}\"{}\"", names.empty() ? "" : ", ", name);
  return names.empty() ? "none: interlude-worker has no models but its own" : names;
}

class RegisteredModule final : public OwnModule {
 public:
  explicit RegisteredModule(internal::AnyModule any) : any_(std::move(any)) {}

  std::vector<NamedTensor> Parameters() const override {
    std::vector<NamedTensor> named;
    for (const auto& entry : any_.module->named_parameters())
      named.push_back({entry.key(), entry.value()});
    return named;
  }

  std::vector<NamedTensor> Buffers() const override {
    std::vector<NamedTensor> named;
    for (const auto& entry : any_.module->named_buffers())
      named.push_back({entry.key(), entry.value()});
    return named;
  }

  void SetTraining(bool on) override { any_.module->train(on); }

  at::Tensor Forward(const at::Tensor& images) override { return any_.forward(images); }

 private:
  internal::AnyModule any_;
};

}  // namespace

namespace internal {

void AddModel(std::string name, std::function<AnyModule(const ModelShape&)> make) {
  Registry().insert_or_assign(std::move(name), std::move(make));
}

}  // namespace internal

StatusOr<std::unique_ptr<OwnModule>> MakeRegisteredModule(const RunConfig& config,
                                                          at::Device device) {
  const auto found = Registry().find(config.model.module);
  if (found == Registry().end()) {
    return NotFoundError(
        "model.module = \"{}\" is not registered in this program; registered: {}; start the worker "
        "program that registers it (docs/own-model.md)",
        config.model.module, KnownNames());
  }
  at::manual_seed(config.seed);
  const ModelShape shape{.classes = config.model.classes,
                         .channels = config.model.channels,
                         .image_size = config.model.image_size};
  internal::AnyModule any = found->second(shape);
  if (any.module == nullptr) {
    return InvalidArgumentError("model.module = \"{}\": its function gives no module",
                                config.model.module);
  }
  any.module->to(device);
  return std::unique_ptr<OwnModule>(std::make_unique<RegisteredModule>(std::move(any)));
}

}  // namespace interlude
