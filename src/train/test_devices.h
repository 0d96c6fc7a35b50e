// The devices that a test of tensor operations goes through: the CPU always, and a CUDA device
// where there is one.
#pragma once

#include <ATen/ATen.h>
#include <ATen/Context.h>

#include <span>
#include <vector>

namespace interlude {

inline std::vector<at::Device> TestDevices() {
  std::vector<at::Device> devices = {at::Device(at::kCPU)};
  if (at::hasCUDA()) devices.emplace_back(at::kCUDA, static_cast<at::DeviceIndex>(0));
  return devices;
}

/// A tensor of its own with these values.
inline at::Tensor TensorOf(std::span<const float> values, at::Device device) {
  return at::from_blob(const_cast<float*>(values.data()), {static_cast<int64_t>(values.size())},
                       at::kFloat)
      .clone()
      .to(device);
}

}  // namespace interlude
