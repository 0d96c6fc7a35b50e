// How Hugging Face, timm and torchvision name the tensors of a vision transformer, beside our own
// names (which are Hugging Face's). Names only: no files, no values. Pure; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace interlude {

enum class WeightNaming : uint8_t {
  kHuggingFace,      // vit.encoder.layer.0...
  kHuggingFaceBare,  // encoder.layer.0..., as a model without a head is saved
  kTimm,             // blocks.0...
  kTorchvision,      // encoder.layers.encoder_layer_0...
};

/// "Hugging Face", "timm", ...
std::string_view NamingName(WeightNaming naming);

/// The naming of these tensors, told by their patch embedding; nothing when it is none of the four.
std::optional<WeightNaming> RecogniseNaming(std::span<const std::string_view> names);

/// Where one of our tensors lies.
struct WeightName {
  /// The first of these that a file has.
  std::vector<std::string> names;
  /// Query, key and value (0, 1, 2) lie in one tensor in this order, as a third each; -1: alone.
  int third = -1;
};

/// Of the tensor that ModelParameters calls `name`.
WeightName SourceOf(WeightNaming naming, const std::string& name);

/// Whether a tensor belongs to the classifier, in our naming.
bool IsHead(std::string_view name);

/// Whether a tensor of a file that the model has no use for may be left out and the model still
/// compute the same: classifiers, poolers, decoders of pre-training, mask tokens, positions'
/// numbers. Not so for anything that a layer or the embedding would use.
bool IsHarmless(std::string_view name);

}  // namespace interlude
