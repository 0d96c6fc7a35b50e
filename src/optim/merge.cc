#include "optim/merge.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "optim/trimmed_mean.h"

namespace interlude {

std::vector<float> MergeWeights(MergeRule rule, std::span<const uint64_t> samples) {
  if (!IsMean(rule)) return std::vector<float>(samples.size(), 1.0f);
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

double SquaredNorm(std::span<const float> values) {
  double total = 0;
  for (size_t begin = 0; begin < values.size(); begin += kNormBlockValues) {
    double in_block = 0;
    const size_t end = std::min(values.size(), begin + kNormBlockValues);
    for (size_t i = begin; i < end; ++i) {
      const double value = static_cast<double>(values[i]);
      in_block += value * value;
    }
    total += in_block;
  }
  return total;
}

std::vector<double> NormFactors(double bound, std::span<const double> squared_norms) {
  constexpr double kLeast = 0x1p-64;
  INTERLUDE_CHECK(bound >= 1, "a norm bound of {}", bound);
  std::vector<double> factors(squared_norms.size(), 1.0);
  if (squared_norms.empty()) return factors;
  std::vector<double> sorted(squared_norms.begin(), squared_norms.end());
  std::sort(sorted.begin(), sorted.end());
  const double longest = bound * std::sqrt(sorted[(sorted.size() - 1) / 2]);
  for (size_t k = 0; k < factors.size(); ++k) {
    const double length = std::sqrt(squared_norms[k]);
    if (length <= longest) continue;
    const double factor = longest / length;
    factors[k] = factor < kLeast ? 0.0 : factor;
  }
  return factors;
}

void ScaleWeights(std::span<const double> factors, std::span<float> weights) {
  INTERLUDE_CHECK(factors.size() == weights.size(), "{} factors for {} weights", factors.size(),
                  weights.size());
  for (size_t k = 0; k < weights.size(); ++k) {
    weights[k] = static_cast<float>(static_cast<double>(weights[k]) * factors[k]);
  }
}

size_t CutCount(const MergeOptions& options, size_t n) {
  INTERLUDE_CHECK(n > 0 && !IsMean(options.rule), "nothing to cut of {} values", n);
  const size_t most = (n - 1) / 2;
  if (options.rule == MergeRule::kCoordinateMedian) return most;
  const double wanted = std::ceil(options.trim * static_cast<double>(n) - 1e-9);
  return std::min(most, static_cast<size_t>(std::max(wanted, 0.0)));
}

void MergeDeltas(const MergeOptions& options, std::span<const std::span<const float>> deltas,
                 std::span<const uint64_t> samples, std::span<float> merged) {
  std::fill(merged.begin(), merged.end(), 0.0f);
  if (deltas.empty()) return;
  std::vector<float> weights = MergeWeights(options.rule, samples);
  if (options.norm_bound > 0) {
    std::vector<double> norms;
    for (const auto& delta : deltas) norms.push_back(SquaredNorm(delta));
    ScaleWeights(NormFactors(options.norm_bound, norms), weights);
  }
  std::vector<float> values(deltas.size());
  for (size_t i = 0; i < merged.size(); ++i) {
    for (size_t k = 0; k < deltas.size(); ++k) values[k] = weights[k] * deltas[k][i];
    if (IsMean(options.rule)) {
      for (const float value : values) merged[i] = merged[i] + value;
    } else {
      merged[i] = TrimmedMeanOf(values, CutCount(options, values.size()));
    }
  }
}

}  // namespace interlude
