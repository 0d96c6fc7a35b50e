#include "model/model_parameters.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "base/rng.h"

namespace interlude {

namespace {

using Parameters = std::vector<ModelParameter>;

constexpr Initializer kZero{Initializer::Kind::kZero, 0.0f};
constexpr Initializer kOne{Initializer::Kind::kOne, 0.0f};
// Hugging Face's initializer_range. It suits the 768 inputs of ViT-Base's matrices; those with
// fewer or more inputs get what keeps the output's size the same.
constexpr float kVitDeviation = 0.02f;
constexpr float kVitInputs = 768.0f;

constexpr Initializer Bell(float deviation) { return {Initializer::Kind::kBell, deviation}; }

void Add(Parameters& parameters, std::string name, std::vector<int64_t> shape,
         Initializer initializer, bool decays) {
  parameters.push_back({.spec = {.name = std::move(name), .shape = std::move(shape)},
                        .initializer = initializer,
                        .decays = decays});
}

float VitDeviation(int64_t inputs) {
  return kVitDeviation * std::sqrt(kVitInputs / static_cast<float>(inputs));
}

void AddLinear(Parameters& parameters, const std::string& name, int64_t outputs, int64_t inputs) {
  Add(parameters, name + ".weight", {outputs, inputs}, Bell(VitDeviation(inputs)), true);
  Add(parameters, name + ".bias", {outputs}, kZero, false);
}

void AddNorm(Parameters& parameters, const std::string& name, int64_t size) {
  Add(parameters, name + ".weight", {size}, kOne, false);
  Add(parameters, name + ".bias", {size}, kZero, false);
}

void AddVitLayer(Parameters& parameters, const std::string& layer, int64_t hidden, int64_t mlp) {
  AddNorm(parameters, layer + "layernorm_before", hidden);
  for (const char* part : {"query", "key", "value"}) {
    Add(parameters, layer + "attention.attention." + part + ".weight", {hidden, hidden},
        Bell(VitDeviation(hidden)), true);
  }
  for (const char* part : {"query", "key", "value"}) {
    Add(parameters, layer + "attention.attention." + part + ".bias", {hidden}, kZero, false);
  }
  AddLinear(parameters, layer + "attention.output.dense", hidden, hidden);
  AddNorm(parameters, layer + "layernorm_after", hidden);
  AddLinear(parameters, layer + "intermediate.dense", mlp, hidden);
  AddLinear(parameters, layer + "output.dense", hidden, mlp);
}

Status CheckVit(const ModelConfig& config) {
  if (config.patch_size == 0 || config.image_size == 0 ||
      config.image_size % config.patch_size != 0) {
    return InvalidArgumentError("model.patch_size = {} does not divide model.image_size = {}",
                                config.patch_size, config.image_size);
  }
  if (config.heads == 0 || config.hidden_size == 0 || config.hidden_size % config.heads != 0) {
    return InvalidArgumentError("model.heads = {} does not divide model.hidden_size = {}",
                                config.heads, config.hidden_size);
  }
  return OkStatus();
}

StatusOr<Parameters> VitParameters(const ModelConfig& config) {
  INTERLUDE_RETURN_IF_ERROR(CheckVit(config));
  const int64_t hidden = config.hidden_size;
  const int64_t patch = config.patch_size;
  const int64_t patches_a_side = config.image_size / config.patch_size;
  Parameters parameters;
  Add(parameters, "vit.embeddings.cls_token", {1, 1, hidden}, Bell(kVitDeviation), false);
  Add(parameters, "vit.embeddings.position_embeddings",
      {1, patches_a_side * patches_a_side + 1, hidden}, Bell(kVitDeviation), false);
  Add(parameters, "vit.embeddings.patch_embeddings.projection.weight",
      {hidden, config.channels, patch, patch}, Bell(VitDeviation(config.channels * patch * patch)),
      true);
  Add(parameters, "vit.embeddings.patch_embeddings.projection.bias", {hidden}, kZero, false);
  for (uint32_t layer = 0; layer < config.layers; ++layer) {
    AddVitLayer(parameters, fmt::format("vit.encoder.layer.{}.", layer), hidden, config.mlp_size);
  }
  AddNorm(parameters, "vit.layernorm", hidden);
  AddLinear(parameters, "classifier", config.classes, hidden);
  return parameters;
}

// A layer before a rectifier: deviation sqrt(2 / inputs) keeps the signal's size (He et al. 2015,
// eq. 10).
void AddRectified(Parameters& parameters, const std::string& name, std::vector<int64_t> shape,
                  int64_t inputs) {
  const int64_t outputs = shape.front();
  Add(parameters, name + ".weight", std::move(shape),
      Bell(std::sqrt(2.0f / static_cast<float>(inputs))), true);
  Add(parameters, name + ".bias", {outputs}, kZero, false);
}

StatusOr<Parameters> ConvNetParameters(const ModelConfig& config) {
  constexpr int64_t kFilters1 = 16;
  constexpr int64_t kFilters2 = 32;
  constexpr int64_t kHidden = 128;
  if (config.image_size == 0 || config.image_size % 4 != 0) {
    return InvalidArgumentError(
        "model.image_size = {} is no multiple of 4, which the convnet needs", config.image_size);
  }
  const int64_t side = config.image_size / 4;
  const int64_t features = kFilters2 * side * side;
  Parameters parameters;
  AddRectified(parameters, "conv1", {kFilters1, config.channels, 3, 3},
               int64_t{config.channels} * 9);
  AddRectified(parameters, "conv2", {kFilters2, kFilters1, 3, 3}, kFilters1 * 9);
  AddRectified(parameters, "hidden", {kHidden, features}, features);
  AddLinear(parameters, "classifier", config.classes, kHidden);
  return parameters;
}

// Four uniform 16-bit numbers from one draw, added up: close to normal, and integers until the last
// product, so that no math library has a say in the bits.
float BellSample(Rng& rng, float deviation) {
  const uint64_t draw = rng();
  const auto sum = static_cast<int32_t>((draw & 0xffff) + (draw >> 16 & 0xffff) +
                                        (draw >> 32 & 0xffff) + (draw >> 48));
  constexpr int32_t kTwiceMean = 4 * 0xffff;
  // Of twice the sum: 2 * sqrt(4 * (2^32 - 1) / 12).
  constexpr float kTwiceDeviation = 75674.454f;
  return static_cast<float>(2 * sum - kTwiceMean) / kTwiceDeviation * deviation;
}

void Fill(const Initializer& initializer, uint64_t seed, std::span<float> values) {
  if (initializer.kind == Initializer::Kind::kBell) {
    Rng rng(seed);
    for (float& value : values) value = BellSample(rng, initializer.deviation);
    return;
  }
  std::ranges::fill(values, initializer.kind == Initializer::Kind::kOne ? 1.0f : 0.0f);
}

}  // namespace

StatusOr<std::vector<ModelParameter>> ModelParameters(const ModelConfig& config) {
  switch (config.kind) {
    case ModelKind::kVit:
      return VitParameters(config);
    case ModelKind::kConvNet:
      return ConvNetParameters(config);
    case ModelKind::kTorchScript:
    case ModelKind::kModule:
      return InvalidArgumentError(
          "the tensors of a model of your own are known to its workers alone");
    case ModelKind::kSynthetic:
      break;
  }
  return InvalidArgumentError("model.kind = \"synthetic\" has no tensors to train");
}

StatusOr<Layout> LayoutOf(const Parameters& parameters, uint64_t chunk_params) {
  std::vector<ParameterSpec> specs;
  for (const ModelParameter& parameter : parameters) specs.push_back(parameter.spec);
  return Layout::Create(std::move(specs), chunk_params);
}

StatusOr<Layout> ModelLayout(const RunConfig& config) {
  INTERLUDE_ASSIGN_OR_RETURN(const Parameters parameters, ModelParameters(config.model));
  return LayoutOf(parameters, config.round.chunk_params);
}

void InitializeTensor(const std::vector<ModelParameter>& parameters, size_t index, uint64_t seed,
                      std::span<float> values) {
  Fill(parameters[index].initializer, Mix64(seed ^ Mix64(index)), values);
}

void InitializeParameters(const std::vector<ModelParameter>& parameters, const Layout& layout,
                          uint64_t seed, std::span<float> values) {
  INTERLUDE_CHECK(values.size() == layout.total_params(), "{} values for {} parameters",
                  values.size(), layout.total_params());
  INTERLUDE_CHECK(parameters.size() == layout.parameters().size(), "{} tensors for a layout of {}",
                  parameters.size(), layout.parameters().size());
  for (size_t i = 0; i < parameters.size(); ++i) {
    const ParameterSpec& spec = layout.parameters()[i];
    InitializeTensor(parameters, i, seed, values.subspan(spec.offset, spec.count));
  }
}

}  // namespace interlude
