// How far encoding has come, for the threads that may only touch chunks that are encoded.
#pragma once

#include <cstdint>

#include "base/mutex.h"

namespace interlude {

/// Any thread. Chunks are encoded in order 0, 1, 2, ... into a buffer that holds them all, so a
/// number is all that is handed over, and a broken upload can begin again at any chunk.
class EncodeProgress {
 public:
  void ChunkEncoded() {
    MutexLock lock(mutex_);
    ++encoded_;
    changed_.NotifyAll();
  }

  /// No more chunks will come.
  void Abandon() {
    MutexLock lock(mutex_);
    abandoned_ = true;
    changed_.NotifyAll();
  }

  /// Waits until `chunk` is encoded. False when it never will be.
  bool AwaitChunk(uint32_t chunk) {
    MutexLock lock(mutex_);
    while (encoded_ <= chunk && !abandoned_) changed_.Wait(mutex_);
    return encoded_ > chunk;
  }

 private:
  Mutex mutex_;
  CondVar changed_;
  uint32_t encoded_ INTERLUDE_GUARDED_BY(mutex_) = 0;
  bool abandoned_ INTERLUDE_GUARDED_BY(mutex_) = false;
};

}  // namespace interlude
