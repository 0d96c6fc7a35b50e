// Merge rules: how much each contributor's delta counts in the merged one. Only the weights; the
// sum itself is codec/'s DecodeAverage, the contributors in worker-id order.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace interlude {

enum class MergeRule : uint8_t {
  kWeightedMean,  // by samples seen
  kMean,
};

/// The weight of each contributor, in the order given; empty for none. `samples` are those each has
/// trained on this round.
///
/// kMean: 1/n. kWeightedMean: samples[i] / total, or 1/n when nobody saw a sample. The total is
/// exact (128 bits); each weight is one division in double, rounded once to fp32, so a weight is
/// within 2^-24 of its value relatively and the n weights sum to 1 within 2^-24. The weights are
/// not renormalised: each depends on its own samples and the total alone. Same bits on every
/// machine. One contributor weighs 1.
std::vector<float> MergeWeights(MergeRule rule, std::span<const uint64_t> samples);

}  // namespace interlude
