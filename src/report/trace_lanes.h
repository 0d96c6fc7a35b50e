// Lanes: where intervals that overlap are put so that no two on one lane do. Plain values; any
// thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace interlude {

/// Fed with intervals in order of their begins, gives each the first lane that is free by then: as
/// many lanes as intervals overlap at most, no more.
class TraceLanes {
 public:
  /// The lane, from 0, for [begin_ns, end_ns]. An interval may begin where another one ends; one
  /// without length takes part like any other.
  size_t Place(int64_t begin_ns, int64_t end_ns);

 private:
  std::vector<int64_t> free_from_ns_;
};

}  // namespace interlude
