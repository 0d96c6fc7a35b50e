// What the passes of benchmarks over the codec's arrays have in common.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <set>
#include <vector>

#include "bench/bench_arrays.h"

namespace interlude {

inline bool SameBytes(const Buffer& a, const Buffer& b) {
  return a.size() == b.size() && std::memcmp(a.bytes().data(), b.bytes().data(), a.size()) == 0;
}

inline size_t ArrayBytes(const BenchArrays& a) { return a.count() * sizeof(float); }

/// Whether body(chunk) is true for all chunks, which are spread over the pool: each thread works
/// on a chunk of its own.
template <typename Body>
bool EachChunk(BenchArrays& a, const Body& body) {
  std::vector<char> good(a.chunks(), 0);
  a.pool().ParallelFor(a.chunks(), 1, [&](size_t begin, size_t end) {
    for (size_t c = begin; c < end; ++c) good[c] = body(c) ? 1 : 0;
  });
  return std::find(good.begin(), good.end(), 0) == good.end();
}

/// The chunks that the slow scalar kernels check: once where both are the same, since encoding
/// changes its residual.
inline std::set<size_t> FirstAndLast(const BenchArrays& a) { return {0, a.chunks() - 1}; }

}  // namespace interlude
