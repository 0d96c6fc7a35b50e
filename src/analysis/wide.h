// Sums of times that records claim: of nonsense ones they would leave 64 bits. Pure; any thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

namespace interlude {

using Wide = __int128;

/// The nearest that 64 bits hold.
inline int64_t Narrow(Wide value) {
  return static_cast<int64_t>(std::clamp<Wide>(value, std::numeric_limits<int64_t>::min(),
                                               std::numeric_limits<int64_t>::max()));
}

inline void AddTo(int64_t& sum, int64_t value) { sum = Narrow(Wide{sum} + value); }

}  // namespace interlude
