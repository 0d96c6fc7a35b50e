#include "analysis/mean_noise.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

namespace interlude {
namespace {

/// From here on the t changes by less than 1 %; the integral needs no finer steps.
constexpr size_t kMostDegrees = 200;

/// The integral of cos(x)^power from `from` to pi / 2, by Simpson's rule.
double CosineIntegral(double power, double from) {
  constexpr int kSteps = 128;
  const double width = (std::numbers::pi / 2 - from) / kSteps;
  double sum = std::pow(std::cos(from), power) + (power == 0 ? 1 : 0);
  for (int i = 1; i < kSteps; ++i)
    sum += (i % 2 == 0 ? 2 : 4) * std::pow(std::cos(from + i * width), power);
  return sum * width / 3;
}

/// A run of neighbours in a series.
struct Batch {
  double share = 0;  // of the series' values
  double from_mean = 0;
};

/// Twice the square root of the number of values, so that with more of them both grow, the batches
/// and their number; each as long, to within one value.
std::vector<Batch> BatchesOf(std::span<const int64_t> values) {
  const size_t n = values.size();
  const auto root = static_cast<size_t>(2 * std::sqrt(static_cast<double>(n)));
  const size_t count = std::max(kFewestForNoise, root);
  const auto mean_of = [&](size_t begin, size_t end) {
    double sum = 0;
    for (size_t i = begin; i < end; ++i) sum += static_cast<double>(values[i]);
    return sum / static_cast<double>(end - begin);
  };
  const double mean = mean_of(0, n);
  std::vector<Batch> batches;
  for (size_t i = 0; i < count; ++i) {
    const size_t begin = i * n / count, end = (i + 1) * n / count;
    batches.push_back(
        {static_cast<double>(end - begin) / static_cast<double>(n), mean_of(begin, end) - mean});
  }
  return batches;
}

/// How much larger neighbours that resemble each other make the variance of their mean.
double Stretch(const std::vector<Batch>& batches) {
  double together = 0, alone = 0;
  for (size_t i = 0; i < batches.size(); ++i) {
    alone += batches[i].from_mean * batches[i].from_mean;
    if (i > 0) together += batches[i].from_mean * batches[i - 1].from_mean;
  }
  // Of independent values the quotient is -1 / n in the mean.
  const double likeness = together / alone + 1 / static_cast<double>(batches.size());
  constexpr double kMostLikeness = 0.9;
  const double r = std::clamp(likeness, 0.0, kMostLikeness);
  return (1 + r) / (1 - r);
}

}  // namespace

double StudentT(size_t degrees, double tail) {
  // With t = sqrt(degrees) tan(x) the density is that of cos(x)^(degrees - 1).
  const double power = static_cast<double>(std::min(degrees, kMostDegrees)) - 1;
  const double half = CosineIntegral(power, 0);
  double low = 0, high = std::numbers::pi / 2;
  for (int i = 0; i < 40; ++i) {
    const double middle = (low + high) / 2;
    (CosineIntegral(power, middle) > tail * half ? low : high) = middle;
  }
  return std::sqrt(power + 1) * std::tan(low);
}

std::optional<double> NoiseOfMean(std::span<const int64_t> values, double tail) {
  if (values.size() < kFewestForNoise) return std::nullopt;
  const std::vector<Batch> batches = BatchesOf(values);
  double squares = 0, shares = 0;
  for (const Batch& batch : batches) {
    squares += std::pow(batch.share * batch.from_mean, 2);
    shares += batch.share * batch.share;
  }
  if (squares <= 0) return 0;
  const double variance = squares / (1 - shares) * Stretch(batches);
  return StudentT(batches.size() - 1, tail) * std::sqrt(variance);
}

}  // namespace interlude
