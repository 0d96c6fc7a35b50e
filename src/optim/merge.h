// Merge rules: how the deltas of one chunk become one. docs/merge.md is this page in words. Here
// are the decisions (weights, factors, how many values are cut) and the rules in executable form;
// the fast forms are codec/'s weighted sum and optim/trimmed_mean.h. Arithmetic on spans, one chunk
// at a time, contributors in worker-id order, the same bits on every machine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace interlude {

enum class MergeRule : uint8_t {
  kWeightedMean,      // by samples seen
  kMean,              // each counts the same
  kTrimmedMean,       // of each parameter's values the extremes are cut, the mean of the others
  kCoordinateMedian,  // the median of each parameter's values
};

struct MergeOptions {
  MergeRule rule = MergeRule::kWeightedMean;
  double trim = 0.25;     // kTrimmedMean: share cut from each end, 0 to below 0.5
  double norm_bound = 0;  // 0: off; else the longest delta allowed, in medians; at least 1
};

/// Whether the rule is a weighted sum. The others need all values of a parameter at once.
constexpr bool IsMean(MergeRule rule) {
  return rule == MergeRule::kWeightedMean || rule == MergeRule::kMean;
}

/// The weight of each contributor, in the order given; empty for none. `samples` are those each has
/// trained on this round.
///
/// kMean: 1/n. kWeightedMean: samples[i] / total, or 1/n when nobody saw a sample. The total is
/// exact (128 bits); each weight is one division in double, rounded once to fp32, so a weight is
/// within 2^-24 of its value relatively and the n weights sum to 1 within 2^-24. The weights are
/// not renormalised: each depends on its own samples and the total alone. Same bits on every
/// machine. One contributor weighs 1. The other rules weigh nobody: 1 each.
std::vector<float> MergeWeights(MergeRule rule, std::span<const uint64_t> samples);

/// Values whose squares are summed before they are added to the others'; the codec's blocks.
inline constexpr size_t kNormBlockValues = 64;

/// The squared L2 norm: in double, value by value within each block of 64, then block by block,
/// each sum from +0 and in order. The squares themselves are exact. Finite for finite values.
double SquaredNorm(std::span<const float> values);

/// What each delta of a chunk is multiplied with so that none is longer than `bound` times the
/// median of all their lengths: 1 for those that are not, else (bound * median) / length. Of an
/// even number of lengths the median is the lower of the two middle ones: of two workers the
/// shorter delta is the measure. A factor below 2^-64 is 0: so far out nothing is an update.
/// `bound` is at least 1. Square roots, product and quotient in double.
std::vector<double> NormFactors(double bound, std::span<const double> squared_norms);

/// weight = float(double(weight) * factor), for each contributor. A factor of 1 changes nothing.
void ScaleWeights(std::span<const double> factors, std::span<float> weights);

/// How many of a parameter's n values are cut from each end before the mean of the others:
/// kTrimmedMean: trim * n rounded up (an excess of less than 1e-9 does not count), so that with
/// any share above 0 one bad worker of three is cut; kCoordinateMedian: all but the middle one or
/// two. At least one value stays. Precondition: n > 0 and no mean.
size_t CutCount(const MergeOptions& options, size_t n);

/// The rules in executable form: what the merge of a chunk makes of its contributors' decoded
/// deltas, each as long as `merged`, before the outer step. Slow; for tests and for reading. None
/// gives zeros.
void MergeDeltas(const MergeOptions& options, std::span<const std::span<const float>> deltas,
                 std::span<const uint64_t> samples, std::span<float> merged);

}  // namespace interlude
