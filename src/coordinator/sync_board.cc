#include "coordinator/sync_board.h"

#include <algorithm>
#include <chrono>

namespace interlude {

void SyncBoard::PostFirstBase(const std::vector<Hash128>& chunk_hashes) {
  MutexLock lock(mutex_);
  std::vector<Posted>& chunks = rounds_[kFirstRound - 1];
  chunks.clear();
  for (const Hash128& hash : chunk_hashes) {
    chunks.push_back({true, {.payload = {}, .base = hash}, {}});
  }
}

void SyncBoard::BeginRound(uint32_t round, uint32_t num_chunks) {
  MutexLock lock(mutex_);
  rounds_[round].assign(num_chunks, Posted{});
  while (rounds_.begin()->first + retained_ + 1 < round) rounds_.erase(rounds_.begin());
}

void SyncBoard::Post(uint32_t round, uint32_t chunk, const ChunkHashes& hashes,
                     std::vector<WorkerId> contributors) {
  MutexLock lock(mutex_);
  rounds_.at(round).at(chunk) = Posted{true, hashes, std::move(contributors)};
  posted_.NotifyAll();
}

void SyncBoard::Restore(uint32_t round, const std::vector<std::optional<Known>>& chunks) {
  MutexLock lock(mutex_);
  std::vector<Posted>& posted = rounds_[round];
  posted.assign(chunks.size(), Posted{});
  for (size_t chunk = 0; chunk < chunks.size(); ++chunk) {
    if (chunks[chunk]) posted[chunk] = {true, chunks[chunk]->hashes, chunks[chunk]->contributors};
  }
}

void SyncBoard::Close() {
  MutexLock lock(mutex_);
  closed_ = true;
  posted_.NotifyAll();
}

StatusOr<ChunkHashes> SyncBoard::Wait(uint32_t round, uint32_t chunk, WorkerId worker,
                                      const std::function<bool()>& given_up) const {
  MutexLock lock(mutex_);
  for (;;) {
    const auto it = rounds_.find(round);
    const uint32_t newest = rounds_.empty() ? 0 : rounds_.rbegin()->first;
    if (round < newest && newest - round > retained_) {
      return NotFoundError("the sync delta of round {} is no longer retained", round);
    }
    if (it == rounds_.end() || round < kFirstRound) {
      return FailedPreconditionError("round {} is not open; its sync delta cannot be had", round);
    }
    if (chunk >= it->second.size()) {
      return OutOfRangeError("chunk {} of a sync delta with {} chunks", chunk, it->second.size());
    }
    if (given_up())
      return CancelledError("nobody waits for chunk {} of round {} any more", chunk, round);
    if (const Posted& posted = it->second[chunk]; posted.there) {
      if (posted.hashes.payload == Hash128{}) {
        return NotFoundError("the sync delta of round {} was lost with the coordinator", round);
      }
      ChunkHashes hashes = posted.hashes;
      const auto& in_it = posted.contributors;
      hashes.dropped = std::find(in_it.begin(), in_it.end(), worker) == in_it.end();
      return hashes;
    }
    if (closed_)
      return UnavailableError("the run has ended before chunk {} of round {} was made", chunk,
                              round);
    posted_.WaitFor(mutex_, std::chrono::milliseconds(200));
  }
}

uint32_t SyncBoard::NewestRound(uint32_t chunk, const Hash128& hash) const {
  for (auto it = rounds_.rbegin(); it != rounds_.rend(); ++it) {
    const Posted& posted = it->second.at(chunk);
    if (posted.there && posted.hashes.base == hash) return it->first;
  }
  return kNoBase;
}

std::vector<uint32_t> SyncBoard::NewestRounds(const std::vector<Hash128>& chunk_hashes) const {
  MutexLock lock(mutex_);
  std::vector<uint32_t> rounds;
  rounds.reserve(chunk_hashes.size());
  for (const Hash128& hash : chunk_hashes)
    rounds.push_back(NewestRound(static_cast<uint32_t>(rounds.size()), hash));
  return rounds;
}

}  // namespace interlude
