#include "train/layer_depth.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string_view>

#include "base/parse_number.h"

namespace interlude {

namespace {

// The number of the layer that `name` belongs to: the part of it after one of these words.
std::optional<uint32_t> LayerNumber(std::string_view name) {
  std::string_view before;
  while (!name.empty()) {
    const std::string_view part = name.substr(0, name.find('.'));
    if (before == "layer" || before == "layers" || before == "block" || before == "blocks") {
      if (const auto number = ParseNumber<uint32_t>(part)) return number;
    }
    before = part;
    name.remove_prefix(std::min(name.size(), part.size() + 1));
  }
  return std::nullopt;
}

std::vector<uint32_t> DepthsByModule(const std::vector<std::string>& names) {
  std::vector<uint32_t> depths;
  std::string_view module;
  for (const std::string& name : names) {
    const std::string_view here = std::string_view(name).substr(0, name.rfind('.'));
    const uint32_t before = depths.empty() ? 0 : depths.back();
    depths.push_back(depths.empty() || here == module ? before : before + 1);
    module = here;
  }
  return depths;
}

}  // namespace

std::vector<uint32_t> LayerDepths(const std::vector<std::string>& names) {
  uint32_t last = 0;  // depth of the last layer; 0 before the first
  for (const std::string& name : names) {
    if (const auto layer = LayerNumber(name)) last = std::max(last, *layer + 1);
  }
  if (last == 0) return DepthsByModule(names);
  std::vector<uint32_t> depths;
  bool above = false;
  for (const std::string& name : names) {
    const auto layer = LayerNumber(name);
    above = above || layer.has_value();
    depths.push_back(layer ? *layer + 1 : above ? last + 1 : 0);
  }
  return depths;
}

std::vector<double> LayerRates(const std::vector<uint32_t>& depths, double decay) {
  std::vector<double> rates;
  if (depths.empty()) return rates;
  const uint32_t head = *std::ranges::max_element(depths);
  for (const uint32_t depth : depths) rates.push_back(std::pow(decay, head - depth));
  return rates;
}

}  // namespace interlude
