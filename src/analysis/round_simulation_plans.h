// Random plans for simulated rounds, and the check of a path's sum. For tests.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <random>

#include "analysis/round_path.h"
#include "analysis/round_simulation.h"

namespace interlude {

using Random = std::mt19937_64;

inline int64_t Draw(Random& random, int64_t least, int64_t most) {
  return std::uniform_int_distribution<int64_t>(least, most)(random);
}

inline SimulationPlan RandomPlan(uint64_t seed, Random& random) {
  SimulationPlan plan;
  plan.seed = seed;
  plan.chunks = static_cast<uint32_t>(Draw(random, 3, 40));
  plan.barrier = Draw(random, 0, 1) == 1;
  plan.merge_threads = static_cast<int>(Draw(random, 1, 4));
  plan.evaluate = Draw(random, 0, 3) == 0;
  const int64_t workers = Draw(random, 3, 6);
  const int64_t latency = Draw(random, 50, 20'000) * kMicro;
  const int threads = static_cast<int>(Draw(random, 1, 4));
  for (int64_t i = 0; i < workers; ++i) {
    plan.workers.push_back({.latency_ns = latency,
                            .threads = threads,
                            .clock_offset_ns = Draw(random, -1'000'000, 1'000'000) * kMilli,
                            .drift = static_cast<double>(Draw(random, -50, 50)) * 1e-6});
  }
  return plan;
}

/// What the pieces sum to, each beginning where the one before ended.
inline int64_t SumOf(const RoundPath& path) {
  int64_t at = path.begin_ns;
  for (const PathPiece& piece : path.pieces) {
    EXPECT_EQ(piece.begin_ns, at);
    EXPECT_LT(piece.begin_ns, piece.end_ns);
    at = piece.end_ns;
  }
  return at - path.begin_ns;
}

}  // namespace interlude
