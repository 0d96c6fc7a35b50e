#include "coordinator/sync_board.h"

#include <chrono>

namespace interlude {

void SyncBoard::BeginRound(uint32_t round, uint32_t num_chunks) {
  MutexLock lock(mutex_);
  rounds_[round].assign(num_chunks, Posted{});
  while (!rounds_.empty() && rounds_.begin()->first + 1 < round) rounds_.erase(rounds_.begin());
}

void SyncBoard::Post(uint32_t round, uint32_t chunk, const ChunkHashes& hashes) {
  MutexLock lock(mutex_);
  rounds_.at(round).at(chunk) = Posted{true, hashes};
  posted_.NotifyAll();
}

void SyncBoard::Close() {
  MutexLock lock(mutex_);
  closed_ = true;
  posted_.NotifyAll();
}

StatusOr<ChunkHashes> SyncBoard::Wait(uint32_t round, uint32_t chunk,
                                      const std::function<bool()>& given_up) const {
  MutexLock lock(mutex_);
  for (;;) {
    const auto it = rounds_.find(round);
    if (it == rounds_.end()) {
      return FailedPreconditionError("round {} is not open; its sync delta cannot be had", round);
    }
    if (chunk >= it->second.size()) {
      return OutOfRangeError("chunk {} of a sync delta with {} chunks", chunk, it->second.size());
    }
    if (given_up())
      return CancelledError("nobody waits for chunk {} of round {} any more", chunk, round);
    if (it->second[chunk].there) return it->second[chunk].hashes;
    if (closed_)
      return UnavailableError("the run has ended before chunk {} of round {} was made", chunk,
                              round);
    posted_.WaitFor(mutex_, std::chrono::milliseconds(200));
  }
}

}  // namespace interlude
