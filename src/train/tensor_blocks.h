// The q4 and q8 formats (docs/formats/) as operations on tensors, on whatever device they are: for
// parameters that the codec's kernels can't reach by pointer. Bit for bit what the scalar kernels
// of codec/ give. Not the way to encode in host memory: the codec's kernels are far faster there.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>

#include "codec/chunk_codec.h"

namespace interlude {

/// Each operation rounds to fp32 once, and none is fused with another. Needs subnormals kept: on
/// the CPU the default float environment in the calling thread and in LibTorch's own
/// (codec/float_environment.h; they begin with that of the thread that starts them); LibTorch's
/// CUDA kernels keep them. Const calls from any thread.
class TensorBlocks {
 public:
  /// Puts what the codec needs of tables on the device. Precondition: a codec with blocks.
  TensorBlocks(Codec codec, at::Device device);

  /// The payload of `deltas`, as bytes. Precondition: one dimension, at least one value, fp32, on
  /// the device, all finite. Memory: some 20 bytes a value while it runs.
  at::Tensor Encode(const at::Tensor& deltas) const;

  /// The `count` values of a payload. Precondition: bytes on the device that passed
  /// ValidatePayload, the first of their storage.
  at::Tensor Decode(const at::Tensor& payload, int64_t count) const;

 private:
  at::Tensor CodesOf(const at::Tensor& ratios) const;
  at::Tensor EntriesOf(const at::Tensor& codes) const;

  const Codec codec_;
  const int64_t code_bytes_;  // of a block
  // Of q4 alone.
  at::Tensor book_;
  at::Tensor thresholds_;
  at::Tensor nibble_shifts_;  // [8, 1]: by how much nibble k of a lane is shifted
};

}  // namespace interlude
