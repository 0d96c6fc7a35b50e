// Which training samples a worker sees in which local step: deterministic, disjoint between
// workers, and from the step's number alone. Numbers only; knows no data set.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/status.h"

namespace interlude {

/// The seed of what concerns one worker's own data alone: another for each worker.
uint64_t SeedOfWorker(uint64_t seed, uint32_t worker);

/// In each epoch the training set is put in one order that all workers share (from seed and epoch),
/// and worker w of n takes the positions p with p % n == w. Every worker gets the same number of
/// full batches an epoch; what does not fill one is left out of that epoch (another epoch's order
/// has it). One thread at a time.
class ShardedOrder {
 public:
  /// InvalidArgument when worker >= workers, batch is 0, or a worker's share of the samples holds
  /// no batch.
  static StatusOr<ShardedOrder> Create(uint64_t samples, uint32_t batch, uint64_t seed,
                                       uint32_t worker, uint32_t workers);

  /// The sample indices of local step `step` (counted over the whole run). Valid until the next
  /// call. Costs one shuffle of the sample numbers whenever the epoch changes.
  std::span<const uint32_t> Batch(uint64_t step);

  /// Local steps that one pass over the training set takes.
  uint64_t steps_per_epoch() const { return steps_per_epoch_; }

 private:
  ShardedOrder() = default;
  void PrepareEpoch(uint64_t epoch);

  uint32_t batch_ = 0;
  uint64_t seed_ = 0;
  uint32_t worker_ = 0;
  uint32_t workers_ = 0;
  uint64_t steps_per_epoch_ = 0;
  uint64_t epoch_ = 0;
  std::vector<uint32_t> order_;     // the whole set's order in epoch_
  std::vector<uint32_t> selected_;  // the last batch asked for
};

}  // namespace interlude
