// Prepares batches ahead of the one who trains: threads read, transform and write pictures, in any
// order, and the batches come out in the order in which they were asked for. What is in them does
// not depend on the threads.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <thread>
#include <vector>

#include "base/memory_account.h"
#include "base/status.h"
#include "images/pictures.h"
#include "images/transform.h"

namespace interlude {

/// What to prepare: the samples of one batch, and how.
struct BatchRequest {
  uint64_t epoch = 0;
  std::vector<uint32_t> samples;
  bool training = true;  // false: what evaluation sees, and `epoch` stands for nothing
};

/// Where the loader's time went, since it began.
struct LoaderCounters {
  int64_t wait_ns = 0;      // the consumer waited for a batch
  int64_t cpu_ns = 0;       // of the loader's threads, or of the consumer where there are none
  uint64_t decoded = 0;     // pictures from a file
  uint64_t cache_hits = 0;  // pictures from the cache
};

/// A prepared batch. Gives its memory back to the loader when it goes; may outlive the loader.
class LoadedBatch {
 public:
  /// samples x channels x size x size.
  std::span<float> images() { return buffer_->floats().first(elements_); }
  std::span<const int64_t> labels() const { return labels_; }

 private:
  friend class BatchLoader;
  std::shared_ptr<Buffer> buffer_;
  size_t elements_ = 0;
  std::vector<int64_t> labels_;
};

struct LoaderOptions {
  int threads = 1;        // 0: the consumer prepares each batch itself when it takes it
  uint32_t prefetch = 2;  // batches that are prepared ahead, besides one in the consumer's hands
};

/// One consumer thread calls Request, Take and Clear; counters may be read by any. Memory: prefetch
/// + 1 batches, each as large as the largest that was asked for.
class BatchLoader {
 public:
  /// All but the options outlive it. `bad` is touched in Take alone.
  BatchLoader(const Pictures& pictures, const Transform& transform, BadPictures& bad,
              const LoaderOptions& options);
  /// Waits at most for the pictures that are in work.
  ~BatchLoader();
  BatchLoader(const BatchLoader&) = delete;
  BatchLoader& operator=(const BatchLoader&) = delete;

  /// Puts a batch, of at least one sample, at the end of the queue; does not wait. The samples
  /// exist.
  void Request(BatchRequest request);
  /// Waits for the batch that was asked for first. DataLoss when too many pictures cannot be read;
  /// the batch is gone then. At least one was asked for, and the consumer holds at most `prefetch`
  /// others.
  StatusOr<LoadedBatch> Take();
  /// Forgets all that was asked for and not taken.
  void Clear();
  /// Batches asked for and not taken.
  size_t requested() const;

  LoaderCounters counters() const;

 private:
  struct State;  // what threads, batches in the consumer's hands and the loader share

  const LoaderOptions options_;
  const std::shared_ptr<State> state_;
  BadPictures& bad_;
  std::vector<std::thread> threads_;
};

}  // namespace interlude
