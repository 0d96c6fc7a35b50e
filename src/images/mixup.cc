#include "images/mixup.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>
#include <span>

#include "base/check.h"
#include "base/rng.h"

namespace interlude {
namespace {

constexpr uint64_t kSalt = 0x6d69787570;  // apart from all that is drawn for a sample

/// In (0, 1).
double Open(Rng& rng) { return (static_cast<double>(rng() >> 12) + 0.5) * 0x1p-52; }

double Normal(Rng& rng) {
  const double radius = std::sqrt(-2 * std::log(Open(rng)));
  return radius * std::cos(2 * std::numbers::pi * Open(rng));
}

/// The logarithm of a value from Gamma(shape, 1), after Marsaglia and Tsang (2000); a logarithm
/// since small shapes give values below what a double holds.
double LogGamma(double shape, Rng& rng) {
  if (shape < 1) return LogGamma(shape + 1, rng) + std::log(Open(rng)) / shape;
  const double d = shape - 1.0 / 3, c = 1 / std::sqrt(9 * d);
  while (true) {
    const double x = Normal(rng);
    const double root = 1 + c * x;
    if (root <= 0) continue;
    const double v = root * root * root;
    if (std::log(Open(rng)) < 0.5 * x * x + d * (1 - v + std::log(v))) return std::log(d * v);
  }
}

}  // namespace

Mixup MakeMixup(double alpha, uint64_t seed, uint64_t epoch, uint64_t batch, uint32_t samples) {
  INTERLUDE_CHECK(alpha > 0, "Beta({}, {})", alpha, alpha);
  Rng rng(Mix64(seed ^ Mix64(epoch ^ Mix64(batch ^ kSalt))));
  const double difference = LogGamma(alpha, rng) - LogGamma(alpha, rng);
  Mixup mixup;
  mixup.lambda = static_cast<float>(1 / (1 + std::exp(-difference)));
  mixup.partner.resize(samples);
  std::iota(mixup.partner.begin(), mixup.partner.end(), 0u);
  rng.Shuffle(std::span<uint32_t>(mixup.partner));
  return mixup;
}

}  // namespace interlude
