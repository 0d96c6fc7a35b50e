// The journal file's bytes: where each part and each chunk lies, its header and its seals.
// Pure functions without I/O; the format is described in docs/formats/journal.md.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/hash128.h"
#include "base/status.h"
#include "store/journal.h"

namespace interlude {

inline constexpr uint32_t kJournalVersion = 1;
inline constexpr size_t kJournalHeaderBytes = 128;
inline constexpr size_t kJournalSealBytes = 32;
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

  uint32_t slots() const { return slots_; }
  uint32_t chunks() const { return static_cast<uint32_t>(chunk_bytes_.size()); }
  uint32_t kept_rounds() const { return kept_rounds_; }
  uint64_t file_bytes() const { return file_bytes_; }
  uint64_t index_offset() const { return index_offset_; }
  uint64_t data_offset() const { return data_offset_; }
  uint64_t slot_bytes() const { return slot_bytes_; }
  const std::vector<uint64_t>& chunk_table() const { return chunk_bytes_; }

  /// Preconditions of these: slot < slots(), chunk < chunks().
  uint64_t ChunkBytes(uint32_t chunk) const { return chunk_bytes_[chunk]; }
  uint64_t ChunkOffset(uint32_t slot, uint32_t chunk) const {
    return data_offset_ + slot * slot_bytes_ + chunk_offset_[chunk];
  }
  uint64_t SealOffset(uint32_t slot, uint32_t chunk) const {
    return index_offset_ + (uint64_t{slot} * chunks() + chunk) * kJournalSealBytes;
  }

 private:
  uint32_t slots_ = 0;
  uint32_t kept_rounds_ = 0;
  std::vector<uint64_t> chunk_bytes_;
  std::vector<uint64_t> chunk_offset_;  // from the slot's begin
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

  friend bool operator==(const JournalHeader&, const JournalHeader&) = default;
};

JournalHeader MakeJournalHeader(const JournalPlaces& places, uint32_t ring_index, uint32_t round);
std::array<std::byte, kJournalHeaderBytes> EncodeJournalHeader(const JournalHeader& header);
/// DataLoss on a short, damaged or foreign header, FailedPrecondition on another version's.
StatusOr<JournalHeader> DecodeJournalHeader(std::span<const std::byte> bytes);

std::array<std::byte, kJournalSealBytes> EncodeJournalSeal(uint32_t round, uint32_t slot,
                                                           uint32_t chunk,
                                                           const Hash128& payload_hash);
/// The payload's hash when `bytes` seal this chunk in this round; nothing when they are blank,
/// damaged, or of another round or place.
std::optional<Hash128> DecodeJournalSeal(std::span<const std::byte> bytes, uint32_t round,
                                         uint32_t slot, uint32_t chunk);

}  // namespace interlude
