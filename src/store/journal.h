// The journal: encoded chunks of the last rounds on disk, each at its fixed place, and what is
// needed to redo those rounds: their members, what went into each chunk's merge, and the commit.
// Payloads are written with positioned writes and read through a mapping: their pages belong to the
// page cache, not to the heap. Records are a few stores to the mapping. So everything survives the
// process, at any moment; nothing is synced, so a crash of the machine may lose any part of it, and
// a part that is lost or torn counts as never written.
//
// Not here: which rounds to redo and from what; that is the coordinator's recovery.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/hash128.h"
#include "base/status.h"

namespace interlude {

/// What fixes the place of every chunk in a round's file.
struct JournalGeometry {
  std::vector<size_t> chunk_bytes;  // encoded bytes of each chunk
  uint32_t slots = 0;               // whole payloads a round: one of each worker, say
  uint32_t kept_rounds = 2;         // files; the oldest round's is reused
};

/// A member of a round as the journal knows it.
struct JournalMember {
  uint64_t samples = 0;  // its weight in the merge; 0: it has not begun to deliver
  uint64_t session = 0;  // the token with which it may come back
  uint32_t flags = 0;    // free for the user of the journal

  friend bool operator==(const JournalMember&, const JournalMember&) = default;
};

/// One chunk of a round.
struct JournalChunk {
  /// The slots whose payloads were merged, ascending; empty: closed without any. Nothing: the chunk
  /// was not closed.
  std::optional<std::vector<uint32_t>> merge;
  /// The base's hash after the merge. It is written after `merge`, so alone it says that the merge
  /// was recorded and is lost.
  std::optional<Hash128> base_hash;

  friend bool operator==(const JournalChunk&, const JournalChunk&) = default;
};

struct JournalCommit {
  Hash128 root;
  uint32_t members = 0;  // members that the round had when it was committed

  friend bool operator==(const JournalCommit&, const JournalCommit&) = default;
};

/// Everything a round's file says, but for the payloads and their seals.
struct JournalRound {
  uint32_t round = 0;
  std::vector<std::optional<JournalMember>> members;  // by slot
  std::vector<JournalChunk> chunks;                   // by chunk
  std::optional<JournalCommit> commit;

  friend bool operator==(const JournalRound&, const JournalRound&) = default;
};

/// One writer for any place (round, slot, chunk; round, slot; round, chunk; round); any thread may
/// write and read different ones. Reading a place before its writing was announced to the reader
/// (through a queue or lock) is a programmer's error, and so is using a round while BeginRound
/// gives its file to a later one.
class Journal {
 public:
  /// Makes the directory with its files (mode 0600, since they hold session tokens) at full size,
  /// so that a full disk is met now and not in a round; an older journal there is replaced.
  /// ResourceExhausted names the bytes wanted and the bytes free; FailedPrecondition when another
  /// process uses the directory's journal. On an error no files are left.
  static StatusOr<std::unique_ptr<Journal>> Create(const std::string& directory,
                                                   const JournalGeometry& geometry);

  /// Takes up the journal that Create left in the directory, with its rounds. NotFound when there
  /// is none; FailedPrecondition when its geometry is another one, naming what differs, when it is
  /// of another version, or when another process uses it. A file that is missing, shortened or
  /// whose header is damaged holds no round: the log says so, and it is mended for the rounds to
  /// come.
  static StatusOr<std::unique_ptr<Journal>> Open(const std::string& directory,
                                                 const JournalGeometry& geometry);

  /// For looking only: changes nothing, takes the geometry from the files. NotFound when there is
  /// no journal; DataLoss when no file has a whole header; FailedPrecondition as Open, also while a
  /// coordinator runs on it. Files that cannot be used are named in the log and hold no round.
  static StatusOr<std::unique_ptr<const Journal>> OpenReadOnly(const std::string& directory);

  virtual ~Journal() = default;

  /// Begins round `round`: its file is the one of round - kept_rounds, whose chunks are gone. What
  /// the places hold until they are written is unspecified. FailedPrecondition when the file
  /// already holds this round or a later one.
  virtual Status BeginRound(uint32_t round) = 0;

  /// Stores bytes [offset, offset + bytes.size()) of a chunk. OutOfRange when they do not fit its
  /// place or there is no such place; FailedPrecondition when the round is not (or no longer) in
  /// the journal.
  virtual Status Write(uint32_t round, uint32_t slot, uint32_t chunk, size_t offset,
                       std::span<const std::byte> bytes) = 0;

  /// The chunk's whole payload, 64-byte aligned, valid until the round's file is reused.
  /// Precondition: the round is in the journal, the slot and chunk exist.
  virtual std::span<const std::byte> Read(uint32_t round, uint32_t slot, uint32_t chunk) const = 0;

  /// The same for a reader that may come too late: errors as Write.
  virtual StatusOr<std::span<const std::byte>> Find(uint32_t round, uint32_t slot,
                                                    uint32_t chunk) const = 0;

  /// The same for writing in place (the coordinator encodes a sync chunk straight into the
  /// journal).
  virtual std::span<std::byte> Mutable(uint32_t round, uint32_t slot, uint32_t chunk) = 0;

  // Records. Errors as Write. Each is a few stores, without a system call, and is whole or absent
  // when the process is killed in the middle of it.

  /// Records that a chunk is complete, with its payload's hash.
  virtual Status Seal(uint32_t round, uint32_t slot, uint32_t chunk,
                      const Hash128& payload_hash) = 0;

  /// Records a member, or what is new about it; being killed in the middle keeps what was there.
  virtual Status SetMember(uint32_t round, uint32_t slot, const JournalMember& member) = 0;

  /// Records what goes into a chunk's merge: these slots, in any order. To be called before
  /// anything made from the merge leaves the process. Once recorded it stands: FailedPrecondition
  /// when other slots are recorded, nothing happens when the same are.
  virtual Status RecordMerge(uint32_t round, uint32_t chunk, std::span<const uint32_t> slots) = 0;

  /// Records the base's hash after the chunk's merge. FailedPrecondition when its merge is not
  /// recorded, or another hash is: then the merge was redone with other bits.
  virtual Status RecordMerged(uint32_t round, uint32_t chunk, const Hash128& base_hash) = 0;

  /// Records the round's end with the root over the base's chunk hashes. FailedPrecondition when
  /// another root is recorded.
  virtual Status RecordCommit(uint32_t round, const Hash128& root) = 0;

  // What is in the files, for recovery and for looking.

  /// The rounds in the files, ascending.
  virtual std::vector<uint32_t> rounds() const = 0;
  virtual const JournalGeometry& geometry() const = 0;

  /// What the records of a round say. Precondition: the round is in the journal.
  virtual JournalRound Inspect(uint32_t round) const = 0;

  /// The payload's hash as sealed; nothing when the chunk is not sealed or the place does not
  /// exist.
  virtual std::optional<Hash128> SealOf(uint32_t round, uint32_t slot, uint32_t chunk) const = 0;

  /// Whether the chunk is sealed and its payload still has the seal's hash. Reads the payload.
  bool SealedWhole(uint32_t round, uint32_t slot, uint32_t chunk) const;
};

}  // namespace interlude
