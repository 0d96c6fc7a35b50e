// Mixup (Zhang et al. 2017) as plain values: which samples of a batch are mixed and how. Who trains
// applies them. Any thread.
#pragma once

#include <cstdint>
#include <vector>

namespace interlude {

/// Sample i becomes lambda * sample i + (1 - lambda) * sample partner[i], and so does its label.
struct Mixup {
  float lambda = 1;
  std::vector<uint32_t> partner;  // a permutation of the batch
};

/// lambda from Beta(alpha, alpha); alpha > 0. From seed, epoch and the batch's number in the epoch
/// alone.
Mixup MakeMixup(double alpha, uint64_t seed, uint64_t epoch, uint64_t batch, uint32_t samples);

}  // namespace interlude
