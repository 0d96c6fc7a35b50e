#include "train/shard.h"

#include <limits>
#include <numeric>

#include "base/rng.h"

namespace interlude {

uint64_t SeedOfWorker(uint64_t seed, uint32_t worker) {
  return Mix64(seed ^ Mix64(uint64_t{worker} + 1));
}

StatusOr<ShardedOrder> ShardedOrder::Create(uint64_t samples, uint32_t batch, uint64_t seed,
                                            uint32_t worker, uint32_t workers) {
  if (worker >= workers) {
    return InvalidArgumentError("worker {} of {} workers: numbers go from 0 to {}", worker, workers,
                                static_cast<int64_t>(workers) - 1);
  }
  if (samples > std::numeric_limits<uint32_t>::max()) {
    return InvalidArgumentError("{} training samples; the limit is {}", samples,
                                std::numeric_limits<uint32_t>::max());
  }
  if (batch == 0) return InvalidArgumentError("train.batch is 0; it must be at least 1");
  const uint64_t share = samples / workers;
  if (share < batch && workers == 1) {
    return InvalidArgumentError(
        "{} training samples are fewer than train.batch = {}; lower train.batch or raise "
        "data.train_limit",
        samples, batch);
  }
  if (share < batch) {
    return InvalidArgumentError(
        "{} training samples among {} workers are {} each, fewer than train.batch = {}; lower "
        "train.batch "
        "or raise data.train_limit",
        samples, workers, share, batch);
  }
  ShardedOrder order;
  order.batch_ = batch;
  order.seed_ = seed;
  order.worker_ = worker;
  order.workers_ = workers;
  order.steps_per_epoch_ = share / batch;
  order.order_.resize(samples);
  order.selected_.resize(batch);
  order.PrepareEpoch(0);
  return order;
}

void ShardedOrder::PrepareEpoch(uint64_t epoch) {
  std::iota(order_.begin(), order_.end(), 0u);
  Rng rng(Mix64(seed_ ^ Mix64(epoch)));
  rng.Shuffle(std::span<uint32_t>(order_));
  epoch_ = epoch;
}

std::span<const uint32_t> ShardedOrder::Batch(uint64_t step) {
  const uint64_t epoch = step / steps_per_epoch_;
  if (epoch != epoch_) PrepareEpoch(epoch);
  const uint64_t first = step % steps_per_epoch_ * batch_;
  for (uint64_t i = 0; i < batch_; ++i) {
    selected_[i] = order_[(first + i) * workers_ + worker_];
  }
  return selected_;
}

}  // namespace interlude
