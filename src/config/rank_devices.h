// On which devices the ranks of a worker train: the meaning of --devices. Text only.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "config/run_config.h"

namespace interlude {

inline constexpr uint32_t kMostRanks = 64;

/// One device for each rank of a worker, each a train.device.
using RankDevices = std::vector<std::string>;

/// What `text` means on a machine with `workers` workers of the run, for each of them. A number N
/// is N devices for each: cuda:0 to cuda:N-1, then cuda:N and so on for the next worker, where
/// train.device is "cuda", else N times train.device. A list with commas ("cuda:0,cuda:1",
/// "cpu,cpu") is dealt out in equal parts, in its order. InvalidArgument, with what to do, for
/// anything else, for devices of different kinds, for more than kMostRanks for a worker, where the
/// list or a step's batch cannot be divided, and for a model without a device. Whether there is
/// such a device is not looked at (train/device.h).
StatusOr<std::vector<RankDevices>> DealDevices(std::string_view text, const RunConfig& config,
                                               uint32_t workers);

/// Whether a device's name is a CUDA device's.
bool IsCudaDevice(std::string_view device);

/// InvalidArgument, with what to do, where a batch cannot be divided among so many ranks.
Status CheckRankBatch(uint32_t batch, uint32_t ranks);

}  // namespace interlude
