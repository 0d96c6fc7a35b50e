#include "bench/machine_speed.h"

#include <chrono>
#include <cstdint>
#include <cstring>
#include <functional>
#include <numeric>
#include <vector>

#include "analysis/spread.h"
#include "base/memory_account.h"
#include "base/thread_pool.h"

namespace interlude {
namespace {

constexpr int kPasses = 7;

/// Bytes a second at which `pass` goes over `bytes`: the median of some, the first left out.
double Speed(size_t bytes, const std::function<void()>& pass) {
  pass();
  std::vector<double> speeds;
  for (int i = 0; i < kPasses; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    pass();
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    speeds.push_back(static_cast<double>(bytes) / took.count());
  }
  return MedianOf(std::move(speeds));
}

/// Many sums side by side, so that no addition waits for the one before; compilers vectorise it.
uint64_t Sum(const uint64_t* words, size_t count) {
  constexpr size_t kLanes = 32;
  uint64_t sums[kLanes] = {};
  for (size_t i = 0; i + kLanes <= count; i += kLanes) {
    for (size_t lane = 0; lane < kLanes; ++lane) sums[lane] += words[i + lane];
  }
  return std::accumulate(sums, sums + kLanes, uint64_t{0});
}

}  // namespace

MemorySpeed MeasureMemory(int threads, size_t array_bytes) {
  ThreadPool pool(threads);
  Buffer from("bench", array_bytes);
  Buffer to("bench", array_bytes);
  std::memset(from.bytes().data(), 1, array_bytes);
  // Whole cache lines to each thread.
  const size_t share = (array_bytes / static_cast<size_t>(threads) + 4096) / 4096 * 4096;

  MemorySpeed speed;
  speed.copy = Speed(2 * array_bytes, [&] {
    pool.ParallelFor(array_bytes, share, [&](size_t begin, size_t end) {
      std::memcpy(to.bytes().data() + begin, from.bytes().data() + begin, end - begin);
    });
  });
  std::vector<uint64_t> sums((array_bytes + share - 1) / share);
  speed.read = Speed(array_bytes, [&] {
    pool.ParallelFor(array_bytes, share, [&](size_t begin, size_t end) {
      sums[begin / share] = Sum(reinterpret_cast<const uint64_t*>(from.bytes().data() + begin),
                                (end - begin) / sizeof(uint64_t));
    });
  });
  // The sums are looked at, so that they are computed.
  if (std::accumulate(sums.begin(), sums.end(), uint64_t{0}) == 1) speed.read = 0;
  return speed;
}

}  // namespace interlude
