#include "train/rank_devices.h"

#include <charconv>
#include <optional>

namespace interlude {
namespace {

std::optional<uint32_t> Number(std::string_view text) {
  uint32_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

std::vector<std::string> Split(std::string_view list) {
  std::vector<std::string> names;
  for (;;) {
    const size_t comma = list.find(',');
    names.emplace_back(list.substr(0, comma));
    if (comma == std::string_view::npos) return names;
    list.remove_prefix(comma + 1);
  }
}

std::string_view Kind(std::string_view device) { return IsCudaDevice(device) ? "cuda" : device; }

StatusOr<std::vector<std::string>> Numbered(uint32_t ranks, const std::string& train_device) {
  std::vector<std::string> names(ranks, train_device);
  if (!IsCudaDevice(train_device)) return names;
  if (train_device != "cuda" && ranks > 1) {
    return InvalidArgumentError(
        "--devices {} with train.device = \"{}\", which is one device: name them, as --devices "
        "cuda:0,cuda:1",
        ranks, train_device);
  }
  if (ranks == 1) return names;
  for (uint32_t rank = 0; rank < ranks; ++rank) names[rank] = fmt::format("cuda:{}", rank);
  return names;
}

Status CheckRanks(size_t ranks, std::string_view text) {
  if (ranks >= 1 && ranks <= kMostRanks) return OkStatus();
  return InvalidArgumentError("--devices {}: from 1 to {} devices", text, kMostRanks);
}

}  // namespace

bool IsCudaDevice(std::string_view device) {
  return device == "cuda" || device.starts_with("cuda:");
}

StatusOr<std::vector<std::string>> RankDevices(std::string_view text,
                                               const std::string& train_device) {
  if (const std::optional<uint32_t> ranks = Number(text)) {
    INTERLUDE_RETURN_IF_ERROR(CheckRanks(*ranks, text));
    return Numbered(*ranks, train_device);
  }
  std::vector<std::string> names = Split(text);
  INTERLUDE_RETURN_IF_ERROR(CheckRanks(names.size(), text));
  for (const std::string& name : names) {
    if (!IsCudaDevice(name) && name != "cpu" && name != "cpu_tensors") {
      return InvalidArgumentError(
          "--devices {}: \"{}\" is no device; give a number, or a list of \"cuda:N\" or \"cpu\"",
          text, name);
    }
    if (Kind(name) != Kind(names[0])) {
      return InvalidArgumentError("--devices {}: {} and {} cannot train one model together", text,
                                  names[0], name);
    }
  }
  return names;
}

Status CheckRankBatch(uint32_t batch, uint32_t ranks) {
  if (batch % ranks == 0) return OkStatus();
  return InvalidArgumentError(
      "train.batch = {} cannot be divided among the {} devices of this worker: choose a multiple "
      "of {}, or another number of --devices",
      batch, ranks, ranks);
}

}  // namespace interlude
