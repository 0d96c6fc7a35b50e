// Encoded chunks of the last rounds on disk, each at its fixed place, written with positioned
// writes and read through a mapping: their pages belong to the page cache, not to the heap.
//
// Recovery from the journal comes with crash handling; here it is the place where payloads live.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
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

/// One writer for any (round, slot, chunk); any thread may write and read different ones. Reading a
/// chunk before its writing was announced to the reader (through a queue or lock) is a programmer's
/// error, and so is using a round while BeginRound gives its file to a later one.
class Journal {
 public:
  /// Makes the directory with its files at full size, so that a full disk is met now and not in a
  /// round; an older journal there is replaced. ResourceExhausted names the bytes wanted and the
  /// bytes free; FailedPrecondition when another process uses the directory's journal. On an error
  /// no files are left.
  static StatusOr<std::unique_ptr<Journal>> Create(const std::string& directory,
                                                   const JournalGeometry& geometry);
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

  /// Records that a chunk is complete, with its payload's hash. Errors as Write. Not synced: a
  /// reader of the file after a crash must compare the hash with the payload.
  virtual Status Seal(uint32_t round, uint32_t slot, uint32_t chunk,
                      const Hash128& payload_hash) = 0;
};

}  // namespace interlude
