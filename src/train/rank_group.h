// What the ranks of one worker do together: several processes, each with a device and a copy of the
// model, that compute every local step's gradient of one batch together. One thread; free of
// LibTorch's headers.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/status.h"

namespace at {
class Tensor;
}

namespace interlude {

/// Where a process stands among those of its worker.
struct RankPlace {
  uint32_t rank = 0;                 // rank 0 is the one that the coordinator knows
  std::vector<std::string> devices;  // of all ranks, as train.device
  std::string directory;             // private to the ranks, empty at first
  Nanoseconds timeout{0};            // how long the others may take to come to a common operation

  uint32_t ranks() const { return static_cast<uint32_t>(devices.size()); }
  const std::string& device() const { return devices[rank]; }
};

/// All ranks must call the same operations in the same order, with tensors of the same shape, each
/// on its device. Aborted when the others didn't come within the place's timeout or are gone; the
/// group is of no use then.
class RankGroup {
 public:
  explicit RankGroup(RankPlace place) : place_(std::move(place)) {}
  virtual ~RankGroup() = default;
  RankGroup(const RankGroup&) = delete;
  RankGroup& operator=(const RankGroup&) = delete;

  uint32_t rank() const { return place_.rank; }
  uint32_t ranks() const { return place_.ranks(); }

  /// Before all others.
  virtual Status Connect() = 0;
  /// Gives all of them rank 0's values.
  virtual Status Broadcast(at::Tensor& values) = 0;
  /// Gives all of them the sum, the same bits to each.
  virtual Status Sum(at::Tensor& values) = 0;

 protected:
  const RankPlace& place() const { return place_; }

 private:
  const RankPlace place_;
};

/// Through LibTorch's c10d: NCCL where each rank has a CUDA device of its own and this program was
/// built with it, else Gloo, over loopback. Unimplemented where the program has neither.
StatusOr<std::unique_ptr<RankGroup>> CreateRankGroup(RankPlace place);

}  // namespace interlude
