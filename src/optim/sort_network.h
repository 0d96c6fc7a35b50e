// Batcher's merge exchange (Knuth, The Art of Computer Programming, vol. 3, 5.2.2, algorithm M):
// which pairs to compare and exchange, in which order, so that any n values are sorted. The same
// pairs whatever the values, which is what vectors need.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <vector>

namespace interlude {

/// Afterwards the value at `first` is not above the one at `second`.
struct SortPair {
  size_t first = 0;
  size_t second = 0;
};

/// Calls use(SortPair) for each pair in order.
template <typename Use>
constexpr void ForSortPairs(size_t n, const Use& use) {
  if (n < 2) return;
  const size_t top = std::bit_ceil(n) / 2;
  for (size_t p = top; p > 0; p /= 2) {
    size_t r = 0;
    size_t distance = p;
    for (size_t q = top;; q /= 2) {
      for (size_t i = 0; i + distance < n; ++i) {
        if ((i & p) == r) use(SortPair{i, i + distance});
      }
      if (q == p) break;
      distance = q - p;
      r = p;
    }
  }
}

/// The pairs for n values.
inline std::vector<SortPair> SortPairs(size_t n) {
  std::vector<SortPair> pairs;
  ForSortPairs(n, [&](SortPair pair) { pairs.push_back(pair); });
  return pairs;
}

/// The same for a number that is known at compile time.
template <size_t n>
constexpr auto SortPairs() {
  constexpr size_t kSize = [] {
    size_t size = 0;
    ForSortPairs(n, [&](SortPair) { ++size; });
    return size;
  }();
  std::array<SortPair, kSize> pairs{};
  size_t next = 0;
  ForSortPairs(n, [&](SortPair pair) { pairs[next++] = pair; });
  return pairs;
}

}  // namespace interlude
