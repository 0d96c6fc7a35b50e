// An exponential moving average of the base over rounds, beside any outer optimizer: one more array
// of state. Arithmetic on spans, each operation rounded to fp32 on its own, the same bits on every
// machine.
#pragma once

#include <cstdint>
#include <span>

namespace interlude {

/// After each round: average = (decay * average) + ((1 - decay) * base), for each parameter, with
/// 1 - decay rounded from double first. It begins as zeros.
void AddToAverage(float decay, std::span<const float> base, std::span<float> average);

/// The average after `rounds` rounds (at least 1), whose weights add up to 1, as in Adam's
/// correction of its moments: out = average / (1 - decay^rounds), computed in double.
void CorrectAverage(float decay, uint32_t rounds, std::span<const float> average,
                    std::span<float> out);

}  // namespace interlude
