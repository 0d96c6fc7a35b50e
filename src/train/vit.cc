// Vision transformer (Dosovitskiy et al. 2021): patches to vectors, a class token before them,
// layers that normalise before attention and before the two-layer perceptron, a classifier on the
// class token. Dropout after the embedding and after every layer but query, key and value, as
// there; stochastic depth (Huang et al. 2016) drops whole branches of a sample, in later layers
// more often.

#include <cmath>

#include "train/models.h"

namespace interlude {

namespace {

struct Affine {
  at::Tensor weight;
  at::Tensor bias;
};

struct VitLayer {
  Affine norm_before;
  Affine query_key_value;  // the three side by side: [3 * hidden, hidden]
  Affine attention_output;
  Affine norm_after;
  Affine intermediate;
  Affine output;
};

Affine Leaves(FlatParameters& parameters, const std::string& name, at::IntArrayRef weight_shape) {
  return {parameters.Leaf(name + ".weight", weight_shape),
          parameters.Leaf(name + ".bias", weight_shape[0])};
}

VitLayer LayerLeaves(const ModelConfig& config, FlatParameters& parameters,
                     const std::string& layer) {
  const int64_t hidden = config.hidden_size;
  const int64_t mlp = config.mlp_size;
  return {
      .norm_before = Leaves(parameters, layer + "layernorm_before", hidden),
      .query_key_value =
          Leaves(parameters, layer + "attention.attention.query", {3 * hidden, hidden}),
      .attention_output = Leaves(parameters, layer + "attention.output.dense", {hidden, hidden}),
      .norm_after = Leaves(parameters, layer + "layernorm_after", hidden),
      .intermediate = Leaves(parameters, layer + "intermediate.dense", {mlp, hidden}),
      .output = Leaves(parameters, layer + "output.dense", {hidden, mlp})};
}

class Vit final : public Model {
 public:
  Vit(const ModelConfig& config, FlatParameters& parameters)
      : epsilon_(config.layer_norm_epsilon),
        dropout_(config.dropout),
        stochastic_depth_(config.stochastic_depth),
        hidden_(config.hidden_size),
        heads_(config.heads),
        patch_(config.patch_size),
        patch_values_(int64_t{config.channels} * patch_ * patch_) {
    const int64_t side = config.image_size / config.patch_size;
    class_token_ = parameters.Leaf("vit.embeddings.cls_token", {1, 1, hidden_});
    positions_ =
        parameters.Leaf("vit.embeddings.position_embeddings", {1, side * side + 1, hidden_});
    projection_ =
        Leaves(parameters, "vit.embeddings.patch_embeddings.projection", {hidden_, patch_values_});
    for (uint32_t i = 0; i < config.layers; ++i) {
      layers_.push_back(
          LayerLeaves(config, parameters, "vit.encoder.layer." + std::to_string(i) + "."));
    }
    norm_ = Leaves(parameters, "vit.layernorm", hidden_);
    classifier_ = Leaves(parameters, "classifier", {config.classes, hidden_});
  }

  at::Tensor Forward(const at::Tensor& images, StepNoise* noise) const override {
    at::Tensor x = Drop(Embed(images), noise);
    const int64_t batch = x.size(0);
    const int64_t tokens = x.size(1);
    x = x.reshape({batch * tokens, hidden_});
    for (size_t i = 0; i < layers_.size(); ++i) {
      const VitLayer& layer = layers_[i];
      const at::Tensor mixed = Attend(Normalise(x, layer.norm_before), layer, batch, tokens);
      x = x + SkipSome(Drop(mixed, noise), i, batch, noise);
      const at::Tensor inner = at::gelu(Apply(layer.intermediate, Normalise(x, layer.norm_after)));
      const at::Tensor output = Apply(layer.output, Drop(inner, noise));
      x = x + SkipSome(Drop(output, noise), i, batch, noise);
    }
    const at::Tensor first = x.view({batch, tokens, hidden_}).select(1, 0);
    return Apply(classifier_, Normalise(first, norm_));
  }

 private:
  static at::Tensor Apply(const Affine& affine, const at::Tensor& x) {
    return at::linear(x, affine.weight, affine.bias);
  }

  at::Tensor Drop(const at::Tensor& x, StepNoise* noise) const {
    if (noise == nullptr || dropout_ == 0) return x;
    return x * noise->Mask(x.sizes(), 1 - dropout_, x);
  }

  // What a branch of layer `layer` adds to `batch` samples that stand one after the other.
  at::Tensor SkipSome(const at::Tensor& branch, size_t layer, int64_t batch,
                      StepNoise* noise) const {
    if (noise == nullptr || stochastic_depth_ == 0 || layer == 0) return branch;
    const double rate =
        stochastic_depth_ * static_cast<double>(layer) / static_cast<double>(layers_.size() - 1);
    const at::Tensor mask = noise->Mask({batch, 1, 1}, 1 - rate, branch);
    return (branch.view({batch, -1, hidden_}) * mask).view({-1, hidden_});
  }

  at::Tensor Normalise(const at::Tensor& x, const Affine& norm) const {
    return at::layer_norm(x, {hidden_}, norm.weight, norm.bias, epsilon_);
  }

  // A convolution whose stride is its size is one matrix product over the cut-out patches.
  at::Tensor Embed(const at::Tensor& images) const {
    const int64_t batch = images.size(0);
    const int64_t rows = images.size(2) / patch_;
    const int64_t columns = images.size(3) / patch_;
    const at::Tensor patches = images.view({batch, images.size(1), rows, patch_, columns, patch_})
                                   .permute({0, 2, 4, 1, 3, 5})
                                   .reshape({batch, rows * columns, patch_values_});
    const at::Tensor embedded = Apply(projection_, patches);
    return at::cat({class_token_.expand({batch, 1, hidden_}), embedded}, 1) + positions_;
  }

  at::Tensor Attend(const at::Tensor& x, const VitLayer& layer, int64_t batch,
                    int64_t tokens) const {
    const int64_t head_size = hidden_ / heads_;
    const std::vector<at::Tensor> parts = Apply(layer.query_key_value, x)
                                              .view({batch, tokens, 3, heads_, head_size})
                                              .permute({2, 0, 3, 1, 4})
                                              .unbind(0);
    const at::Tensor query = parts[0] * (1.0 / std::sqrt(static_cast<double>(head_size)));
    const at::Tensor scores = at::matmul(query, parts[1].transpose(2, 3));
    const at::Tensor mixed = at::matmul(at::softmax(scores, -1), parts[2]);
    return Apply(layer.attention_output, mixed.transpose(1, 2).reshape({batch * tokens, hidden_}));
  }

  double epsilon_;
  double dropout_;
  double stochastic_depth_;
  int64_t hidden_;
  int64_t heads_;
  int64_t patch_;
  int64_t patch_values_;
  at::Tensor class_token_;
  at::Tensor positions_;
  Affine projection_;
  std::vector<VitLayer> layers_;
  Affine norm_;
  Affine classifier_;
};

}  // namespace

std::unique_ptr<Model> CreateVit(const ModelConfig& config, FlatParameters& parameters) {
  return std::make_unique<Vit>(config, parameters);
}

}  // namespace interlude
