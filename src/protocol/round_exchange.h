// One round's exchange, as the coordinator sees it: which member's delta chunks are in, which chunk
// may be merged, which sync chunk may be sent, when the round is committed and when it is over.
// Pure: no I/O, no threads, no clock. Owned by the coordinator's round thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "base/hash128.h"
#include "base/status.h"
#include "protocol/types.h"

namespace interlude {

/// Invariants (each has its test, see docs/protocol.md):
///  - every chunk is ordered for merging at most once, and only with at least one contributor
///  - contributors are exactly the members whose chunk had arrived, in worker-id order
///  - a chunk is not ordered while a member that is still there has not delivered it
///  - a sync chunk is free to be sent only after it was merged; with a barrier only after all were
///  - with a barrier no chunk is ordered before every present member has delivered all its chunks
///  - the round commits exactly when all chunks are merged, ends when every present member reported
class RoundExchange {
 public:
  /// `members` in any order, at least one, none twice; num_chunks >= 1.
  RoundExchange(uint32_t round, uint32_t num_chunks, bool barrier, std::vector<WorkerId> members,
                Nanoseconds begin);

  // Events. Errors refuse what a worker sent and leave the state as it was.

  /// A worker begins (or after a lost connection begins again) to upload. FailedPrecondition when
  /// it is no member or has left; InvalidArgument when it names another number of samples than
  /// before, or none.
  Status UploadBegun(WorkerId worker, uint64_t samples);

  /// A delta chunk is complete and stored. True when it was new, false for a duplicate (no harm).
  /// FailedPrecondition when UploadBegun did not come first; OutOfRange for the chunk's number.
  StatusOr<bool> ChunkReceived(WorkerId worker, uint32_t chunk, Nanoseconds now);

  /// A member is gone. What it delivered still counts. Nothing for one that is no member.
  void MemberLeft(WorkerId worker, Nanoseconds now);

  /// A member trained from a wrong base: as if it had left and had never delivered anything. Only
  /// while none of its chunks is ordered. Nothing for one that is no member.
  void Discard(WorkerId worker, Nanoseconds now);

  /// The merge that NextMerge ordered is done.
  void ChunkMerged(uint32_t chunk, Nanoseconds now);

  /// Set by the caller at the commit, before any Reported can come. When all members are gone by
  /// then, the round ends with it.
  void SetCommittedRoot(const Hash128& root);

  /// A member has applied and verified the round. FailedPrecondition before the commit or when it
  /// is no member; DataLoss when `root` is not the committed one (the caller drops the worker). A
  /// second report is no harm.
  Status Reported(WorkerId worker, const Hash128& root, Nanoseconds now);

  /// The round before ended later than this one was started: rounds tile, so this one begins there.
  void SetBegin(Nanoseconds begin) { times_.begin = begin; }

  // Decisions.

  /// The lowest chunk that may be merged now and has not been handed out; each chunk once.
  std::optional<MergeOrder> NextMerge();

  /// The chunk is free to be sent to the members.
  bool Sendable(uint32_t chunk) const;

  bool committed() const { return merged_ == num_chunks(); }
  /// Committed, the root known, and every member still there has reported.
  bool ended() const { return committed_root_.has_value() && unreported_ == 0; }
  /// No member is left and not all chunks can be merged: the round cannot be committed.
  bool abandoned() const;

  uint32_t round() const { return round_; }
  uint32_t num_chunks() const { return static_cast<uint32_t>(chunks_.size()); }
  uint32_t merged_chunks() const { return merged_; }
  const RoundTimes& times() const { return times_; }
  /// Members still there, ascending.
  std::vector<WorkerId> present() const;
  bool is_present(WorkerId worker) const;
  /// Members that delivered at least one chunk, with their samples, ascending.
  std::vector<Contributor> contributors() const;
  /// Delta chunks of this member that are in.
  uint32_t chunks_from(WorkerId worker) const;

 private:
  struct Member {
    bool present = true;
    bool begun = false;
    bool reported = false;
    uint64_t samples = 0;
    std::vector<bool> arrived;
    uint32_t arrived_count = 0;
  };
  struct Chunk {
    uint32_t delivered = 0;  // members that delivered it, those that left since among them
    uint32_t awaited = 0;    // present members that have not
    bool ordered = false;
    bool merged = false;
  };

  bool MayMerge(const Chunk& chunk) const;
  bool Delivering(const Member& member) const;
  StatusOr<Member*> FindPresent(WorkerId worker);

  const uint32_t round_;
  const bool barrier_;
  std::map<WorkerId, Member> members_;
  std::vector<Chunk> chunks_;
  uint32_t present_ = 0;
  uint32_t delivering_ = 0;  // present members that have not delivered all chunks
  uint32_t unreported_ = 0;  // present members that have not reported
  uint32_t merged_ = 0;
  uint32_t first_unordered_ = 0;
  std::optional<Hash128> committed_root_;
  bool any_delta_ = false;
  Nanoseconds last_left_{0};
  RoundTimes times_;
};

}  // namespace interlude
