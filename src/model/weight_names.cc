#include "model/weight_names.h"

#include <algorithm>
#include <array>
#include <utility>

namespace interlude {
namespace {

constexpr std::string_view kVit = "vit.";
constexpr std::string_view kLayer = "vit.encoder.layer.";
constexpr std::string_view kPatch = "patch_embeddings.projection.weight";

using Pair = std::pair<std::string_view, std::string_view>;  // ours, theirs

// Outside of the layers: the begin of a name; inside: the end but for .weight and .bias.
constexpr std::array<Pair, 5> kTimmOuter = {
    {{"vit.embeddings.cls_token", "cls_token"},
     {"vit.embeddings.position_embeddings", "pos_embed"},
     {"vit.embeddings.patch_embeddings.projection.", "patch_embed.proj."},
     {"vit.layernorm.", "norm."},
     {"classifier.", "head."}}};
constexpr std::array<Pair, 8> kTimmInner = {{{"layernorm_before", "norm1"},
                                             {"attention.attention.query", "attn.qkv"},
                                             {"attention.attention.key", "attn.qkv"},
                                             {"attention.attention.value", "attn.qkv"},
                                             {"attention.output.dense", "attn.proj"},
                                             {"layernorm_after", "norm2"},
                                             {"intermediate.dense", "mlp.fc1"},
                                             {"output.dense", "mlp.fc2"}}};
constexpr std::array<Pair, 5> kTorchvisionOuter = {
    {{"vit.embeddings.cls_token", "class_token"},
     {"vit.embeddings.position_embeddings", "encoder.pos_embedding"},
     {"vit.embeddings.patch_embeddings.projection.", "conv_proj."},
     {"vit.layernorm.", "encoder.ln."},
     {"classifier.", "heads.head."}}};
// in_proj_weight has no dot; the MLP's layers were called linear_1 and linear_2 at first.
constexpr std::array<Pair, 10> kTorchvisionInner = {
    {{"layernorm_before", "ln_1"},
     {"attention.attention.query", "self_attention.in_proj_"},
     {"attention.attention.key", "self_attention.in_proj_"},
     {"attention.attention.value", "self_attention.in_proj_"},
     {"attention.output.dense", "self_attention.out_proj"},
     {"layernorm_after", "ln_2"},
     {"intermediate.dense", "mlp.0"},
     {"intermediate.dense", "mlp.linear_1"},
     {"output.dense", "mlp.3"},
     {"output.dense", "mlp.linear_2"}}};

int ThirdOf(std::string_view inner) {
  if (inner == "attention.attention.query") return 0;
  if (inner == "attention.attention.key") return 1;
  return inner == "attention.attention.value" ? 2 : -1;
}

// "vit.encoder.layer.3.output.dense.weight": the number, what it is, and the last word.
struct Inner {
  std::string number;
  std::string_view what;
  std::string_view last;
};

std::optional<Inner> SplitInner(std::string_view name) {
  if (!name.starts_with(kLayer)) return std::nullopt;
  const std::string_view rest = name.substr(kLayer.size());
  const size_t dot = rest.find('.');
  const size_t last = rest.rfind('.');
  if (dot == rest.npos || last <= dot) return std::nullopt;
  return Inner{std::string(rest.substr(0, dot)), rest.substr(dot + 1, last - dot - 1),
               rest.substr(last + 1)};
}

WeightName Translate(std::string_view name, std::string_view layer, std::span<const Pair> outer,
                     std::span<const Pair> inner) {
  WeightName source;
  if (const auto split = SplitInner(name)) {
    source.third = ThirdOf(split->what);
    for (const auto& [ours, theirs] : inner) {
      if (ours != split->what) continue;
      std::string full = std::string(layer) + split->number + "." + std::string(theirs);
      if (!theirs.ends_with('_')) full += '.';
      source.names.push_back(full + std::string(split->last));
    }
    return source;
  }
  for (const auto& [ours, theirs] : outer) {
    if (name.starts_with(ours)) {
      source.names.push_back(std::string(theirs) + std::string(name.substr(ours.size())));
    }
  }
  return source;
}

}  // namespace

std::string_view NamingName(WeightNaming naming) {
  switch (naming) {
    case WeightNaming::kHuggingFace:
      return "Hugging Face";
    case WeightNaming::kHuggingFaceBare:
      return "Hugging Face without \"vit.\"";
    case WeightNaming::kTimm:
      return "timm";
    case WeightNaming::kTorchvision:
      return "torchvision";
  }
  return "unknown";
}

std::optional<WeightNaming> RecogniseNaming(std::span<const std::string_view> names) {
  const auto has = [&](const std::string& name) {
    return std::ranges::find(names, name) != names.end();
  };
  if (has("vit.embeddings." + std::string(kPatch))) return WeightNaming::kHuggingFace;
  if (has("embeddings." + std::string(kPatch))) return WeightNaming::kHuggingFaceBare;
  if (has("patch_embed.proj.weight")) return WeightNaming::kTimm;
  if (has("conv_proj.weight")) return WeightNaming::kTorchvision;
  return std::nullopt;
}

WeightName SourceOf(WeightNaming naming, const std::string& name) {
  switch (naming) {
    case WeightNaming::kHuggingFace:
      return {.names = {name}};
    case WeightNaming::kHuggingFaceBare:
      return {.names = {name.starts_with(kVit) ? name.substr(kVit.size()) : name}};
    case WeightNaming::kTimm:
      return Translate(name, "blocks.", kTimmOuter, kTimmInner);
    case WeightNaming::kTorchvision:
      return Translate(name, "encoder.layers.encoder_layer_", kTorchvisionOuter, kTorchvisionInner);
  }
  return {};
}

bool IsHead(std::string_view name) { return name.starts_with("classifier."); }

bool IsHarmless(std::string_view name) {
  constexpr std::array<std::string_view, 10> kBegins = {
      "classifier.", "head.",       "heads.",   "head_dist.",   "pre_logits.",
      "pooler.",     "vit.pooler.", "decoder.", "vit.decoder.", "fc."};
  constexpr std::array<std::string_view, 2> kEnds = {"mask_token", "position_ids"};
  return std::ranges::any_of(kBegins, [&](auto begin) { return name.starts_with(begin); }) ||
         std::ranges::any_of(kEnds, [&](auto end) { return name.ends_with(end); });
}

}  // namespace interlude
