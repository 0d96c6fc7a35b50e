// Trimmed means, parameter by parameter: the values of all contributors in ascending order, some
// cut from each end, the mean of the others. The median is the one that cuts most. One thread a
// call; no state.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace interlude {

/// The specification, for one parameter. Sorts `values`, which are finite; -0 counts as +0.
///   sum = +0; from value `cut` of the ascending order to the one before the last `cut`:
///   sum = sum + (share * value), with share = fl(1 / how many stay)
/// Each operation is rounded to fp32 on its own. At least one value stays; of one or two the result
/// is their exact middle rounded, since their halves are exact (but below the normal range).
float TrimmedMeanOf(std::span<float> values, size_t cut);

/// merged[i] = TrimmedMeanOf(values[0][i], values[1][i], ..., cut), in vectors, the same bits. At
/// least one contributor. `merged` does not overlap the values.
void TrimmedMean(std::span<const float* const> values, size_t cut, std::span<float> merged);

/// The instruction set that TrimmedMean uses, as Highway names it.
const char* TrimmedMeanTargetName();

/// Adds to counts[k] how many of the `count` values of contributor k were cut for being strictly
/// below the lowest or above the highest that stays. Of every `stride`-th value only: a sample is
/// enough to see who is always cut. An honest worker has 2 * cut / n of them.
void CountCut(std::span<const float* const> values, size_t count, size_t cut, size_t stride,
              std::span<uint32_t> counts);

}  // namespace interlude
