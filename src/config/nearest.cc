#include "config/nearest.h"

#include <algorithm>
#include <vector>

namespace interlude {

size_t EditDistance(std::string_view a, std::string_view b) {
  // Three rows of the table: two rows up is where a swap of neighbours comes from.
  std::vector<size_t> two_up(b.size() + 1);
  std::vector<size_t> up(b.size() + 1);
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    std::swap(two_up, up);
    std::swap(up, row);
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t replace = up[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({replace, up[j] + 1, row[j - 1] + 1});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        row[j] = std::min(row[j], two_up[j - 2] + 1);
      }
    }
  }
  return row[b.size()];
}

std::optional<std::string_view> NearestWord(std::string_view typed,
                                            std::span<const std::string_view> words) {
  std::optional<std::string_view> nearest;
  size_t least = 0;
  for (const std::string_view word : words) {
    const size_t longer = std::max(word.size(), typed.size());
    const size_t shorter = std::min(word.size(), typed.size());
    const size_t limit = (word.size() + 2) / 3;
    if (longer - shorter > limit) continue;
    const size_t distance = EditDistance(typed, word);
    if (distance <= limit && (!nearest || distance < least)) {
      nearest = word;
      least = distance;
    }
  }
  return nearest;
}

}  // namespace interlude
