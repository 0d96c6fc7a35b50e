// How far noise alone could move the mean of a series whose values follow each other in time and
// may depend on each other. Arithmetic only. docs/report.md, "Comparing two runs", has the formulas
// and an example by hand.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace interlude {

/// Of fewer values nothing is said about their noise.
inline constexpr size_t kFewestForNoise = 5;

/// The t above which, or below -t, Student's distribution with `degrees` of freedom has `tail` of
/// its mass: 2.776 for 4 and 0.05. degrees >= 1, 0 < tail < 1; above 200 degrees that of 200.
double StudentT(size_t degrees, double tail);

/// Half the width of the interval around the mean that holds the true one with the probability
/// 1 - tail. Nothing of fewer than kFewestForNoise values.
std::optional<double> NoiseOfMean(std::span<const int64_t> values, double tail);

}  // namespace interlude
