// Rounds as they would be recorded, made by a small simulation of the real system: what waits for
// what, in which order threads and links work, and a clock of its own for each worker. For tests,
// which hold the analysis against it: it knows nothing of graphs.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/round_records.h"

namespace interlude {

inline constexpr int64_t kMicro = 1'000;
inline constexpr int64_t kMilli = 1'000'000;

/// How a worker differs from the others: factors on its times.
struct SimulatedWorker {
  double train = 1, encode = 1, upload = 1, link = 1, apply = 1;
  int64_t latency_ns = kMilli;  // each way
  int threads = 2;
  int64_t clock_offset_ns = 0;  // coordinator's - its own, at the run's begin
  double drift = 0;
};

struct SimulationPlan {
  uint64_t seed = 0;
  uint32_t chunks = 20;
  bool barrier = false;
  int merge_threads = 2;
  bool evaluate = false;
  double noise = 0.02;  // of each time, either way
  int64_t train_ns = 400 * kMilli;
  int64_t encode_ns = 10 * kMilli;  // a chunk, one thread
  int64_t upload_ns = 4 * kMilli;   // handed to the link
  int64_t link_ns = 2 * kMilli;     // of the link, each way
  int64_t merge_ns = 5 * kMilli;
  int64_t apply_ns = 6 * kMilli;
  int64_t clock_error_ns = 100 * kMicro;  // bound of the estimates
  std::vector<SimulatedWorker> workers;
};

/// What one round leaves to the next, on the coordinator's clock.
struct SimulationState {
  int64_t begin_ns = 0;             // the round before ended
  int64_t start_ns = 0;             // this one is started
  std::vector<int64_t> free_since;  // by worker
};
SimulationState FirstState(const SimulationPlan& plan);

struct SimulatedRound {
  RoundRecord round;
  std::vector<Span> spans;
  std::vector<ChunkStamps> stamps;
  std::vector<ClockEstimate> clocks;
  std::map<int32_t, int32_t> threads;
  std::vector<int64_t> true_shift_ns;  // by worker, at the middle of the round
  SimulationState next;

  RoundRecords Records(bool barrier) const {
    return {round, spans, stamps, {}, clocks, barrier, threads};
  }
};

/// The same plan, number and state give the same round; another factor changes only what it is of.
SimulatedRound SimulateRound(const SimulationPlan& plan, uint32_t round,
                             const SimulationState& state);

}  // namespace interlude
