// Where a trainer's tensors live: the meaning of train.device.
#pragma once

#include <ATen/ATen.h>

#include <string>

#include "base/status.h"

namespace interlude {

struct TrainDevice {
  at::Device device = at::kCPU;
  /// Whether the worker reaches the parameters by pointer. If not, they're exchanged through a
  /// DeviceModelCopy.
  bool in_host_memory = true;
};

/// The device of a value of train.device: "cpu"; "cuda" (the first CUDA device that the process
/// sees) or "cuda:N"; "cpu_tensors", which is the CPU's memory treated as a device's, so that tests
/// run a device's path without one. FailedPrecondition where LibTorch sees no such CUDA device;
/// InvalidArgument for any other name.
StatusOr<TrainDevice> FindTrainDevice(const std::string& name);

}  // namespace interlude
