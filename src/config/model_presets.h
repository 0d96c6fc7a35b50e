// The vision transformers of the literature by name: ViT-Ti, S, B, L and H with patches of 8, 14,
// 16 or 32 pixels. Immutable; any thread.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/run_config.h"

namespace interlude {

/// "vit_ti8", ..., "vit_h32", from the smallest on.
std::span<const std::string> AllPresets();

/// Sets what the preset `name` says: kind, image_size (224), channels (3), patch_size, hidden_size,
/// layers, heads, mlp_size and layer_norm_epsilon (1e-6), and the name. False, and nothing is
/// changed, for a name that is none.
bool ApplyPreset(std::string_view name, ModelConfig& config);

}  // namespace interlude
