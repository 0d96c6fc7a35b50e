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
///  - every chunk is ordered for merging at most once; without a contributor only when nobody is
///    awaited any more
///  - contributors are exactly the members whose chunk had arrived, in worker-id order
///  - a chunk is not ordered while a member that is awaited has not delivered it
///  - a sync chunk is free to be sent only after it was merged; with a barrier only after all were
///  - with a barrier no chunk is ordered before every present member has delivered all its chunks
///  - the round commits exactly when all chunks are merged, ends when every awaited member reported
class RoundExchange {
 public:
  /// `members` in any order, at least one, none twice; num_chunks >= 1.
  RoundExchange(uint32_t round, uint32_t num_chunks, bool barrier, std::vector<WorkerId> members,
                Nanoseconds begin);

  // Events. Errors refuse what a worker sent and leave the state as it was; FailedPrecondition when
  // it is no member, Aborted when it was one and its word no longer counts: it has left or was
  // discarded.

  /// A worker begins (or after a lost connection begins again) to upload. InvalidArgument when it
  /// names another number of samples than before, or none.
  Status UploadBegun(WorkerId worker, uint64_t samples);

  /// A delta chunk is complete and stored. True when it was new and counts, false for a duplicate
  /// or when the chunk was ordered without it (no harm).
  /// FailedPrecondition when UploadBegun did not come first; OutOfRange for the chunk's number.
  StatusOr<bool> ChunkReceived(WorkerId worker, uint32_t chunk, Nanoseconds now);

  /// A member is gone. What it delivered still counts. Nothing for one that is no member.
  void MemberLeft(WorkerId worker, Nanoseconds now);

  /// A member is late: nothing of the round waits for it any more. What it delivered counts, and
  /// what it still delivers of chunks that are not ordered. Nothing for one that is not awaited.
  void CloseOut(WorkerId worker, Nanoseconds now);

  /// A member trained from a wrong base: as if it had left and had delivered nothing of what is not
  /// ordered yet. Nothing for one that is no member.
  void Discard(WorkerId worker, Nanoseconds now);

  /// The merge that NextMerge ordered is done.
  void ChunkMerged(uint32_t chunk, Nanoseconds now);

  /// Set by the caller at the commit, before any Reported can come. When all members are gone by
  /// then, the round ends with it.
  void SetCommittedRoot(const Hash128& root);

  /// A member has applied and verified the round. FailedPrecondition before the commit; DataLoss
  /// when `root` is not the committed one (the caller drops the worker). A second report is no
  /// harm.
  Status Reported(WorkerId worker, const Hash128& root, Nanoseconds now);

  /// The round before ended later than this one was started: rounds tile, so this one begins there.
  void SetBegin(Nanoseconds begin) { times_.begin = begin; }

  // Decisions.

  /// The lowest chunk that may be merged now and has not been handed out; each chunk once.
  /// `with_nobody`: also one that nobody has delivered, where nobody is awaited.
  std::optional<MergeOrder> NextMerge(bool with_nobody = false);

  /// A member for which those wait who have delivered what it has not, or have reported.
  struct Awaited {
    WorkerId worker = 0;
    uint32_t chunk = 0;  // the lowest that it has not delivered; num_chunks(): its report
    uint32_t done = 0;   // members that have delivered the chunk, or reported
    uint32_t done_and_there = 0;
    uint32_t members = 0;        // still there, it among them
    Nanoseconds others_took{0};  // those, since the start or the commit
  };
  /// Whoever is awaited while as many are done as are a quorum of those there. With `gone_too`
  /// those that were done and left count: somebody waits whose time they stand for.
  std::vector<Awaited> AwaitedByQuorum(double quorum, bool gone_too) const;
  /// Whoever is awaited while at least so many are done.
  std::vector<Awaited> AwaitedBy(uint32_t done) const;

  /// The chunk is free to be sent to the members.
  bool Sendable(uint32_t chunk) const;

  bool committed() const { return merged_ == num_chunks(); }
  /// Committed, the root known, and every member still there has reported.
  bool ended() const { return committed_root_.has_value() && unreported_ == 0; }
  /// Nobody is awaited and some chunk was delivered by none.
  bool abandoned() const;

  uint32_t round() const { return round_; }
  uint32_t num_chunks() const { return static_cast<uint32_t>(chunks_.size()); }
  uint32_t merged_chunks() const { return merged_; }
  const RoundTimes& times() const { return times_; }
  /// When the members were told to begin.
  Nanoseconds started() const { return started_; }
  /// Members that are awaited, ascending.
  std::vector<WorkerId> present() const;
  bool is_present(WorkerId worker) const;
  bool is_member(WorkerId worker) const { return members_.contains(worker); }
  /// When a member's delta began and ended to come; nothing unless all of it came.
  struct Delivery {
    Nanoseconds first{0};
    Nanoseconds last{0};
  };
  std::optional<Delivery> delivery_of(WorkerId worker) const;
  /// After a crash of the coordinator: a merge that was made again, and may be sent already.
  void RestoreMerged(const MergeOrder& order, Nanoseconds now);
  bool was_restored(uint32_t chunk) const { return chunks_[chunk].restored; }
  /// Members that delivered at least one chunk, with their samples, ascending.
  std::vector<Contributor> contributors() const;
  /// Delta chunks of this member that are in.
  uint32_t chunks_from(WorkerId worker) const;

 private:
  struct Member {
    bool awaited = true;
    bool accepted = true;  // its chunks still count
    bool begun = false;
    bool reported = false;
    uint64_t samples = 0;
    std::vector<bool> arrived;
    uint32_t arrived_count = 0;
    uint32_t first_missing = 0;
    Delivery delivery;
  };
  struct Chunk {
    uint32_t delivered = 0;  // members that delivered it, those that left since among them
    uint32_t awaited = 0;    // awaited members that have not
    Nanoseconds last_delivered{0};
    bool ordered = false;
    bool merged = false;
    bool restored = false;
  };

  bool MayMerge(const Chunk& chunk) const;
  bool Delivering(const Member& member) const;
  StatusOr<Member*> FindAccepted(WorkerId worker);
  void StopAwaiting(Member& member, Nanoseconds now);
  Awaited AwaitedDelta(WorkerId worker, const Member& member) const;
  Awaited AwaitedReport(WorkerId worker) const;

  const uint32_t round_;
  const bool barrier_;
  std::map<WorkerId, Member> members_;
  std::vector<Chunk> chunks_;
  const Nanoseconds started_;
  uint32_t present_ = 0;       // awaited members
  uint32_t delivering_ = 0;    // awaited members that have not delivered all chunks
  uint32_t unreported_ = 0;    // awaited members that have not reported
  Nanoseconds last_whole_{0};  // when the newest delta was whole
  Nanoseconds last_report_{0};
  uint32_t merged_ = 0;
  uint32_t first_unordered_ = 0;
  std::optional<Hash128> committed_root_;
  bool any_delta_ = false;
  Nanoseconds last_left_{0};
  RoundTimes times_;
};

}  // namespace interlude
