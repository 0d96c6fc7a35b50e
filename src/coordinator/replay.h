// Making a chunk's merges again from what the journal has of them. The same arithmetic from the
// same payloads gives the same bits, which the recorded hashes prove.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "coordinator/merger.h"
#include "coordinator/sync_board.h"
#include "ledger/recorder.h"
#include "store/journal.h"

namespace interlude {

/// Where payloads come from and sync deltas go. Different chunks from different threads.
class ReplayStore {
 public:
  virtual ~ReplayStore() = default;
  /// What the journal says of its rounds, ascending.
  virtual std::vector<JournalRound> Recorded() const = 0;
  /// The payloads that the order names. DataLoss when one is not what was sealed.
  virtual StatusOr<std::vector<std::span<const std::byte>>> WholeDeltas(
      const MergeOrder& order) const = 0;
  /// Where the sync chunk belongs or, where its round is not kept, `scratch`, which is given its
  /// size.
  virtual std::span<std::byte> SyncPlace(uint32_t round, uint32_t chunk,
                                         std::vector<std::byte>& scratch) = 0;
  virtual Status SealSync(uint32_t round, uint32_t chunk, const Hash128& payload_hash) = 0;
  /// The payload's hash of a sync chunk that is there and whole.
  virtual std::optional<Hash128> WholeSync(uint32_t round, uint32_t chunk) const = 0;
};

/// As ReplayStore says, from a journal.
std::vector<JournalRound> RecordedIn(const Journal& journal);
StatusOr<std::vector<std::span<const std::byte>>> WholeDeltasIn(const Journal& journal,
                                                                const MergeOrder& order);

/// A sync delta's chunk that can be had.
using RecoveredSync = SyncBoard::Known;

/// One chunk on its way from the snapshot to what the journal has last. Different chunks from
/// different threads.
class ChunkReplay {
 public:
  /// All outlive it.
  ChunkReplay(Merger& merger, ReplayStore& store, const std::map<uint32_t, JournalRound>& rounds,
              uint32_t chunk, const Clock& clock)
      : merger_(merger),
        store_(store),
        rounds_(rounds),
        chunk_(chunk),
        timer_(Phase::kMerge, kBeforeRounds, kNoWorker, clock) {}

  /// DataLoss where the merge of a committed round cannot be made again, or comes to other bits.
  Status Run(uint32_t committed_rounds);

  const std::map<uint32_t, RecoveredSync>& syncs() const { return syncs_; }
  const std::map<uint32_t, Hash128>& base_hashes() const { return base_hashes_; }
  const std::vector<MergeOrder>& open_orders() const { return open_orders_; }
  uint64_t merges() const { return merges_; }

 private:
  StatusOr<MergeOrder> OrderOf(const JournalRound& round, const std::vector<uint32_t>& slots) const;
  Status Redo(const JournalRound& round, const MergeOrder& order);
  void KeepWhatIsThere(const JournalRound& round, const MergeOrder& order);

  Merger& merger_;
  ReplayStore& store_;
  const std::map<uint32_t, JournalRound>& rounds_;
  const uint32_t chunk_;
  PhaseTimer timer_;
  std::map<uint32_t, RecoveredSync> syncs_;
  std::map<uint32_t, Hash128> base_hashes_;  // after each round
  std::vector<MergeOrder> open_orders_;
  uint64_t merges_ = 0;
};

}  // namespace interlude
