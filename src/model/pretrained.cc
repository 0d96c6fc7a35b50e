#include "model/pretrained.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "config/model_presets.h"
#include "model/hugging_face_config.h"
#include "model/position_grid.h"

namespace interlude {
namespace {

StatusOr<std::vector<std::string>> CheckAgainst(const HuggingFaceConfig& theirs,
                                                const ModelConfig& ours) {
  std::vector<std::string> notes;
  if (theirs.heads && *theirs.heads != ours.heads) {
    return InvalidArgumentError(
        "config.json beside it says num_attention_heads = {}, but model.heads = {}", *theirs.heads,
        ours.heads);
  }
  if (theirs.activation && *theirs.activation != "gelu" && *theirs.activation != "gelu_python") {
    return InvalidArgumentError(
        "config.json beside it says hidden_act = {:?}; this model has gelu alone",
        *theirs.activation);
  }
  if (theirs.layer_norm_epsilon && *theirs.layer_norm_epsilon != ours.layer_norm_epsilon) {
    notes.push_back(
        fmt::format("note: config.json beside it says layer_norm_eps = {}, and "
                    "model.layer_norm_epsilon is {}",
                    *theirs.layer_norm_epsilon, ours.layer_norm_epsilon));
  }
  return notes;
}

Status CheckFinite(const std::string& name, std::span<const float> values) {
  for (size_t i = 0; i < values.size(); ++i) {
    if (!std::isfinite(values[i])) {
      return DataLossError("tensor {} holds {} (value {} of what was read)", name, values[i], i);
    }
  }
  return OkStatus();
}

std::vector<SafetensorsEntry> EntriesOf(const SafetensorsSet& files) {
  std::vector<SafetensorsEntry> entries;
  for (const SafetensorsSet::Tensor& tensor : files.tensors()) entries.push_back(tensor.entry);
  return entries;
}

/// How many layers the names count, from 0 on.
uint32_t LayersIn(const SafetensorsSet& files, WeightNaming naming) {
  uint32_t layers = 0;
  const auto has = [&](uint32_t layer) {
    const std::string name = fmt::format("vit.encoder.layer.{}.layernorm_before.weight", layer);
    const std::vector<std::string> names = SourceOf(naming, name).names;
    return std::ranges::any_of(
        names, [&](const std::string& theirs) { return files.Find(theirs) != nullptr; });
  };
  while (has(layers)) ++layers;
  return layers;
}

/// Dimension `dimension` of what we call `name`; 0 when there is none.
uint32_t DimensionOf(const SafetensorsSet& files, WeightNaming naming, const std::string& name,
                     size_t dimension) {
  for (const std::string& theirs : SourceOf(naming, name).names) {
    const SafetensorsSet::Tensor* const tensor = files.Find(theirs);
    if (tensor == nullptr || tensor->entry.shape.size() <= dimension) continue;
    const int64_t size = tensor->entry.shape[dimension];
    if (size > 0 && size <= UINT32_MAX) return static_cast<uint32_t>(size);
  }
  return 0;
}

void TakePresetsName(ModelConfig& model) {
  for (const std::string& name : AllPresets()) {
    ModelConfig preset;
    ApplyPreset(name, preset);
    if (preset.hidden_size == model.hidden_size && preset.layers == model.layers &&
        preset.mlp_size == model.mlp_size && preset.patch_size == model.patch_size) {
      model.preset = name;
      model.heads = preset.heads;
    }
  }
}

}  // namespace

StatusOr<PretrainedWeights> PretrainedWeights::Open(const ModelConfig& config,
                                                    std::vector<ModelParameter> parameters) {
  PretrainedWeights weights;
  INTERLUDE_ASSIGN_OR_RETURN(weights.files_, SafetensorsSet::Open(config.pretrained));
  weights.entries_ = EntriesOf(weights.files_);
  weights.parameters_ = std::move(parameters);
  auto plan = PlanWeights(config, weights.parameters_, weights.entries_);
  if (!plan.ok()) return plan.status().WithContext("model.pretrained = " + config.pretrained);
  weights.plan_ = *std::move(plan);
  auto notes = CheckAgainst(ReadHuggingFaceConfig(weights.files_.path()), config);
  if (!notes.ok()) return notes.status().WithContext("model.pretrained = " + config.pretrained);
  weights.notes_ = *std::move(notes);
  return weights;
}

Status PretrainedWeights::Read(size_t index, std::span<float> values) const {
  const PlannedTensor& planned = plan_.tensors[index];
  const SafetensorsSet::Tensor& tensor = files_.tensors()[planned.source];
  Status status = planned.kind == PlannedTensor::Kind::kResized
                      ? ReadResized(planned, values)
                      : files_.Read(tensor, planned.first, values);
  if (status.ok()) status = CheckFinite(tensor.entry.name, values);
  return status.ok() ? status : status.WithContext("pretrained weights in " + files_.path());
}

// The class token's position stays what it is.
Status PretrainedWeights::ReadResized(const PlannedTensor& planned, std::span<float> values) const {
  const SafetensorsSet::Tensor& tensor = files_.tensors()[planned.source];
  const auto width = static_cast<size_t>(tensor.entry.shape[2]);
  std::vector<float> from(tensor.count);
  INTERLUDE_RETURN_IF_ERROR(files_.Read(tensor, 0, from));
  std::copy_n(from.begin(), width, values.begin());
  ResizeGrid(std::span(from).subspan(width), planned.from_side, values.subspan(width),
             planned.to_side, width);
  return OkStatus();
}

std::vector<std::string> PretrainedWeights::Report() const {
  std::vector<std::string> lines = DescribePlan(plan_, parameters_, entries_);
  lines.insert(lines.end(), notes_.begin(), notes_.end());
  return lines;
}

StatusOr<ModelConfig> ModelOf(const SafetensorsSet& files) {
  std::vector<std::string_view> names;
  for (const SafetensorsSet::Tensor& tensor : files.tensors()) names.push_back(tensor.entry.name);
  const auto naming = RecogniseNaming(names);
  if (!naming) return InvalidArgumentError("its names are not those of a vision transformer");
  const std::string projection = "vit.embeddings.patch_embeddings.projection.weight";
  const auto dimension = [&](const std::string& name, size_t i) {
    return DimensionOf(files, *naming, name, i);
  };
  ModelConfig model;
  model.hidden_size = dimension(projection, 0);
  model.channels = dimension(projection, 1);
  model.patch_size = dimension(projection, 2);
  model.layers = LayersIn(files, *naming);
  model.mlp_size = dimension("vit.encoder.layer.0.intermediate.dense.weight", 0);
  model.heads = std::max(1u, model.hidden_size / 64);
  const uint32_t tokens = dimension("vit.embeddings.position_embeddings", 1);
  const auto side = static_cast<uint32_t>(std::sqrt(tokens > 0 ? tokens - 1.0 : 0.0));
  model.image_size = side * model.patch_size;
  if (const uint32_t classes = dimension("classifier.weight", 0)) model.classes = classes;
  model.layer_norm_epsilon = 1e-6;
  TakePresetsName(model);
  const HuggingFaceConfig theirs = ReadHuggingFaceConfig(files.path());
  if (theirs.heads) model.heads = static_cast<uint32_t>(*theirs.heads);
  if (theirs.layer_norm_epsilon) model.layer_norm_epsilon = *theirs.layer_norm_epsilon;
  model.pretrained = files.path();
  return model;
}

}  // namespace interlude
