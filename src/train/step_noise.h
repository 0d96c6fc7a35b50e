// The random numbers of one local step's forward pass: what dropout and stochastic depth let
// through. They follow from the seed alone, in the order in which they are asked for, and (but for
// SeedLibTorch) touch no generator that others use.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>

namespace interlude {

/// One thread. The same numbers for the same seed on the same kind of device.
class StepNoise {
 public:
  explicit StepNoise(uint64_t seed) : seed_(seed) {}

  /// Of `shape`, type and device like `like`: 1 / keep with probability `keep`, else 0.
  at::Tensor Mask(at::IntArrayRef shape, double keep, const at::Tensor& like);

  /// For models that ask LibTorch's own generators: lets those of all devices begin from the seed,
  /// at the first call alone.
  void SeedLibTorch();

 private:
  const uint64_t seed_;
  at::Generator generator_;  // undefined until it is needed
  bool seeded_libtorch_ = false;
};

/// For the local step `step` of worker `worker` in a run of seed `seed`; each rank of a worker has
/// its own.
uint64_t StepSeed(uint64_t seed, uint32_t worker, uint64_t step, uint32_t rank = 0);

}  // namespace interlude
