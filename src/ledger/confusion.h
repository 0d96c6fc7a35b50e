// Which classes an evaluation took for which: counts by true and by predicted class, only those
// above 0. Arithmetic and checks; pure functions, any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/status.h"

namespace interlude {

/// Beyond these no such counts are kept: of the data set's classes, and of counts above 0.
inline constexpr uint32_t kMostConfusionClasses = 4096;
inline constexpr size_t kMostConfusionCells = size_t{1} << 18;

/// So many pictures of class `label` were taken for class `predicted`.
struct ConfusionCell {
  uint32_t label = 0;
  uint32_t predicted = 0;
  uint64_t count = 0;

  friend bool operator==(const ConfusionCell&, const ConfusionCell&) = default;
};

/// Ascending by label, then by predicted class; each count is above 0.
using Confusion = std::vector<ConfusionCell>;

/// Adds `part` to `sum`, count by count.
void AddConfusion(const Confusion& part, Confusion& sum);

/// InvalidArgument unless the cells are in order, below `classes` (and no more than what is kept),
/// and add up to `samples`, of which `correct` lie where label and predicted class are the same.
/// OK for none at all, which says nothing.
Status CheckConfusion(const Confusion& confusion, uint32_t classes, uint64_t samples,
                      uint64_t correct);

/// How one class was told.
struct ClassScore {
  uint32_t label = 0;
  uint64_t samples = 0;
  uint64_t correct = 0;
  uint64_t predicted = 0;  // how many of all samples were taken for this class

  double accuracy() const {
    return samples == 0 ? 0 : static_cast<double>(correct) / static_cast<double>(samples);
  }
};

/// One for each class that has samples or was predicted, ascending by label.
std::vector<ClassScore> ClassScores(const Confusion& confusion);

/// Those of `scores` that have samples, the least accurate first (of equals the first), `most` at
/// most.
std::vector<ClassScore> WorstClasses(std::vector<ClassScore> scores, size_t most);

/// The cells where label and predicted class differ, the largest first (of equals the first),
/// `most` at most.
std::vector<ConfusionCell> MostConfused(const Confusion& confusion, size_t most);

}  // namespace interlude
