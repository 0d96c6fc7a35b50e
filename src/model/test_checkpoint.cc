#include "model/test_checkpoint.h"

#include <fmt/ranges.h>

#include <bit>
#include <cmath>
#include <fstream>

#include "base/check.h"
#include "base/rng.h"
#include "model/model_parameters.h"
#include "store/safetensors.h"

namespace interlude {
namespace {

/// Replaces the first `from` that is found by its partner.
std::string Replaced(std::string name,
                     const std::vector<std::pair<std::string, std::string>>& words) {
  for (const auto& [from, to] : words) {
    if (const size_t at = name.find(from); at != std::string::npos)
      name.replace(at, from.size(), to);
  }
  return name;
}

std::string TimmName(const std::string& ours) {
  return Replaced(ours, {{"vit.embeddings.position_embeddings", "pos_embed"},
                         {"vit.embeddings.patch_embeddings.projection", "patch_embed.proj"},
                         {"vit.embeddings.", ""},
                         {"vit.encoder.layer", "blocks"},
                         {"attention.attention.query", "attn.qkv"},
                         {"attention.output.dense", "attn.proj"},
                         {"intermediate.dense", "mlp.fc1"},
                         {"output.dense", "mlp.fc2"},
                         {"layernorm_before", "norm1"},
                         {"layernorm_after", "norm2"},
                         {"vit.layernorm", "norm"},
                         {"classifier", "head"}});
}

std::string TorchvisionName(const std::string& ours) {
  return Replaced(ours, {{"vit.embeddings.position_embeddings", "encoder.pos_embedding"},
                         {"vit.embeddings.patch_embeddings.projection", "conv_proj"},
                         {"vit.embeddings.cls_token", "class_token"},
                         {"vit.encoder.layer.", "encoder.layers.encoder_layer_"},
                         {"attention.attention.query.", "self_attention.in_proj_"},
                         {"attention.output.dense", "self_attention.out_proj"},
                         {"intermediate.dense", "mlp.0"},
                         {"output.dense", "mlp.3"},
                         {"layernorm_before", "ln_1"},
                         {"layernorm_after", "ln_2"},
                         {"vit.layernorm", "encoder.ln"},
                         {"classifier", "heads.head"}});
}

std::string NameIn(WeightNaming naming, const std::string& ours) {
  switch (naming) {
    case WeightNaming::kHuggingFace:
      break;
    case WeightNaming::kHuggingFaceBare:
      return Replaced(ours, {{"vit.", ""}});
    case WeightNaming::kTimm:
      return TimmName(ours);
    case WeightNaming::kTorchvision:
      return TorchvisionName(ours);
  }
  return ours;
}

uint16_t Half(float value, bool brain) {
  const auto bits = std::bit_cast<uint32_t>(value);
  if (brain) return static_cast<uint16_t>(bits >> 16);
  const uint32_t exponent = bits >> 23 & 0xff;
  INTERLUDE_CHECK(value == 0 || (exponent > 112 && exponent < 143), "{} is not normal", value);
  const uint32_t low = value == 0 ? 0 : (exponent - 112) << 10 | (bits >> 13 & 0x3ff);
  return static_cast<uint16_t>(bits >> 31 << 15 | low);
}

std::string HeaderOf(const std::vector<CheckpointTensor>& tensors, const std::string& dtype) {
  const size_t value_bytes = dtype == "F32" ? 4 : 2;
  std::string header = R"({"__metadata__":{"format":"pt"})";
  size_t begin = 0;
  for (const CheckpointTensor& tensor : tensors) {
    const size_t end = begin + ValuesOf(tensor.shape) * value_bytes;
    header += fmt::format(R"(,"{}":{{"dtype":"{}","shape":[{}],"data_offsets":[{},{}]}})",
                          tensor.name, dtype, fmt::join(tensor.shape, ","), begin, end);
    begin = end;
  }
  return header + "}";
}

}  // namespace

void FillCheckpointValues(size_t index, uint64_t seed, std::span<float> values) {
  Rng rng(Mix64(seed ^ Mix64(index + 1000)));
  for (float& value : values) {
    value = (rng.Uniform() - 0.5f) * 0.1f;
    if (std::abs(value) < 1e-4f) value = 0;  // fp16 has fewer digits there
  }
}

std::vector<CheckpointTensor> CheckpointTensors(WeightNaming naming, const ModelConfig& config,
                                                uint64_t seed) {
  const std::vector<ModelParameter> ours = ModelParameters(config).value();
  const bool joined = naming == WeightNaming::kTimm || naming == WeightNaming::kTorchvision;
  std::vector<CheckpointTensor> tensors;
  for (size_t i = 0; i < ours.size(); ++i) {
    const ParameterSpec& spec = ours[i].spec;
    const bool is_query = spec.name.find(".query.") != std::string::npos;
    const bool is_later = spec.name.find(".key.") != std::string::npos ||
                          spec.name.find(".value.") != std::string::npos;
    if (joined && is_later) continue;
    CheckpointTensor tensor{.name = NameIn(naming, spec.name), .shape = spec.shape};
    const size_t parts = joined && is_query ? 3 : 1;
    tensor.shape[0] *= static_cast<int64_t>(parts);
    // The weights of query, key and value follow one another, and so do their biases.
    tensor.fill = [i, seed, parts](std::span<float> values) {
      const size_t count = values.size() / parts;
      for (size_t part = 0; part < parts; ++part) {
        FillCheckpointValues(i + part, seed, values.subspan(part * count, count));
      }
    };
    tensors.push_back(std::move(tensor));
  }
  return tensors;
}

void WriteCheckpoint(const std::string& path, const std::vector<CheckpointTensor>& tensors,
                     const std::string& dtype) {
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  const std::string header = HeaderOf(tensors, dtype);
  const uint64_t header_bytes = header.size();
  out.write(reinterpret_cast<const char*>(&header_bytes), sizeof(header_bytes));
  out << header;
  for (const CheckpointTensor& tensor : tensors) {
    std::vector<float> values(ValuesOf(tensor.shape));
    tensor.fill(values);
    if (dtype == "F32") {
      out.write(reinterpret_cast<const char*>(values.data()),
                static_cast<std::streamsize>(values.size() * sizeof(float)));
      continue;
    }
    std::vector<uint16_t> halves;
    for (const float value : values) halves.push_back(Half(value, dtype == "BF16"));
    out.write(reinterpret_cast<const char*>(halves.data()),
              static_cast<std::streamsize>(halves.size() * sizeof(uint16_t)));
  }
  INTERLUDE_CHECK(out.flush().good(), "cannot write {}", path);
}

}  // namespace interlude
