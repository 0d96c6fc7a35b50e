#include "store/journal_records.h"

#include <algorithm>
#include <array>

#include "store/little_endian.h"

namespace interlude {
namespace {

// How a record ends: round, mark, check.
constexpr size_t kRoundFromEnd = 16;
constexpr size_t kMarkFromEnd = 12;
constexpr size_t kCheckFromEnd = 8;

// Four letters each; in the file they read as written here.
constexpr uint32_t Mark(const char (&letters)[5]) {
  uint32_t mark = 0;
  for (int i = 3; i >= 0; --i) mark = mark << 8 | static_cast<unsigned char>(letters[i]);
  return mark;
}
constexpr uint32_t kSealMark = Mark("SEAL");
constexpr uint32_t kMemberMark = Mark("MEMB");
constexpr uint32_t kMergeMark = Mark("MERG");
constexpr uint32_t kMergedMark = Mark("BASE");
constexpr uint32_t kCommitMark = Mark("DONE");

/// What a record is and where it belongs.
struct RecordId {
  uint32_t mark = 0;
  uint32_t round = 0;
  uint32_t first = 0;   // slot or chunk
  uint32_t second = 0;  // chunk or copy
};

uint64_t RecordCheck(std::span<const std::byte> record, const RecordId& id) {
  const std::array<uint32_t, 2> place = {id.first, id.second};
  Hasher128 hasher;
  hasher.Update(record.first(record.size() - kCheckFromEnd));
  hasher.Update(std::as_bytes(std::span(place)));
  return hasher.Digest().low;
}

/// Ends a record whose body is in place.
void FinishRecord(std::span<std::byte> record, const RecordId& id) {
  Put(record, record.size() - kRoundFromEnd, id.round);
  Put(record, record.size() - kMarkFromEnd, id.mark);
  Put(record, record.size() - kCheckFromEnd, RecordCheck(record, id));
}

bool RecordCounts(std::span<const std::byte> record, const RecordId& id) {
  return Get<uint32_t>(record, record.size() - kRoundFromEnd) == id.round &&
         Get<uint32_t>(record, record.size() - kMarkFromEnd) == id.mark &&
         Get<uint64_t>(record, record.size() - kCheckFromEnd) == RecordCheck(record, id);
}

struct MemberCopy {
  JournalMember member;
  uint32_t sequence = 0;  // counts the changes in a round, from 1
};

std::optional<MemberCopy> ReadMemberCopy(std::span<const std::byte> file,
                                         const JournalPlaces& places, uint32_t round, uint32_t slot,
                                         uint32_t copy) {
  const auto record = file.subspan(places.MemberOffset(slot, copy), kJournalMemberBytes);
  if (!RecordCounts(record, {kMemberMark, round, slot, copy})) return std::nullopt;
  return MemberCopy{.member = {.samples = Get<uint64_t>(record, 0),
                               .session = Get<uint64_t>(record, 8),
                               .flags = Get<uint32_t>(record, 16)},
                    .sequence = Get<uint32_t>(record, 20)};
}

std::optional<std::vector<uint32_t>> ReadMerge(std::span<const std::byte> file,
                                               const JournalPlaces& places, uint32_t round,
                                               uint32_t chunk) {
  const auto record = file.subspan(places.MergeOffset(chunk), places.merge_bytes());
  if (!RecordCounts(record, {kMergeMark, round, chunk, 0})) return std::nullopt;
  std::vector<uint32_t> slots;
  for (uint32_t slot = 0; slot < places.slots(); ++slot) {
    if (std::to_integer<unsigned>(record[slot / 8]) >> (slot % 8) & 1) slots.push_back(slot);
  }
  return slots;
}

std::optional<Hash128> ReadMerged(std::span<const std::byte> file, const JournalPlaces& places,
                                  uint32_t round, uint32_t chunk) {
  const auto record = file.subspan(places.MergedOffset(chunk), kJournalMergedBytes);
  if (!RecordCounts(record, {kMergedMark, round, chunk, 0})) return std::nullopt;
  return GetHash(record, 0);
}

}  // namespace

std::optional<Hash128> ReadJournalSeal(std::span<const std::byte> file, const JournalPlaces& places,
                                       uint32_t round, uint32_t slot, uint32_t chunk) {
  const auto record = file.subspan(places.SealOffset(slot, chunk), kJournalSealBytes);
  if (!RecordCounts(record, {kSealMark, round, slot, chunk})) return std::nullopt;
  return GetHash(record, 0);
}

std::optional<JournalMember> ReadJournalMember(std::span<const std::byte> file,
                                               const JournalPlaces& places, uint32_t round,
                                               uint32_t slot) {
  const auto first = ReadMemberCopy(file, places, round, slot, 0);
  const auto second = ReadMemberCopy(file, places, round, slot, 1);
  if (second && (!first || first->sequence < second->sequence)) return second->member;
  if (first) return first->member;
  return std::nullopt;
}

JournalChunk ReadJournalChunk(std::span<const std::byte> file, const JournalPlaces& places,
                              uint32_t round, uint32_t chunk) {
  return {.merge = ReadMerge(file, places, round, chunk),
          .base_hash = ReadMerged(file, places, round, chunk)};
}

std::optional<JournalCommit> ReadJournalCommit(std::span<const std::byte> file,
                                               const JournalPlaces& places, uint32_t round) {
  const auto record = file.subspan(places.commit_offset(), kJournalCommitBytes);
  if (!RecordCounts(record, {kCommitMark, round, 0, 0})) return std::nullopt;
  return JournalCommit{.root = GetHash(record, 0), .members = Get<uint32_t>(record, 16)};
}

JournalRound ReadJournalRound(std::span<const std::byte> file, const JournalPlaces& places,
                              uint32_t round) {
  JournalRound result{.round = round};
  for (uint32_t slot = 0; slot < places.slots(); ++slot)
    result.members.push_back(ReadJournalMember(file, places, round, slot));
  for (uint32_t chunk = 0; chunk < places.chunks(); ++chunk)
    result.chunks.push_back(ReadJournalChunk(file, places, round, chunk));
  result.commit = ReadJournalCommit(file, places, round);
  return result;
}

void WriteJournalSeal(std::span<std::byte> file, const JournalPlaces& places, uint32_t round,
                      uint32_t slot, uint32_t chunk, const Hash128& payload_hash) {
  const auto record = file.subspan(places.SealOffset(slot, chunk), kJournalSealBytes);
  PutHash(record, 0, payload_hash);
  FinishRecord(record, {kSealMark, round, slot, chunk});
}

void WriteJournalMember(std::span<std::byte> file, const JournalPlaces& places, uint32_t round,
                        uint32_t slot, const JournalMember& member) {
  const auto first = ReadMemberCopy(file, places, round, slot, 0);
  const auto second = ReadMemberCopy(file, places, round, slot, 1);
  const uint32_t first_sequence = first ? first->sequence : 0;
  const uint32_t second_sequence = second ? second->sequence : 0;
  const uint32_t copy = first_sequence > second_sequence ? 1 : 0;
  const auto record = file.subspan(places.MemberOffset(slot, copy), kJournalMemberBytes);
  Put(record, 0, member.samples);
  Put(record, 8, member.session);
  Put(record, 16, member.flags);
  Put(record, 20, std::max(first_sequence, second_sequence) + 1);
  FinishRecord(record, {kMemberMark, round, slot, copy});
}

void WriteJournalMerge(std::span<std::byte> file, const JournalPlaces& places, uint32_t round,
                       uint32_t chunk, std::span<const uint32_t> slots) {
  const auto record = file.subspan(places.MergeOffset(chunk), places.merge_bytes());
  std::ranges::fill(record, std::byte{0});
  for (const uint32_t slot : slots) record[slot / 8] |= std::byte{1} << (slot % 8);
  FinishRecord(record, {kMergeMark, round, chunk, 0});
}

void WriteJournalMerged(std::span<std::byte> file, const JournalPlaces& places, uint32_t round,
                        uint32_t chunk, const Hash128& base_hash) {
  const auto record = file.subspan(places.MergedOffset(chunk), kJournalMergedBytes);
  PutHash(record, 0, base_hash);
  FinishRecord(record, {kMergedMark, round, chunk, 0});
}

void WriteJournalCommit(std::span<std::byte> file, const JournalPlaces& places, uint32_t round,
                        const JournalCommit& commit) {
  const auto record = file.subspan(places.commit_offset(), kJournalCommitBytes);
  PutHash(record, 0, commit.root);
  Put(record, 16, commit.members);
  Put(record, 20, uint32_t{0});
  FinishRecord(record, {kCommitMark, round, 0, 0});
}

}  // namespace interlude
