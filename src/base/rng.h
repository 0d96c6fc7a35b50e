// Seeded random numbers that are the same on every machine and library version.
#pragma once

#include <cstdint>
#include <span>
#include <utility>

namespace interlude {

/// One step of SplitMix64: a bijection that scatters `x`. For deriving seeds: Mix(seed ^
/// Mix(worker)).
constexpr uint64_t Mix64(uint64_t x) {
  x += 0x9E3779B97F4A7C15u;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return x ^ (x >> 31);
}

/// SplitMix64 (Steele, Lea, Flood 2014). Copyable state, one thread at a time.
class Rng {
 public:
  using result_type = uint64_t;
  explicit constexpr Rng(uint64_t seed) : state_(seed) {}

  constexpr uint64_t operator()() {
    const uint64_t value = Mix64(state_);
    state_ += 0x9E3779B97F4A7C15u;
    return value;
  }
  static constexpr uint64_t min() { return 0; }
  static constexpr uint64_t max() { return ~uint64_t{0}; }

  /// Uniform in [0, bound); bound > 0. The bias is below bound / 2^64.
  constexpr uint64_t Below(uint64_t bound) {
    return static_cast<uint64_t>((static_cast<unsigned __int128>((*this)()) * bound) >> 64);
  }
  /// Uniform in [0, 1), 24 bits: exact in fp32.
  constexpr float Uniform() { return static_cast<float>((*this)() >> 40) * 0x1p-24f; }

  /// Fisher-Yates; unlike std::shuffle the order depends on the seed alone.
  template <typename T>
  constexpr void Shuffle(std::span<T> values) {
    for (uint64_t i = values.size(); i > 1; --i) {
      std::swap(values[i - 1], values[Below(i)]);
    }
  }

 private:
  uint64_t state_;
};

}  // namespace interlude
