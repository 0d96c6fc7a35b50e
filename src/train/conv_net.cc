// Two 3 x 3 convolutions with pooling, a hidden layer, a classifier: small enough for a test on one
// core.

#include "train/models.h"

namespace interlude {

namespace {

struct Layer {
  Layer(FlatParameters& parameters, const std::string& name)
      : weight(parameters.Leaf(name + ".weight")), bias(parameters.Leaf(name + ".bias")) {}
  at::Tensor weight;
  at::Tensor bias;
};

class ConvNet final : public Model {
 public:
  explicit ConvNet(FlatParameters& parameters)
      : conv1_(parameters, "conv1"),
        conv2_(parameters, "conv2"),
        hidden_(parameters, "hidden"),
        classifier_(parameters, "classifier") {}

  at::Tensor Forward(const at::Tensor& images, StepNoise*) const override {
    at::Tensor x = Convolve(images, conv1_);
    x = Convolve(x, conv2_);
    x = at::linear(x.flatten(1), hidden_.weight, hidden_.bias).relu();
    return at::linear(x, classifier_.weight, classifier_.bias);
  }

 private:
  static at::Tensor Convolve(const at::Tensor& x, const Layer& layer) {
    const at::Tensor filtered =
        at::conv2d(x, layer.weight, layer.bias, /*stride=*/1, /*padding=*/1);
    return at::max_pool2d(filtered, /*kernel_size=*/2).relu();
  }

  Layer conv1_;
  Layer conv2_;
  Layer hidden_;
  Layer classifier_;
};

}  // namespace

std::unique_ptr<Model> CreateConvNet(FlatParameters& parameters) {
  return std::make_unique<ConvNet>(parameters);
}

}  // namespace interlude
