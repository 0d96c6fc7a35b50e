// Received delta chunks on their way into the journal: a chunk that is sealed is never written
// again, so the round thread can read it while a confused worker sends it twice.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <tuple>
#include <vector>

#include "base/mutex.h"
#include "base/status.h"
#include "codec/chunk_codec.h"
#include "layout/layout.h"
#include "protocol/types.h"
#include "store/journal.h"

namespace interlude {

/// Payload bytes of every chunk of a layout.
std::vector<size_t> ChunkPayloadBytes(const Layout& layout, Codec codec);

/// Any thread, as stated. Slots: a worker's id; the last one is the sync delta's.
class DeltaStore {
 public:
  static StatusOr<std::unique_ptr<DeltaStore>> Create(const std::string& run_directory,
                                                      const Layout& layout, Codec codec,
                                                      uint32_t workers);

  /// Round thread. The round before the last is forgotten.
  Status BeginRound(uint32_t round);

  /// A handler. Stores a piece; does nothing for a sealed chunk. One thread at a time for a worker.
  Status Write(uint32_t round, WorkerId worker, uint32_t chunk, uint64_t offset,
               std::span<const std::byte> bytes);
  /// The same handler. Checks a whole chunk (sizes, finite scales) and seals it.
  Status Seal(uint32_t round, WorkerId worker, uint32_t chunk, const Hash128& payload_hash);
  /// The round thread, for a chunk of an open round that is whole.
  std::span<const std::byte> Delta(uint32_t round, WorkerId worker, uint32_t chunk) const;

  /// Round thread: where the sync chunk is made.
  std::span<std::byte> MutableSync(uint32_t round, uint32_t chunk);
  Status SealSync(uint32_t round, uint32_t chunk, const Hash128& payload_hash);
  std::span<const std::byte> Sync(uint32_t round, uint32_t chunk) const;
  /// A handler. FailedPrecondition when the round is no longer in the journal.
  StatusOr<std::span<const std::byte>> FindSync(uint32_t round, uint32_t chunk) const;

  const std::vector<size_t>& chunk_bytes() const { return chunk_bytes_; }

 private:
  DeltaStore(const Layout& layout, Codec codec, uint32_t workers, std::unique_ptr<Journal> journal);
  bool Sealed(uint32_t round, WorkerId worker, uint32_t chunk) const;

  const Layout layout_;
  const Codec codec_;
  const uint32_t sync_slot_;
  const std::vector<size_t> chunk_bytes_;
  const std::unique_ptr<Journal> journal_;
  mutable Mutex mutex_;
  std::set<std::tuple<uint32_t, WorkerId, uint32_t>> sealed_ INTERLUDE_GUARDED_BY(mutex_);
};

}  // namespace interlude
