#include "config/model_presets.h"

#include <fmt/format.h>

#include <array>

namespace interlude {
namespace {

struct Width {
  std::string_view name;
  uint32_t hidden_size;
  uint32_t layers;
  uint32_t heads;
};

// Dosovitskiy et al. 2021, table 1; Ti and S as in Touvron et al. 2021, table 1. In all of them the
// MLP is four times as wide.
constexpr std::array<Width, 5> kWidths = {{{"ti", 192, 12, 3},
                                           {"s", 384, 12, 6},
                                           {"b", 768, 12, 12},
                                           {"l", 1024, 24, 16},
                                           {"h", 1280, 32, 16}}};
constexpr std::array<uint32_t, 4> kPatches = {8, 14, 16, 32};

std::string PresetName(const Width& width, uint32_t patch) {
  return fmt::format("vit_{}{}", width.name, patch);
}

}  // namespace

std::span<const std::string> AllPresets() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (const Width& width : kWidths) {
      for (const uint32_t patch : kPatches) all.push_back(PresetName(width, patch));
    }
    return all;
  }();
  return names;
}

bool ApplyPreset(std::string_view name, ModelConfig& config) {
  for (const Width& width : kWidths) {
    for (const uint32_t patch : kPatches) {
      if (PresetName(width, patch) != name) continue;
      config.preset = name;
      config.kind = ModelKind::kVit;
      config.image_size = 224;
      config.channels = 3;
      config.patch_size = patch;
      config.hidden_size = width.hidden_size;
      config.layers = width.layers;
      config.heads = width.heads;
      config.mlp_size = 4 * width.hidden_size;
      config.layer_norm_epsilon = 1e-6;
      return true;
    }
  }
  return false;
}

}  // namespace interlude
