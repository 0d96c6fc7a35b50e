#include "train/step_noise.h"

#include <ATen/Context.h>

#include "base/rng.h"

namespace interlude {

at::Tensor StepNoise::Mask(at::IntArrayRef shape, double keep, const at::Tensor& like) {
  if (!generator_.defined()) {
    // A clone, which has a state of its own: of the device's generator only the kind is wanted.
    generator_ = at::globalContext().defaultGenerator(like.device()).clone();
    generator_.set_current_seed(seed_);
  }
  return at::empty(shape, like.options()).bernoulli_(keep, generator_).div_(keep);
}

void StepNoise::SeedLibTorch() {
  if (!seeded_libtorch_) at::manual_seed(seed_);
  seeded_libtorch_ = true;
}

uint64_t StepSeed(uint64_t seed, uint32_t worker, uint64_t step, uint32_t rank) {
  const uint64_t first = Mix64(Mix64(Mix64(seed) ^ worker) ^ step);
  return rank == 0 ? first : Mix64(first ^ rank);
}

}  // namespace interlude
