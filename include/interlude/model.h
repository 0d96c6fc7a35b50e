// Lets a worker train a torch::nn module of yours: register it under a name, then call WorkerMain
// (interlude/worker.h). The run's description says model.kind = "module" and model.module = that
// name. What becomes of parameters and buffers: docs/own-model.md.
#pragma once

#include <torch/nn/module.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>

namespace interlude {

/// What the run's description says of the pictures. A batch is fp32
/// [batch, channels, image_size, image_size]; the module's output is [batch, classes].
struct ModelShape {
  int64_t classes = 0;
  int64_t channels = 0;
  int64_t image_size = 0;
};

namespace internal {

struct AnyModule {
  std::shared_ptr<torch::nn::Module> module;
  std::function<at::Tensor(const at::Tensor&)> forward;
};

void AddModel(std::string name, std::function<AnyModule(const ModelShape&)> make);

}  // namespace internal

/// `make` takes a ModelShape and returns a std::shared_ptr of a torch::nn::Module with
/// `at::Tensor forward(at::Tensor)`. It is called once in each worker, with LibTorch's random
/// numbers begun from the run's seed, so that all workers begin alike. A second model of the same
/// name replaces the first. One thread, before WorkerMain.
template <typename Make>
void RegisterModel(std::string name, Make make) {
  internal::AddModel(std::move(name), [make](const ModelShape& shape) {
    auto module = make(shape);
    return internal::AnyModule{
        module, [module](const at::Tensor& images) { return module->forward(images); }};
  });
}

/// The same for a module that is made of a ModelShape: RegisterModel<Net>("net").
template <typename Module>
void RegisterModel(std::string name) {
  RegisterModel(std::move(name),
                [](const ModelShape& shape) { return std::make_shared<Module>(shape); });
}

}  // namespace interlude
