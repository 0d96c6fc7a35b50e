#include "train/top_classes.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

#include "train/non_finite.h"

namespace interlude {

StatusOr<std::vector<ClassProbability>> TopClasses(std::span<const float> logits, uint32_t most) {
  if (const std::optional<size_t> position = FindNonFinite(logits)) {
    return DataLossError("the model says {} of class {}", logits[*position], *position);
  }
  std::vector<uint32_t> order(logits.size());
  std::iota(order.begin(), order.end(), 0);
  const auto first = order.begin();
  const auto end = first + static_cast<std::ptrdiff_t>(std::min<size_t>(most, order.size()));
  std::partial_sort(first, end, order.end(), [&](uint32_t a, uint32_t b) {
    return logits[a] != logits[b] ? logits[a] > logits[b] : a < b;
  });
  std::vector<ClassProbability> top;
  if (first == end) return top;
  const double largest = logits[*first];
  double sum = 0;
  for (const float logit : logits) sum += std::exp(logit - largest);
  for (auto label = first; label != end; ++label) {
    top.push_back({*label, std::exp(logits[*label] - largest) / sum});
  }
  return top;
}

}  // namespace interlude
