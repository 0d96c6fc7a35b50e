// What a config.json of Hugging Face beside a model's weights says of what no tensor's shape tells.
// Any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace interlude {

struct HuggingFaceConfig {
  std::optional<uint64_t> heads;
  std::optional<double> layer_norm_epsilon;
  std::optional<std::string> activation;
};

/// Of config.json in the directory of `weights_path`. Empty where there is none, it cannot be read
/// or says nothing of it.
HuggingFaceConfig ReadHuggingFaceConfig(const std::string& weights_path);

}  // namespace interlude
