#include "model/position_grid.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "base/check.h"

namespace interlude {
namespace {

// Keys 1981, with PyTorch's a.
constexpr double kA = -0.75;

double Near(double x) { return ((kA + 2) * x - (kA + 3)) * x * x + 1; }
double Far(double x) { return ((kA * x - 5 * kA) * x + 8 * kA) * x - 4 * kA; }

// The four positions of `from_side` that make position `at` of `to_side`, and their weights.
struct Taps {
  std::array<size_t, 4> index;
  std::array<double, 4> weight;
};

Taps TapsOf(size_t at, size_t from_side, size_t to_side) {
  const double scale = static_cast<double>(from_side) / static_cast<double>(to_side);
  const double center = (static_cast<double>(at) + 0.5) * scale - 0.5;
  const double below = std::floor(center);
  const double t = center - below;
  Taps taps{.index = {}, .weight = {Far(t + 1), Near(t), Near(1 - t), Far(2 - t)}};
  for (size_t i = 0; i < 4; ++i) {
    const double place = below - 1 + static_cast<double>(i);
    taps.index[i] = static_cast<size_t>(std::clamp(place, 0.0, static_cast<double>(from_side - 1)));
  }
  return taps;
}

}  // namespace

void ResizeGrid(std::span<const float> from, size_t from_side, std::span<float> to, size_t to_side,
                size_t width) {
  INTERLUDE_CHECK(from.size() == from_side * from_side * width, "{} values", from.size());
  INTERLUDE_CHECK(to.size() == to_side * to_side * width, "{} values", to.size());
  std::vector<Taps> taps;
  for (size_t i = 0; i < to_side; ++i) taps.push_back(TapsOf(i, from_side, to_side));
  std::vector<double> sum(width);
  for (size_t y = 0; y < to_side; ++y) {
    for (size_t x = 0; x < to_side; ++x) {
      std::ranges::fill(sum, 0.0);
      for (size_t tap = 0; tap < 16; ++tap) {
        const double weight = taps[y].weight[tap / 4] * taps[x].weight[tap % 4];
        const float* const vector =
            from.data() + (taps[y].index[tap / 4] * from_side + taps[x].index[tap % 4]) * width;
        for (size_t i = 0; i < width; ++i) sum[i] += weight * vector[i];
      }
      float* const out = to.data() + (y * to_side + x) * width;
      for (size_t i = 0; i < width; ++i) out[i] = static_cast<float>(sum[i]);
    }
  }
}

}  // namespace interlude
