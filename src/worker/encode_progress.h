// Which chunks are encoded, for the threads that may only touch those that are.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "base/status.h"

namespace interlude {

/// Any thread. The payloads lie in a buffer that holds them all, so a number is all that is handed
/// over, and a broken upload can begin again at any chunk.
class EncodeProgress {
 public:
  explicit EncodeProgress(uint32_t chunks) : encoded_(chunks), missing_(chunks) {}

  /// Each chunk once, in any order.
  void ChunkEncoded(uint32_t chunk) {
    MutexLock lock(mutex_);
    encoded_[chunk] = true;
    --missing_;
    changed_.NotifyAll();
  }

  /// No more chunks will come.
  void Abandon() {
    MutexLock lock(mutex_);
    abandoned_ = true;
    changed_.NotifyAll();
  }
  /// Encoding cannot go on: AwaitAll returns why. Those that wait for a chunk wait on until
  /// Abandon, so that this failure is known before theirs.
  void Fail(Status failure) {
    MutexLock lock(mutex_);
    if (failure_.ok()) failure_ = std::move(failure);
    changed_.NotifyAll();
  }
  /// Whether what is not encoded yet still will be wanted.
  bool wanted() const {
    MutexLock lock(mutex_);
    return failure_.ok() && !abandoned_;
  }

  /// Waits until `chunk` is encoded. False when it never will be.
  bool AwaitChunk(uint32_t chunk) {
    MutexLock lock(mutex_);
    while (!encoded_[chunk] && !abandoned_) changed_.Wait(mutex_);
    return encoded_[chunk];
  }

  /// Waits until all are encoded, or for the failure; Cancelled when abandoned.
  Status AwaitAll() {
    MutexLock lock(mutex_);
    while (missing_ > 0 && failure_.ok() && !abandoned_) changed_.Wait(mutex_);
    if (missing_ == 0 || !failure_.ok()) return failure_;
    return CancelledError("encoding was given up with {} chunks to do", missing_);
  }

 private:
  mutable Mutex mutex_;
  CondVar changed_;
  std::vector<bool> encoded_ INTERLUDE_GUARDED_BY(mutex_);
  uint32_t missing_ INTERLUDE_GUARDED_BY(mutex_);
  Status failure_ INTERLUDE_GUARDED_BY(mutex_);
  bool abandoned_ INTERLUDE_GUARDED_BY(mutex_) = false;
};

}  // namespace interlude
