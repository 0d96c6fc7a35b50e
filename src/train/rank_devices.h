// On which devices the ranks of one worker train: the meaning of --devices. Text only.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace interlude {

inline constexpr uint32_t kMostRanks = 64;

/// One device for each rank, from `text`: a list with commas ("cuda:0,cuda:1", "cpu,cpu"), or a
/// number N: the devices cuda:0 to cuda:N-1 where train.device is "cuda", else N times
/// train.device. InvalidArgument for anything else, for devices of different kinds and for more
/// than kMostRanks; whether there is such a device is not looked at (train/device.h).
StatusOr<std::vector<std::string>> RankDevices(std::string_view text,
                                               const std::string& train_device);

/// Whether a device's name is a CUDA device's.
bool IsCudaDevice(std::string_view device);

/// InvalidArgument, with what to do, where a batch cannot be divided among so many ranks.
Status CheckRankBatch(uint32_t batch, uint32_t ranks);

}  // namespace interlude
