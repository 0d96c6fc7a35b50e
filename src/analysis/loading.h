// How long the workers' training stood still for pictures, by round and worker. Inside analysis/.
// Pure functions; any thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>

#include "analysis/finding_rules.h"
#include "analysis/wide.h"

namespace interlude::internal {

/// One worker's training, in a round or in all of them.
struct Training {
  int64_t length_ns = 0;
  int64_t waited_ns = 0;   // of it, for pictures
  int64_t loading_ns = 0;  // CPU time that preparing pictures took
  int64_t cpu_ns = 0;      // of the process while it trained
  uint64_t samples = 0;

  void Add(const Training& other) {
    AddTo(length_ns, other.length_ns);
    AddTo(waited_ns, other.waited_ns);
    AddTo(loading_ns, other.loading_ns);
    AddTo(cpu_ns, other.cpu_ns);
    samples += std::min(other.samples, ~uint64_t{0} - samples);
  }
  double Share(int64_t ns) const {
    return length_ns > 0 ? static_cast<double>(ns) / static_cast<double>(length_ns) : 0;
  }
};

using ByWorker = std::map<int32_t, Training>;

/// Of the measured rounds. What a worker trained twice counts the second time.
std::map<uint32_t, ByWorker> TrainingsOf(const FindingContext& context);

/// By how much all measured rounds together could have ended sooner had none of `workers` waited:
/// of each what its longest training is then shorter by, and no more than these workers' training
/// stands on the critical path.
int64_t SavingWithoutWaits(const FindingContext& context,
                           const std::map<uint32_t, ByWorker>& rounds,
                           const std::set<int32_t>& workers);

/// The mean over the rounds of the longest wait of `workers` in each.
int64_t LongestWaitPerRound(const std::map<uint32_t, ByWorker>& rounds,
                            const std::set<int32_t>& workers);

}  // namespace interlude::internal
