// When what happens in the sample run, on the coordinator's clock, and what the workers' clocks
// show then. Internal to the sample run.
#pragma once

#include <array>
#include <cstdint>

#include "ledger/clock_probe.h"
#include "ledger/sample_run.h"

namespace interlude::internal {

inline constexpr int64_t kMs = 1'000'000;
inline constexpr int64_t kSampleStart = 5'000'000 * kMs;
inline constexpr int64_t kLinkNs = 2 * kMs;  // one way, either way
inline constexpr uint32_t kSampleChunks = 4;
inline constexpr int64_t kEvaluateNs = 310 * kMs;
inline constexpr std::array<int64_t, 3> kTrainMs = {2104, 2131, 2598};
inline constexpr std::array<int64_t, 6> kWarmUpMs = {420, 14, 0, 9, 21, 5};

constexpr bool EvaluatesIn(uint32_t round) { return round == 4; }
constexpr int64_t TrainNs(uint32_t round, int32_t worker) {
  return (kTrainMs[worker] + kWarmUpMs[round - 1]) * kMs;
}
constexpr int64_t ComputeNs(uint32_t round, int32_t worker) {
  return TrainNs(round, worker) + (EvaluatesIn(round) ? kEvaluateNs : 0);
}
/// How much longer than the others' each step of worker 2's exchange takes.
constexpr int64_t Slowness(int32_t worker) { return worker == 2 ? 3 : 1; }

/// The start message is written in 1 ms and has come after the link.
inline constexpr int64_t kHeardAfterNs = 1 * kMs + kLinkNs;
/// From the end of the slowest training to the last report.
inline constexpr int64_t kTailNs = 52 * kMs;
constexpr int64_t WallNs(uint32_t round) { return kHeardAfterNs + ComputeNs(round, 2) + kTailNs; }
constexpr int64_t RoundBegin(uint32_t round) {
  int64_t begin = kSampleStart;
  for (uint32_t before = 1; before < round; ++before) begin += WallNs(before);
  return begin;
}
constexpr int64_t TrainedNs(uint32_t round, int32_t worker) {
  return RoundBegin(round) + kHeardAfterNs + ComputeNs(round, worker);
}
/// The worker has applied and verified.
constexpr int64_t DoneNs(uint32_t round, int32_t worker) {
  return TrainedNs(round, 2) + (worker == 2 ? 50 : 37 + worker) * kMs;
}

struct Interval {
  int64_t begin_ns;
  int64_t end_ns;
};

// Each chunk's way. Worker 2 is last with each of them; then it is merged.
constexpr Interval EncodeOf(uint32_t round, int32_t worker, uint32_t chunk) {
  const int64_t unit = Slowness(worker) * kMs;
  const int64_t begin = TrainedNs(round, worker) + chunk * 5 * unit / 3;
  return {begin, begin + unit};
}
constexpr Interval UploadOf(uint32_t round, int32_t worker, uint32_t chunk) {
  const int64_t begin = EncodeOf(round, worker, chunk).end_ns;
  return {begin, begin + Slowness(worker) * kMs};
}
constexpr Interval ReceiveOf(uint32_t round, int32_t worker, uint32_t chunk) {
  const auto [begin, end] = UploadOf(round, worker, chunk);
  return {begin + kLinkNs, end + kLinkNs + 3 * kMs};
}
constexpr Interval MergeOf(uint32_t round, uint32_t chunk) {
  const int64_t begin = ReceiveOf(round, 2, chunk).end_ns;
  return {begin, begin + 3 * kMs};
}
constexpr Interval SendOf(uint32_t round, int32_t worker, uint32_t chunk) {
  const int64_t begin = MergeOf(round, chunk).end_ns;
  return {begin, begin + (2 + worker) * kMs};
}
constexpr Interval DownloadOf(uint32_t round, int32_t worker, uint32_t chunk) {
  const auto [begin, end] = SendOf(round, worker, chunk);
  return {begin + kLinkNs, end + kLinkNs};
}
constexpr Interval ApplyOf(uint32_t round, int32_t worker, uint32_t chunk) {
  const int64_t begin = DownloadOf(round, worker, chunk).end_ns;
  return {begin, begin + Slowness(worker) * kMs};
}

/// What the worker's clock shows at a time of the coordinator's.
inline int64_t OnWorkersClock(int32_t worker, int64_t coordinator_ns) {
  const ClockEstimate clock = SampleClock(worker);
  const int64_t since = coordinator_ns - (clock.at_ns + clock.offset_ns);
  return clock.at_ns + static_cast<int64_t>(static_cast<double>(since) / (1.0 + clock.drift));
}

}  // namespace interlude::internal
