// XXH3-128 of fp32 tensors where they are: the hash of base/hash128.h without copying the values to
// the host. What crosses is 64 bytes a tensor.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <span>
#include <vector>

#include "base/hash128.h"

namespace interlude {

/// Algorithm: XXH3's long-input hash (github.com/Cyan4973/xxHash, doc/xxhash_spec.md), seed 0. Its
/// stripes' contributions to an accumulator don't depend on the accumulator, so those of a whole
/// tensor are computed together; only the scramble after each 1024 bytes is a chain, which all
/// tensors of a call go through side by side. Const calls from any thread.
class TensorXxh3 {
 public:
  /// Puts the secret on the device.
  explicit TensorXxh3(at::Device device);

  /// HashFloats of each tensor's values, in order. Precondition: fp32, one dimension, contiguous,
  /// on the device, beginning at an even position of their storage. A tensor of at most 60 values,
  /// for which XXH3 has other rules, is copied to the host.
  ///
  /// Cost: a few passes over the values, and as many small steps one after the other as the longest
  /// tensor has KiB: so hash all tensors in one call. Memory: 1/16 of all tensors, and some three
  /// times the largest.
  std::vector<Hash128> Hash(std::span<const at::Tensor> tensors) const;

 private:
  at::Tensor Sums(const at::Tensor& words, const at::Tensor& secret) const;
  at::Tensor BlockSums(const at::Tensor& values) const;
  at::Tensor TailSums(const at::Tensor& values) const;
  at::Tensor Chain(const at::Tensor& sums, std::span<const int64_t> blocks) const;

  at::Tensor begin_;            // [8]: the accumulators' first values
  at::Tensor stripe_secret_;    // [16, 8]
  at::Tensor scramble_secret_;  // [8]
  at::Tensor last_secret_;      // [1, 8]
};

}  // namespace interlude
