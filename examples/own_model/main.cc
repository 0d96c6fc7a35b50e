// A worker that trains a module of its own. README.md beside it says how to build and use it.
#include <interlude/model.h>
#include <interlude/worker.h>
#include <torch/nn/modules/batchnorm.h>
#include <torch/nn/modules/linear.h>

struct Net : torch::nn::Module {
  explicit Net(const interlude::ModelShape& shape)
      : pixels(shape.channels * shape.image_size * shape.image_size),
        hidden(register_module("hidden", torch::nn::Linear(pixels, 32))),
        norm(register_module("norm", torch::nn::BatchNorm1d(32))),
        head(register_module("head", torch::nn::Linear(32, shape.classes))) {}

  at::Tensor forward(const at::Tensor& pictures) {
    return head(norm(hidden(pictures.reshape({-1, pixels}))).relu());
  }

  int64_t pixels;
  torch::nn::Linear hidden;
  torch::nn::BatchNorm1d norm;
  torch::nn::Linear head;
};

int main(int argc, char** argv) {
  interlude::RegisterModel<Net>("net");
  return interlude::WorkerMain(argc, argv);
}
