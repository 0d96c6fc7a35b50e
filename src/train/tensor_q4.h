// The q4 format (docs/formats/q4.md) as operations on tensors, on whatever device they are: for
// parameters that the codec's kernels can't reach by pointer. Bit for bit what codec/q4_scalar.cc
// gives. Not the way to encode in host memory: the codec's kernels are far faster there.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>

namespace interlude {

/// Each operation rounds to fp32 once, and none is fused with another. Needs subnormals kept: on
/// the CPU the default float environment in the calling thread and in LibTorch's own
/// (codec/float_environment.h; they begin with that of the thread that starts them); LibTorch's
/// CUDA kernels keep them. Const calls from any thread.
class TensorQ4 {
 public:
  /// Puts the code book and the thresholds on the device.
  explicit TensorQ4(at::Device device);

  /// The payload of `deltas`, as bytes. Precondition: one dimension, at least one value, fp32, on
  /// the device, all finite. Memory: some 20 bytes a value while it runs.
  at::Tensor Encode(const at::Tensor& deltas) const;

  /// The `count` values of a payload. Precondition: bytes on the device that passed
  /// ValidatePayload, the first of their storage.
  at::Tensor Decode(const at::Tensor& payload, int64_t count) const;

 private:
  at::Tensor book_;
  at::Tensor thresholds_;
  at::Tensor nibble_shifts_;  // [8, 1]: by how much nibble k of a lane is shifted
};

}  // namespace interlude
