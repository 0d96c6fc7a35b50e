#include "model/hugging_face_config.h"

#include <filesystem>
#include <fstream>

#include "store/strict_json.h"

namespace interlude {

HuggingFaceConfig ReadHuggingFaceConfig(const std::string& weights_path) {
  constexpr size_t kMostBytes = 1u << 20;
  HuggingFaceConfig config;
  std::ifstream in(std::filesystem::path(weights_path).parent_path() / "config.json",
                   std::ios::binary);
  if (!in) return config;
  std::string text(kMostBytes, ' ');
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<size_t>(in.gcount()));
  const auto json = ParseStrictJson(text);
  if (!json.ok()) return config;
  if (const auto it = json->find("num_attention_heads");
      it != json->end() && it->is_number_unsigned()) {
    config.heads = it->get<uint64_t>();
  }
  if (const auto it = json->find("layer_norm_eps"); it != json->end() && it->is_number()) {
    config.layer_norm_epsilon = it->get<double>();
  }
  if (const auto it = json->find("hidden_act"); it != json->end() && it->is_string()) {
    config.activation = it->get<std::string>();
  }
  return config;
}

}  // namespace interlude
