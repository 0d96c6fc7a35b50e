// The reader of a journal's file: any bytes, and the same with a header that fits them, since no
// chance mutation meets a hash.
#include <cstdint>
#include <cstring>
#include <vector>

#include "base/check.h"
#include "layout/layout.h"
#include "store/journal_format.h"
#include "store/journal_records.h"

namespace interlude {
namespace {

constexpr uint64_t kMaxMendedBytes = 1 << 16;

void ReadRecords(std::span<const std::byte> file, const JournalPlaces& places, uint32_t round) {
  const JournalRound read = ReadJournalRound(file, places, round);
  INTERLUDE_CHECK(read.members.size() == places.slots(), "{} members", read.members.size());
  INTERLUDE_CHECK(read.chunks.size() == places.chunks(), "{} chunks", read.chunks.size());
  for (const JournalChunk& chunk : read.chunks) {
    if (!chunk.merge) continue;
    for (const uint32_t slot : *chunk.merge)
      INTERLUDE_CHECK(slot < places.slots(), "slot {} of {}", slot, places.slots());
  }
  for (uint32_t slot = 0; slot < places.slots(); ++slot) {
    for (uint32_t chunk = 0; chunk < places.chunks(); ++chunk) {
      if (ReadJournalSeal(file, places, round, slot, chunk))
        HashBytes(file.subspan(places.ChunkOffset(slot, chunk), places.ChunkBytes(chunk)));
    }
  }
}

/// As a reader takes a file whose geometry it does not know.
void ReadFile(std::span<const std::byte> file) {
  const auto header = DecodeJournalHeader(file);
  if (!header.ok() || header->chunks > kMaxChunks) return;
  const uint64_t table_bytes = header->chunks * sizeof(uint64_t);
  if (file.size() - kJournalHeaderBytes < table_bytes) return;
  const auto places = PlacesOfJournal(*header, file.subspan(kJournalHeaderBytes, table_bytes));
  if (!places.ok()) return;
  const auto round = CheckJournalHeader(*header, *places, header->ring_index, file.size());
  if (round.ok() && *round != kNoJournalRound) ReadRecords(file, *places, *round);
}

template <typename T>
T NumberAt(const std::vector<std::byte>& bytes, size_t at) {
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof(value));
  return value;
}

/// Takes sizes and round from where the header has them, and gives the file the header and the size
/// that belong to them. False when they are impossible or large.
bool Mend(std::vector<std::byte>& file) {
  if (file.size() < kJournalHeaderBytes) return false;
  JournalGeometry geometry{.slots = NumberAt<uint32_t>(file, 12),
                           .kept_rounds = NumberAt<uint32_t>(file, 20)};
  const auto chunks = NumberAt<uint32_t>(file, 16);
  if (chunks > (file.size() - kJournalHeaderBytes) / sizeof(uint64_t)) return false;
  for (uint32_t c = 0; c < chunks; ++c)
    geometry.chunk_bytes.push_back(NumberAt<uint64_t>(file, kJournalHeaderBytes + 8 * c));
  const auto places = JournalPlaces::Create(geometry);
  if (!places.ok() || places->file_bytes() > kMaxMendedBytes) return false;
  const auto round = NumberAt<uint32_t>(file, 28);
  const auto header =
      EncodeJournalHeader(MakeJournalHeader(*places, round % geometry.kept_rounds, round));
  file.resize(places->file_bytes());
  std::memcpy(file.data(), header.data(), header.size());
  return true;
}

}  // namespace
}  // namespace interlude

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto* bytes = reinterpret_cast<const std::byte*>(data);
  interlude::ReadFile({bytes, size});
  std::vector<std::byte> file(bytes, bytes + size);
  if (interlude::Mend(file)) interlude::ReadFile(file);
  return 0;
}
