// Where the round thread posts finished sync chunks and download streams wait for them.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <vector>

#include "base/mutex.h"
#include "base/status.h"
#include "wire/chunk_stream.h"

namespace interlude {

/// Any thread.
class SyncBoard {
 public:
  /// Round `round` may be asked for from now on; rounds before `round - 1` are forgotten.
  void BeginRound(uint32_t round, uint32_t num_chunks);
  void Post(uint32_t round, uint32_t chunk, const ChunkHashes& hashes);
  /// No more rounds: all waiting streams end with Unavailable.
  void Close();

  /// Waits for a chunk. `given_up` is asked a few times a second and ends the wait with Cancelled.
  /// FailedPrecondition for a round that is not open, OutOfRange for the chunk's number.
  StatusOr<ChunkHashes> Wait(uint32_t round, uint32_t chunk,
                             const std::function<bool()>& given_up) const;

 private:
  struct Posted {
    bool there = false;
    ChunkHashes hashes;
  };
  mutable Mutex mutex_;
  mutable CondVar posted_;
  std::map<uint32_t, std::vector<Posted>> rounds_ INTERLUDE_GUARDED_BY(mutex_);
  bool closed_ INTERLUDE_GUARDED_BY(mutex_) = false;
};

}  // namespace interlude
