// Where the round thread posts finished sync chunks and download streams wait for them; and what
// the base of each chunk was after each round that is retained.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "base/hash128.h"
#include "base/mutex.h"
#include "base/status.h"
#include "protocol/types.h"
#include "wire/chunk_stream.h"

namespace interlude {

/// Any thread.
class SyncBoard {
 public:
  /// `retained`: committed rounds whose sync deltas can be had besides the open one's.
  explicit SyncBoard(uint32_t retained) : retained_(retained) {}

  /// The first base, which stands after 0 rounds.
  void PostFirstBase(const std::vector<Hash128>& chunk_hashes);
  /// Round `round` may be asked for from now on; the round whose sync delta is retained no longer
  /// is forgotten but for its bases, from which those that are retained lead on.
  void BeginRound(uint32_t round, uint32_t num_chunks);
  /// `contributors`: whose deltas are in it.
  void Post(uint32_t round, uint32_t chunk, const ChunkHashes& hashes,
            std::vector<WorkerId> contributors);
  /// Before anybody asks: what is known of a round that was made before the coordinator was killed;
  /// by chunk, nothing: it cannot be had.
  struct Known {
    ChunkHashes hashes;
    std::vector<WorkerId> contributors;
  };
  void Restore(uint32_t round, const std::vector<std::optional<Known>>& chunks);
  /// No more rounds: all waiting streams end with Unavailable.
  void Close();

  /// Waits for a chunk. `given_up` is asked a few times a second and ends the wait with Cancelled.
  /// NotFound for a round that is forgotten, FailedPrecondition for one that has not begun,
  /// OutOfRange for the chunk's number.
  /// The hashes say, in `dropped`, whether the delta of `worker` is not in it.
  StatusOr<ChunkHashes> Wait(uint32_t round, uint32_t chunk, WorkerId worker,
                             const std::function<bool()>& given_up) const;

  /// By chunk, the newest round after which the base had this hash, if the retained sync deltas
  /// lead on from there; else kNoBase. As many hashes as there are chunks.
  std::vector<uint32_t> NewestRounds(const std::vector<Hash128>& chunk_hashes) const;

 private:
  struct Posted {
    bool there = false;
    ChunkHashes hashes;
    std::vector<WorkerId> contributors;
  };
  uint32_t NewestRound(uint32_t chunk, const Hash128& hash) const INTERLUDE_REQUIRES(mutex_);

  const uint32_t retained_;
  mutable Mutex mutex_;
  mutable CondVar posted_;
  std::map<uint32_t, std::vector<Posted>> rounds_ INTERLUDE_GUARDED_BY(mutex_);
  bool closed_ INTERLUDE_GUARDED_BY(mutex_) = false;
};

}  // namespace interlude
