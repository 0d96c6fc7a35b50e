#include "config/rank_devices.h"

#include <optional>

#include "base/parse_number.h"

namespace interlude {
namespace {

RankDevices Split(std::string_view list) {
  RankDevices names;
  for (;;) {
    const size_t comma = list.find(',');
    names.emplace_back(list.substr(0, comma));
    if (comma == std::string_view::npos) return names;
    list.remove_prefix(comma + 1);
  }
}

std::string_view Kind(std::string_view device) { return IsCudaDevice(device) ? "cuda" : device; }

StatusOr<RankDevices> Numbered(uint32_t devices, const std::string& train_device) {
  RankDevices names(devices, train_device);
  if (train_device == "cuda") {
    for (uint32_t i = 0; i < devices; ++i) names[i] = fmt::format("cuda:{}", i);
  } else if (IsCudaDevice(train_device) && devices > 1) {
    return InvalidArgumentError(
        "--devices asks for {} devices, and train.device = \"{}\" is one: name them, as --devices "
        "cuda:0,cuda:1",
        devices, train_device);
  }
  return names;
}

StatusOr<RankDevices> Listed(std::string_view text) {
  RankDevices names = Split(text);
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

Status CheckRanks(size_t ranks, std::string_view text) {
  if (ranks >= 1 && ranks <= kMostRanks) return OkStatus();
  return InvalidArgumentError("--devices {}: from 1 to {} devices for a worker", text, kMostRanks);
}

// Those of all workers together.
StatusOr<RankDevices> All(std::string_view text, const std::string& train_device,
                          uint32_t workers) {
  const std::optional<uint32_t> each = ParseNumber<uint32_t>(text);
  if (!each) return Listed(text);
  INTERLUDE_RETURN_IF_ERROR(CheckRanks(*each, text));
  return Numbered(*each * workers, train_device);
}

}  // namespace

bool IsCudaDevice(std::string_view device) {
  return device == "cuda" || device.starts_with("cuda:");
}

StatusOr<std::vector<RankDevices>> DealDevices(std::string_view text, const RunConfig& config,
                                               uint32_t workers) {
  if (config.model.kind == ModelKind::kSynthetic)
    return InvalidArgumentError("--devices with model.kind = \"synthetic\", which has no device");
  INTERLUDE_ASSIGN_OR_RETURN(const RankDevices all, All(text, config.train.device, workers));
  if (all.size() % workers != 0) {
    return InvalidArgumentError(
        "--devices {}: {} devices cannot be dealt out to {} workers in equal parts", text,
        all.size(), workers);
  }
  const size_t ranks = all.size() / workers;
  INTERLUDE_RETURN_IF_ERROR(CheckRanks(ranks, text));
  INTERLUDE_RETURN_IF_ERROR(CheckRankBatch(config.train.batch, static_cast<uint32_t>(ranks)));
  std::vector<RankDevices> dealt;
  for (auto next = all.begin(); next != all.end(); next += static_cast<ptrdiff_t>(ranks))
    dealt.emplace_back(next, next + static_cast<ptrdiff_t>(ranks));
  return dealt;
}

Status CheckRankBatch(uint32_t batch, uint32_t ranks) {
  if (batch % ranks == 0) return OkStatus();
  return InvalidArgumentError(
      "train.batch = {} cannot be divided among the {} devices of a worker: choose a multiple of "
      "{}, or another number of --devices",
      batch, ranks, ranks);
}

}  // namespace interlude
