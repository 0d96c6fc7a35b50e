// Sorting of what is almost in order already, as records of one process are.
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>

namespace interlude {

/// As std::stable_sort, of a vector or a span. One pass where each record stands near its place.
template <typename Records, typename Less>
void SortNearlySorted(Records&& records, Less less) {
  size_t moves_left = 8 * records.size();
  for (size_t i = 1; i < records.size(); ++i) {
    if (!less(records[i], records[i - 1])) continue;
    auto record = std::move(records[i]);
    size_t place = i;
    for (; place > 0 && less(record, records[place - 1]); --place)
      records[place] = std::move(records[place - 1]);
    records[place] = std::move(record);
    if (i - place > moves_left) {  // not so near
      std::stable_sort(records.begin(), records.end(), less);
      return;
    }
    moves_left -= i - place;
  }
}

}  // namespace interlude
