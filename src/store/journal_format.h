// The journal file's frame: its header, and where each record and each chunk lies. The records
// themselves: store/journal_records.h. Pure functions without I/O; the format is described in
// docs/formats/journal.md.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/hash128.h"
#include "base/status.h"
#include "store/journal.h"

namespace interlude {

inline constexpr uint32_t kJournalVersion = 2;
inline constexpr size_t kJournalHeaderBytes = 128;
inline constexpr size_t kJournalSealBytes = 32;
inline constexpr size_t kJournalMemberBytes = 40;  // one of the two copies
inline constexpr size_t kJournalMergedBytes = 32;
inline constexpr size_t kJournalCommitBytes = 40;
inline constexpr size_t kJournalChunkAlignment = 64;   // a cache line
inline constexpr size_t kJournalDataAlignment = 4096;  // a page
inline constexpr uint32_t kMaxJournalSlots = 65'536;
inline constexpr uint32_t kMaxJournalKeptRounds = 1'024;
/// The round of a file that holds none yet.
inline constexpr uint32_t kNoJournalRound = UINT32_MAX;

/// Where everything lies in each file of the ring; all are bytes from the file's start.
class JournalPlaces {
 public:
  /// InvalidArgument on no slots, no chunks, an empty chunk, or sizes beyond the bounds or 2^63
  /// bytes.
  static StatusOr<JournalPlaces> Create(const JournalGeometry& geometry);

  uint32_t slots() const { return geometry_.slots; }
  uint32_t chunks() const { return static_cast<uint32_t>(geometry_.chunk_bytes.size()); }
  uint32_t kept_rounds() const { return geometry_.kept_rounds; }
  const JournalGeometry& geometry() const { return geometry_; }
  uint64_t file_bytes() const { return file_bytes_; }
  uint64_t members_offset() const { return members_offset_; }
  uint64_t merges_offset() const { return merges_offset_; }
  uint64_t commit_offset() const { return commit_offset_; }
  uint64_t index_offset() const { return index_offset_; }
  uint64_t data_offset() const { return data_offset_; }
  uint64_t slot_bytes() const { return slot_bytes_; }
  /// The chunk table's bytes, u64 each.
  std::span<const std::byte> chunk_table() const {
    return std::as_bytes(std::span(geometry_.chunk_bytes));
  }
  /// Bytes of a merge record: a bit for each slot, in whole words, and the record's tail.
  uint64_t merge_bytes() const { return merge_bytes_; }

  /// Preconditions of these: slot < slots(), chunk < chunks(), copy < 2.
  uint64_t ChunkBytes(uint32_t chunk) const { return geometry_.chunk_bytes[chunk]; }
  uint64_t ChunkOffset(uint32_t slot, uint32_t chunk) const {
    return data_offset_ + slot * slot_bytes_ + chunk_offset_[chunk];
  }
  uint64_t SealOffset(uint32_t slot, uint32_t chunk) const {
    return index_offset_ + (uint64_t{slot} * chunks() + chunk) * kJournalSealBytes;
  }
  uint64_t MemberOffset(uint32_t slot, uint32_t copy) const {
    return members_offset_ + (uint64_t{slot} * 2 + copy) * kJournalMemberBytes;
  }
  uint64_t MergeOffset(uint32_t chunk) const {
    return merges_offset_ + chunk * (merge_bytes_ + kJournalMergedBytes);
  }
  uint64_t MergedOffset(uint32_t chunk) const { return MergeOffset(chunk) + merge_bytes_; }

 private:
  void PlaceTables();

  JournalGeometry geometry_;
  std::vector<uint64_t> chunk_offset_;  // from the slot's begin
  uint64_t merge_bytes_ = 0;
  uint64_t members_offset_ = 0;
  uint64_t merges_offset_ = 0;
  uint64_t commit_offset_ = 0;
  uint64_t index_offset_ = 0;
  uint64_t data_offset_ = 0;
  uint64_t slot_bytes_ = 0;
  uint64_t file_bytes_ = 0;
};

/// What the first 128 bytes of a file say.
struct JournalHeader {
  uint32_t slots = 0;
  uint32_t chunks = 0;
  uint32_t kept_rounds = 0;
  uint32_t ring_index = 0;  // which of the kept_rounds files this is
  uint32_t round = kNoJournalRound;
  uint64_t index_offset = 0;
  uint64_t data_offset = 0;
  uint64_t slot_bytes = 0;
  uint64_t file_bytes = 0;
  Hash128 chunk_table_hash;
  uint64_t members_offset = 0;
  uint64_t merges_offset = 0;
  uint64_t commit_offset = 0;

  friend bool operator==(const JournalHeader&, const JournalHeader&) = default;
};

JournalHeader MakeJournalHeader(const JournalPlaces& places, uint32_t ring_index, uint32_t round);
std::array<std::byte, kJournalHeaderBytes> EncodeJournalHeader(const JournalHeader& header);
/// DataLoss on a short, damaged or foreign header, FailedPrecondition on another version's.
StatusOr<JournalHeader> DecodeJournalHeader(std::span<const std::byte> bytes);

/// The round that file `ring_index` of a ring with these places holds, by its header and its size.
/// FailedPrecondition says how its geometry differs; DataLoss when the file is not whole or is not
/// this one.
StatusOr<uint32_t> CheckJournalHeader(const JournalHeader& header, const JournalPlaces& places,
                                      uint32_t ring_index, uint64_t file_bytes);

/// The places by a file's own header and chunk table, the bytes behind the header (8 for each of
/// header.chunks). DataLoss when they do not fit each other.
StatusOr<JournalPlaces> PlacesOfJournal(const JournalHeader& header,
                                        std::span<const std::byte> chunk_table);

}  // namespace interlude
