#include "store/journal_format.h"

#include "layout/layout.h"
#include "store/little_endian.h"

namespace interlude {
namespace {

constexpr std::array<char, 8> kMagic = {'I', 'L', 'J', 'O', 'U', 'R', 'N', 'L'};
constexpr size_t kHeaderHashedBytes = 112;
constexpr uint64_t kMaxFileBytes = uint64_t{INT64_MAX};
static_assert(sizeof(size_t) == sizeof(uint64_t),
              "the chunk table is written as it lies in memory");

constexpr uint64_t AlignUp(uint64_t value, uint64_t alignment) {
  return (value + alignment - 1) / alignment * alignment;
}

Status CheckGeometry(const JournalGeometry& geometry) {
  if (geometry.slots == 0 || geometry.slots > kMaxJournalSlots) {
    return InvalidArgumentError("a journal of {} slots; there must be 1 to {}", geometry.slots,
                                kMaxJournalSlots);
  }
  if (geometry.kept_rounds == 0 || geometry.kept_rounds > kMaxJournalKeptRounds) {
    return InvalidArgumentError("a journal that keeps {} rounds; it must keep 1 to {}",
                                geometry.kept_rounds, kMaxJournalKeptRounds);
  }
  if (geometry.chunk_bytes.empty() || geometry.chunk_bytes.size() > kMaxChunks) {
    return InvalidArgumentError("a journal of {} chunks; there must be 1 to {}",
                                geometry.chunk_bytes.size(), kMaxChunks);
  }
  return OkStatus();
}

}  // namespace

StatusOr<JournalPlaces> JournalPlaces::Create(const JournalGeometry& geometry) {
  INTERLUDE_RETURN_IF_ERROR(CheckGeometry(geometry));
  JournalPlaces places;
  places.geometry_ = geometry;
  for (size_t i = 0; i < geometry.chunk_bytes.size(); ++i) {
    const uint64_t bytes = geometry.chunk_bytes[i];
    if (bytes == 0) return InvalidArgumentError("chunk {} of the journal has no bytes", i);
    if (bytes > kMaxFileBytes - kJournalChunkAlignment - places.slot_bytes_) {
      return InvalidArgumentError(
          "with chunk {} of {} bytes a journal slot has more than 2^63 bytes", i, bytes);
    }
    places.chunk_offset_.push_back(places.slot_bytes_);
    places.slot_bytes_ += AlignUp(bytes, kJournalChunkAlignment);
  }
  places.PlaceTables();
  uint64_t data_bytes = 0;
  if (__builtin_mul_overflow(places.slot_bytes_, uint64_t{geometry.slots}, &data_bytes) ||
      data_bytes > kMaxFileBytes - places.data_offset_) {
    return InvalidArgumentError("{} journal slots of {} bytes are more than 2^63 bytes",
                                geometry.slots, places.slot_bytes_);
  }
  places.file_bytes_ = places.data_offset_ + data_bytes;
  return places;
}

/// At most 2^20 chunks and 2^16 slots: nothing here can overflow.
void JournalPlaces::PlaceTables() {
  constexpr uint64_t kRecordTailBytes = 16;
  merge_bytes_ = AlignUp(slots(), 64) / 8 + kRecordTailBytes;
  members_offset_ = AlignUp(kJournalHeaderBytes + chunk_table().size(), kJournalChunkAlignment);
  merges_offset_ = AlignUp(MemberOffset(slots(), 0), kJournalChunkAlignment);
  commit_offset_ = AlignUp(MergeOffset(chunks()), kJournalChunkAlignment);
  index_offset_ = AlignUp(commit_offset_ + kJournalCommitBytes, kJournalChunkAlignment);
  data_offset_ = AlignUp(SealOffset(slots(), 0), kJournalDataAlignment);
}

JournalHeader MakeJournalHeader(const JournalPlaces& places, uint32_t ring_index, uint32_t round) {
  return {.slots = places.slots(),
          .chunks = places.chunks(),
          .kept_rounds = places.kept_rounds(),
          .ring_index = ring_index,
          .round = round,
          .index_offset = places.index_offset(),
          .data_offset = places.data_offset(),
          .slot_bytes = places.slot_bytes(),
          .file_bytes = places.file_bytes(),
          .chunk_table_hash = HashBytes(places.chunk_table()),
          .members_offset = places.members_offset(),
          .merges_offset = places.merges_offset(),
          .commit_offset = places.commit_offset()};
}

std::array<std::byte, kJournalHeaderBytes> EncodeJournalHeader(const JournalHeader& header) {
  std::array<std::byte, kJournalHeaderBytes> bytes{};
  Put(bytes, 0, kMagic);
  Put(bytes, 8, kJournalVersion);
  Put(bytes, 12, header.slots);
  Put(bytes, 16, header.chunks);
  Put(bytes, 20, header.kept_rounds);
  Put(bytes, 24, header.ring_index);
  Put(bytes, 28, header.round);
  Put(bytes, 32, header.index_offset);
  Put(bytes, 40, header.data_offset);
  Put(bytes, 48, header.slot_bytes);
  Put(bytes, 56, header.file_bytes);
  PutHash(bytes, 64, header.chunk_table_hash);
  Put(bytes, 80, header.members_offset);
  Put(bytes, 88, header.merges_offset);
  Put(bytes, 96, header.commit_offset);
  PutHash(bytes, kHeaderHashedBytes, HashBytes(std::span(bytes).first(kHeaderHashedBytes)));
  return bytes;
}

StatusOr<JournalHeader> DecodeJournalHeader(std::span<const std::byte> bytes) {
  if (bytes.size() < kJournalHeaderBytes) {
    return DataLossError("a journal's header has {} bytes, here are {}", kJournalHeaderBytes,
                         bytes.size());
  }
  if (Get<std::array<char, 8>>(bytes, 0) != kMagic) return DataLossError("this is no journal file");
  if (GetHash(bytes, kHeaderHashedBytes) != HashBytes(bytes.first(kHeaderHashedBytes))) {
    return DataLossError("the journal's header is damaged: its hash does not fit");
  }
  const auto version = Get<uint32_t>(bytes, 8);
  if (version != kJournalVersion) {
    return FailedPreconditionError("the journal has version {}, this program reads version {}",
                                   version, kJournalVersion);
  }
  return JournalHeader{.slots = Get<uint32_t>(bytes, 12),
                       .chunks = Get<uint32_t>(bytes, 16),
                       .kept_rounds = Get<uint32_t>(bytes, 20),
                       .ring_index = Get<uint32_t>(bytes, 24),
                       .round = Get<uint32_t>(bytes, 28),
                       .index_offset = Get<uint64_t>(bytes, 32),
                       .data_offset = Get<uint64_t>(bytes, 40),
                       .slot_bytes = Get<uint64_t>(bytes, 48),
                       .file_bytes = Get<uint64_t>(bytes, 56),
                       .chunk_table_hash = GetHash(bytes, 64),
                       .members_offset = Get<uint64_t>(bytes, 80),
                       .merges_offset = Get<uint64_t>(bytes, 88),
                       .commit_offset = Get<uint64_t>(bytes, 96)};
}

StatusOr<uint32_t> CheckJournalHeader(const JournalHeader& header, const JournalPlaces& places,
                                      uint32_t ring_index, uint64_t file_bytes) {
  const JournalHeader expected = MakeJournalHeader(places, ring_index, header.round);
  const auto differs = [](std::string_view what, uint64_t has, uint64_t wanted) {
    return FailedPreconditionError("the journal is of another run: it has {} {}, this one {}", has,
                                   what, wanted);
  };
  if (header.slots != expected.slots) return differs("slots", header.slots, expected.slots);
  if (header.chunks != expected.chunks) return differs("chunks", header.chunks, expected.chunks);
  if (header.kept_rounds != expected.kept_rounds)
    return differs("kept rounds", header.kept_rounds, expected.kept_rounds);
  if (header.chunk_table_hash != expected.chunk_table_hash) {
    return FailedPreconditionError(
        "the journal is of another run: its chunks have other sizes (all {} together {} bytes, "
        "this "
        "run's {})",
        header.chunks, header.slot_bytes, expected.slot_bytes);
  }
  if (header.ring_index != ring_index) {
    return DataLossError("the file says that it is number {} of the ring, not {}",
                         header.ring_index, ring_index);
  }
  if (header != expected) return DataLossError("the header names places that do not fit its sizes");
  if (file_bytes != header.file_bytes)
    return DataLossError("the file has {} bytes, not {}", file_bytes, header.file_bytes);
  if (header.round != kNoJournalRound && header.round % header.kept_rounds != ring_index)
    return DataLossError("round {} does not belong into file {}", header.round, ring_index);
  return header.round;
}

StatusOr<JournalPlaces> PlacesOfJournal(const JournalHeader& header,
                                        std::span<const std::byte> chunk_table) {
  if (HashBytes(chunk_table) != header.chunk_table_hash)
    return DataLossError("the journal's chunk table is damaged: its hash does not fit");
  JournalGeometry geometry{.slots = header.slots, .kept_rounds = header.kept_rounds};
  for (size_t at = 0; at + sizeof(uint64_t) <= chunk_table.size(); at += sizeof(uint64_t))
    geometry.chunk_bytes.push_back(Get<uint64_t>(chunk_table, at));
  auto places = JournalPlaces::Create(geometry);
  if (!places.ok()) return DataLossError("the header says nonsense: {}", places.status().message());
  if (MakeJournalHeader(*places, header.ring_index, header.round) != header)
    return DataLossError("the header names places that do not fit its sizes");
  return places;
}

}  // namespace interlude
