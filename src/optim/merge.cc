#include "optim/merge.h"

namespace interlude {

std::vector<float> MergeWeights(MergeRule rule, std::span<const uint64_t> samples) {
  unsigned __int128 total = 0;  // cannot overflow: fewer than 2^64 contributors
  for (const uint64_t count : samples) total += count;
  std::vector<float> weights;
  weights.reserve(samples.size());
  for (const uint64_t count : samples) {
    const bool equal = rule == MergeRule::kMean || total == 0;
    const double weight = equal ? 1.0 / static_cast<double>(samples.size())
                                : static_cast<double>(count) / static_cast<double>(total);
    weights.push_back(static_cast<float>(weight));
  }
  return weights;
}

}  // namespace interlude
