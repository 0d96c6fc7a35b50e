// Received delta chunks on their way into the journal, and the sync deltas that are made of them. A
// chunk that is sealed is never written again, so the round thread can read it while a confused
// worker sends it twice.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <tuple>
#include <vector>

#include "base/mutex.h"
#include "base/status.h"
#include "codec/chunk_codec.h"
#include "coordinator/replay.h"
#include "layout/layout.h"
#include "protocol/types.h"
#include "store/journal.h"

namespace interlude {

/// Payload bytes of every chunk of a layout.
std::vector<size_t> ChunkPayloadBytes(const Layout& layout, Codec codec);

/// How long what is stored stays.
struct DeltaStoreOptions {
  uint32_t workers = 1;
  uint32_t kept_rounds = 2;     // rounds whose deltas stay, the open one among them
  uint32_t retained_syncs = 2;  // committed rounds whose sync deltas stay, besides the open one's
};

/// Any thread, as stated. Two journals: DIR/journal holds the deltas of some rounds, a worker's in
/// the slot of its id, and what else it takes to make the rounds again; DIR/syncs holds sync
/// deltas.
class DeltaStore final : public ReplayStore {
 public:
  static StatusOr<std::unique_ptr<DeltaStore>> Create(const std::string& run_directory,
                                                      const Layout& layout, Codec codec,
                                                      const DeltaStoreOptions& options);
  /// Takes up what a coordinator that was killed has left. Errors as Journal::Open for
  /// DIR/journal; sync deltas that cannot be used are as good as none.
  static StatusOr<std::unique_ptr<DeltaStore>> Open(const std::string& run_directory,
                                                    const Layout& layout, Codec codec,
                                                    const DeltaStoreOptions& options);

  /// Round thread. The oldest deltas and the oldest sync delta are forgotten. Does nothing for a
  /// round that was begun before the coordinator was killed.
  Status BeginRound(uint32_t round);

  /// A handler. Stores a piece; does nothing for a sealed chunk. One thread at a time for a worker.
  Status Write(uint32_t round, WorkerId worker, uint32_t chunk, uint64_t offset,
               std::span<const std::byte> bytes);
  /// The same handler. Checks a whole chunk (sizes, finite scales) and seals it.
  Status Seal(uint32_t round, WorkerId worker, uint32_t chunk, const Hash128& payload_hash);
  /// Any thread: the chunks of a delta that are not sealed, ascending.
  std::vector<uint32_t> Missing(uint32_t round, WorkerId worker) const;
  /// The round thread, for a chunk of an open round that is whole.
  std::span<const std::byte> Delta(uint32_t round, WorkerId worker, uint32_t chunk) const;

  /// Round thread: where the sync chunk is made.
  std::span<std::byte> MutableSync(uint32_t round, uint32_t chunk);
  Status SealSync(uint32_t round, uint32_t chunk, const Hash128& payload_hash) override;
  /// A handler, for a member: its rounds are not forgotten before it has applied them. NotFound
  /// when the round is no longer retained.
  StatusOr<std::span<const std::byte>> FindSync(uint32_t round, uint32_t chunk) const;
  /// A handler, for a worker that catches up and which rounds may overtake: as FindSync, but a
  /// copy. `out` has the chunk's size.
  Status CopySync(uint32_t round, uint32_t chunk, std::span<std::byte> out) const;

  // The round thread: what it takes to make the round again.

  /// `members`: how many the round has; it has begun only when so many are recorded.
  Status SetMember(uint32_t round, WorkerId worker, uint64_t samples, uint64_t session,
                   uint32_t members);
  Status RecordMerge(const MergeOrder& order);
  Status RecordMerged(uint32_t round, uint32_t chunk, const Hash128& base_hash);
  Status RecordCommit(uint32_t round, const Hash128& root);

  // Recovery, before the round thread begins.

  std::vector<JournalRound> Recorded() const override;
  StatusOr<std::vector<std::span<const std::byte>>> WholeDeltas(
      const MergeOrder& order) const override;
  std::span<std::byte> SyncPlace(uint32_t round, uint32_t chunk,
                                 std::vector<std::byte>& scratch) override;
  std::optional<Hash128> WholeSync(uint32_t round, uint32_t chunk) const override;

  const std::vector<size_t>& chunk_bytes() const { return chunk_bytes_; }

 private:
  DeltaStore(const Layout& layout, Codec codec, std::unique_ptr<Journal> journal,
             std::unique_ptr<Journal> syncs);
  /// Those sealed chunks of the newest rounds that are whole.
  void FindSealed();
  bool Sealed(uint32_t round, WorkerId worker, uint32_t chunk) const;

  const Layout layout_;
  const Codec codec_;
  const std::vector<size_t> chunk_bytes_;
  const std::unique_ptr<Journal> journal_;
  const std::unique_ptr<Journal> syncs_;
  /// Held while a sync chunk is copied, and while its file is given to a later round.
  mutable Mutex syncs_mutex_;
  mutable Mutex mutex_;
  std::set<std::tuple<uint32_t, WorkerId, uint32_t>> sealed_ INTERLUDE_GUARDED_BY(mutex_);
};

}  // namespace interlude
