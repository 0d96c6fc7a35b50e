// From a model's logits to the likeliest classes. Pure; any thread.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/status.h"

namespace interlude {

struct ClassProbability {
  uint32_t label = 0;
  double probability = 0;
  friend bool operator==(const ClassProbability&, const ClassProbability&) = default;
};

/// The softmax of the logits, computed in double precision: the `most` likeliest classes, or all
/// where there are fewer, the likeliest first; of equal logits the lower label. DataLoss where a
/// logit is NaN or infinite.
StatusOr<std::vector<ClassProbability>> TopClasses(std::span<const float> logits, uint32_t most);

}  // namespace interlude
