#include "report/trace_lanes.h"

#include <algorithm>

namespace interlude {

size_t TraceLanes::Place(int64_t begin_ns, int64_t end_ns) {
  const auto lane = std::find_if(free_from_ns_.begin(), free_from_ns_.end(),
                                 [&](int64_t free_from_ns) { return free_from_ns <= begin_ns; });
  const auto index = static_cast<size_t>(lane - free_from_ns_.begin());
  if (lane == free_from_ns_.end()) free_from_ns_.push_back(0);
  free_from_ns_[index] = end_ns;
  return index;
}

}  // namespace interlude
