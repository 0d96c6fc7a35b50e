#include "store/journal_format.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "layout/layout.h"

namespace interlude {
namespace {

static_assert(std::endian::native == std::endian::little, "the journal is little-endian");

constexpr std::array<char, 8> kMagic = {'I', 'L', 'J', 'O', 'U', 'R', 'N', 'L'};
constexpr uint32_t kSealMark = 0x4C414553;  // "SEAL"
constexpr size_t kHeaderHashedBytes = 112;
constexpr size_t kSealCheckedBytes = 24;
constexpr uint64_t kMaxFileBytes = uint64_t{INT64_MAX};

template <typename T>
void Put(std::span<std::byte> bytes, size_t at, const T& value) {
  std::memcpy(bytes.data() + at, &value, sizeof(value));
}

template <typename T>
T Get(std::span<const std::byte> bytes, size_t at) {
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof(value));
  return value;
}

void PutHash(std::span<std::byte> bytes, size_t at, const Hash128& hash) {
  Put(bytes, at, hash.high);
  Put(bytes, at + 8, hash.low);
}

Hash128 GetHash(std::span<const std::byte> bytes, size_t at) {
  return {Get<uint64_t>(bytes, at), Get<uint64_t>(bytes, at + 8)};
}

constexpr uint64_t AlignUp(uint64_t value, uint64_t alignment) {
  return (value + alignment - 1) / alignment * alignment;
}

/// The seal's own check covers its place too, so that a misplaced write is no seal.
uint64_t SealCheck(std::span<const std::byte> seal, uint32_t slot, uint32_t chunk) {
  std::array<std::byte, kSealCheckedBytes + 8> bytes;
  std::copy_n(seal.begin(), kSealCheckedBytes, bytes.begin());
  Put(std::span<std::byte>(bytes), kSealCheckedBytes, slot);
  Put(std::span<std::byte>(bytes), kSealCheckedBytes + 4, chunk);
  return HashBytes(bytes).low;
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
  places.slots_ = geometry.slots;
  places.kept_rounds_ = geometry.kept_rounds;
  for (size_t i = 0; i < geometry.chunk_bytes.size(); ++i) {
    const uint64_t bytes = geometry.chunk_bytes[i];
    if (bytes == 0) return InvalidArgumentError("chunk {} of the journal has no bytes", i);
    if (bytes > kMaxFileBytes - kJournalChunkAlignment - places.slot_bytes_) {
      return InvalidArgumentError(
          "with chunk {} of {} bytes a journal slot has more than 2^63 bytes", i, bytes);
    }
    places.chunk_bytes_.push_back(bytes);
    places.chunk_offset_.push_back(places.slot_bytes_);
    places.slot_bytes_ += AlignUp(bytes, kJournalChunkAlignment);
  }
  // At most 2^20 chunks and 2^16 slots: the index itself cannot overflow.
  const uint64_t chunks = places.chunk_bytes_.size();
  places.index_offset_ =
      AlignUp(kJournalHeaderBytes + chunks * sizeof(uint64_t), kJournalChunkAlignment);
  places.data_offset_ = AlignUp(places.index_offset_ + places.slots_ * chunks * kJournalSealBytes,
                                kJournalDataAlignment);
  uint64_t data_bytes = 0;
  if (__builtin_mul_overflow(places.slot_bytes_, uint64_t{places.slots_}, &data_bytes) ||
      data_bytes > kMaxFileBytes - places.data_offset_) {
    return InvalidArgumentError("{} journal slots of {} bytes are more than 2^63 bytes",
                                places.slots_, places.slot_bytes_);
  }
  places.file_bytes_ = places.data_offset_ + data_bytes;
  return places;
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
          .chunk_table_hash = HashBytes(std::as_bytes(std::span(places.chunk_table())))};
}

std::array<std::byte, kJournalHeaderBytes> EncodeJournalHeader(const JournalHeader& header) {
  std::array<std::byte, kJournalHeaderBytes> bytes{};
  Put(std::span<std::byte>(bytes), 0, kMagic);
  Put(std::span<std::byte>(bytes), 8, kJournalVersion);
  Put(std::span<std::byte>(bytes), 12, header.slots);
  Put(std::span<std::byte>(bytes), 16, header.chunks);
  Put(std::span<std::byte>(bytes), 20, header.kept_rounds);
  Put(std::span<std::byte>(bytes), 24, header.ring_index);
  Put(std::span<std::byte>(bytes), 28, header.round);
  Put(std::span<std::byte>(bytes), 32, header.index_offset);
  Put(std::span<std::byte>(bytes), 40, header.data_offset);
  Put(std::span<std::byte>(bytes), 48, header.slot_bytes);
  Put(std::span<std::byte>(bytes), 56, header.file_bytes);
  PutHash(bytes, 64, header.chunk_table_hash);
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
                       .chunk_table_hash = GetHash(bytes, 64)};
}

std::array<std::byte, kJournalSealBytes> EncodeJournalSeal(uint32_t round, uint32_t slot,
                                                           uint32_t chunk,
                                                           const Hash128& payload_hash) {
  std::array<std::byte, kJournalSealBytes> bytes{};
  PutHash(bytes, 0, payload_hash);
  Put(std::span<std::byte>(bytes), 16, round);
  Put(std::span<std::byte>(bytes), 20, kSealMark);
  Put(std::span<std::byte>(bytes), kSealCheckedBytes, SealCheck(bytes, slot, chunk));
  return bytes;
}

std::optional<Hash128> DecodeJournalSeal(std::span<const std::byte> bytes, uint32_t round,
                                         uint32_t slot, uint32_t chunk) {
  if (bytes.size() < kJournalSealBytes) return std::nullopt;
  if (Get<uint32_t>(bytes, 16) != round || Get<uint32_t>(bytes, 20) != kSealMark)
    return std::nullopt;
  if (Get<uint64_t>(bytes, kSealCheckedBytes) != SealCheck(bytes, slot, chunk)) return std::nullopt;
  return GetHash(bytes, 0);
}

}  // namespace interlude
