#include "store/journal.h"

#include <algorithm>

#include "store/journal_directory.h"
#include "store/journal_file.h"
#include "store/journal_records.h"

namespace interlude {
namespace {

class FileJournal final : public Journal {
 public:
  FileJournal(FileDescriptor lock, JournalPlaces places)
      : lock_(std::move(lock)), places_(std::move(places)), files_(places_.kept_rounds()) {}

  JournalFile& file(uint32_t ring_index) { return files_[ring_index]; }

  Status BeginRound(uint32_t round) override;
  Status Write(uint32_t round, uint32_t slot, uint32_t chunk, size_t offset,
               std::span<const std::byte> bytes) override;
  std::span<const std::byte> Read(uint32_t round, uint32_t slot, uint32_t chunk) const override {
    return Place(round, slot, chunk);
  }
  StatusOr<std::span<const std::byte>> Find(uint32_t round, uint32_t slot,
                                            uint32_t chunk) const override {
    INTERLUDE_RETURN_IF_ERROR(Check(round, slot, chunk));
    return std::span<const std::byte>(PlaceOf(round, slot, chunk));
  }
  std::span<std::byte> Mutable(uint32_t round, uint32_t slot, uint32_t chunk) override {
    return Place(round, slot, chunk);
  }
  Status Seal(uint32_t round, uint32_t slot, uint32_t chunk, const Hash128& payload_hash) override;
  Status SetMember(uint32_t round, uint32_t slot, const JournalMember& member) override;
  Status RecordMerge(uint32_t round, uint32_t chunk, std::span<const uint32_t> slots) override;
  Status RecordMerged(uint32_t round, uint32_t chunk, const Hash128& base_hash) override;
  Status RecordCommit(uint32_t round, const Hash128& root) override;
  std::vector<uint32_t> rounds() const override;
  const JournalGeometry& geometry() const override { return places_.geometry(); }
  JournalRound Inspect(uint32_t round) const override;
  std::optional<Hash128> SealOf(uint32_t round, uint32_t slot, uint32_t chunk) const override;

 private:
  const JournalFile& FileOf(uint32_t round) const { return files_[round % places_.kept_rounds()]; }
  std::span<std::byte> BytesOf(uint32_t round) const { return FileOf(round).bytes(); }
  /// Whether the round is held and slot and chunk exist.
  Status Check(uint32_t round, uint32_t slot, uint32_t chunk) const;
  /// Aborts where the place is not in the journal.
  std::span<std::byte> Place(uint32_t round, uint32_t slot, uint32_t chunk) const;
  /// Precondition: Check passed.
  std::span<std::byte> PlaceOf(uint32_t round, uint32_t slot, uint32_t chunk) const;

  const FileDescriptor lock_;  // held for the journal's life
  const JournalPlaces places_;
  std::vector<JournalFile> files_;
};

Status FileJournal::BeginRound(uint32_t round) {
  if (round == kNoJournalRound)
    return OutOfRangeError("round {} is beyond the journal's last", round);
  JournalFile& file = files_[round % places_.kept_rounds()];
  const uint32_t held = file.round();
  if (held != kNoJournalRound && held >= round) {
    return FailedPreconditionError("the journal cannot begin round {}: its file holds round {}",
                                   round, held);
  }
  return file.BeginRound(places_, round);
}

Status FileJournal::Check(uint32_t round, uint32_t slot, uint32_t chunk) const {
  if (slot >= places_.slots() || chunk >= places_.chunks()) {
    return OutOfRangeError("slot {}, chunk {} of the journal: it has {} slots of {} chunks", slot,
                           chunk, places_.slots(), places_.chunks());
  }
  const uint32_t held = FileOf(round).round();
  if (held != round || round == kNoJournalRound) {
    return FailedPreconditionError(
        "round {} is not in the journal: its file holds {}", round,
        held == kNoJournalRound ? "none" : fmt::format("round {}", held));
  }
  return OkStatus();
}

Status FileJournal::Write(uint32_t round, uint32_t slot, uint32_t chunk, size_t offset,
                          std::span<const std::byte> bytes) {
  INTERLUDE_RETURN_IF_ERROR(Check(round, slot, chunk));
  const uint64_t place_bytes = places_.ChunkBytes(chunk);
  if (offset > place_bytes || bytes.size() > place_bytes - offset) {
    return OutOfRangeError("round {}, slot {}: {} bytes at {} of chunk {} do not fit its {} bytes",
                           round, slot, bytes.size(), offset, chunk, place_bytes);
  }
  return FileOf(round).WriteAt(places_.ChunkOffset(slot, chunk) + offset, bytes);
}

std::span<std::byte> FileJournal::Place(uint32_t round, uint32_t slot, uint32_t chunk) const {
  const Status status = Check(round, slot, chunk);
  INTERLUDE_CHECK(status.ok(), "{}", status.ToString());
  return PlaceOf(round, slot, chunk);
}

std::span<std::byte> FileJournal::PlaceOf(uint32_t round, uint32_t slot, uint32_t chunk) const {
  return BytesOf(round).subspan(places_.ChunkOffset(slot, chunk), places_.ChunkBytes(chunk));
}

Status FileJournal::Seal(uint32_t round, uint32_t slot, uint32_t chunk,
                         const Hash128& payload_hash) {
  INTERLUDE_RETURN_IF_ERROR(Check(round, slot, chunk));
  WriteJournalSeal(BytesOf(round), places_, round, slot, chunk, payload_hash);
  return OkStatus();
}

Status FileJournal::SetMember(uint32_t round, uint32_t slot, const JournalMember& member) {
  INTERLUDE_RETURN_IF_ERROR(Check(round, slot, 0));
  WriteJournalMember(BytesOf(round), places_, round, slot, member);
  return OkStatus();
}

Status FileJournal::RecordMerge(uint32_t round, uint32_t chunk, std::span<const uint32_t> slots) {
  INTERLUDE_RETURN_IF_ERROR(Check(round, 0, chunk));
  for (const uint32_t slot : slots) INTERLUDE_RETURN_IF_ERROR(Check(round, slot, chunk));
  const auto recorded = ReadJournalChunk(BytesOf(round), places_, round, chunk).merge;
  if (!recorded) {
    WriteJournalMerge(BytesOf(round), places_, round, chunk, slots);
    return OkStatus();
  }
  std::vector<uint32_t> wanted(slots.begin(), slots.end());
  std::ranges::sort(wanted);
  wanted.erase(std::unique(wanted.begin(), wanted.end()), wanted.end());
  if (wanted == *recorded) return OkStatus();
  return FailedPreconditionError(
      "round {}, chunk {}: the journal has its merge of slots {}, it cannot become one of {}",
      round, chunk, fmt::join(*recorded, ", "), fmt::join(wanted, ", "));
}

Status FileJournal::RecordMerged(uint32_t round, uint32_t chunk, const Hash128& base_hash) {
  INTERLUDE_RETURN_IF_ERROR(Check(round, 0, chunk));
  const JournalChunk recorded = ReadJournalChunk(BytesOf(round), places_, round, chunk);
  if (!recorded.merge) {
    return FailedPreconditionError("round {}, chunk {}: its merge is not in the journal", round,
                                   chunk);
  }
  if (recorded.base_hash && *recorded.base_hash != base_hash) {
    return FailedPreconditionError(
        "round {}, chunk {}: by the journal its merge gave base hash {}, now it gives {}", round,
        chunk, recorded.base_hash->ToHex(), base_hash.ToHex());
  }
  if (!recorded.base_hash) WriteJournalMerged(BytesOf(round), places_, round, chunk, base_hash);
  return OkStatus();
}

Status FileJournal::RecordCommit(uint32_t round, const Hash128& root) {
  INTERLUDE_RETURN_IF_ERROR(Check(round, 0, 0));
  const std::span<std::byte> bytes = BytesOf(round);
  const auto recorded = ReadJournalCommit(bytes, places_, round);
  if (recorded) {
    if (recorded->root == root) return OkStatus();
    return FailedPreconditionError("round {}: by the journal its root is {}, now it is {}", round,
                                   recorded->root.ToHex(), root.ToHex());
  }
  JournalCommit commit{.root = root};
  for (uint32_t slot = 0; slot < places_.slots(); ++slot)
    commit.members += ReadJournalMember(bytes, places_, round, slot).has_value() ? 1 : 0;
  WriteJournalCommit(bytes, places_, round, commit);
  return OkStatus();
}

std::vector<uint32_t> FileJournal::rounds() const {
  std::vector<uint32_t> rounds;
  for (const JournalFile& file : files_) {
    if (file.round() != kNoJournalRound) rounds.push_back(file.round());
  }
  std::ranges::sort(rounds);
  return rounds;
}

JournalRound FileJournal::Inspect(uint32_t round) const {
  const Status status = Check(round, 0, 0);
  INTERLUDE_CHECK(status.ok(), "{}", status.ToString());
  return ReadJournalRound(BytesOf(round), places_, round);
}

std::optional<Hash128> FileJournal::SealOf(uint32_t round, uint32_t slot, uint32_t chunk) const {
  if (!Check(round, slot, chunk).ok()) return std::nullopt;
  return ReadJournalSeal(BytesOf(round), places_, round, slot, chunk);
}

}  // namespace

bool Journal::SealedWhole(uint32_t round, uint32_t slot, uint32_t chunk) const {
  const auto sealed = SealOf(round, slot, chunk);
  return sealed && *sealed == HashBytes(Read(round, slot, chunk));
}

StatusOr<std::unique_ptr<Journal>> Journal::Create(const std::string& directory,
                                                   const JournalGeometry& geometry) {
  INTERLUDE_ASSIGN_OR_RETURN(JournalPlaces places, JournalPlaces::Create(geometry));
  INTERLUDE_ASSIGN_OR_RETURN(FileDescriptor lock, ClaimJournalDirectory(directory));
  RemoveJournalFiles(directory);
  INTERLUDE_RETURN_IF_ERROR(CheckJournalSpace(directory, places));
  auto journal = std::make_unique<FileJournal>(std::move(lock), places);
  for (uint32_t i = 0; i < places.kept_rounds(); ++i) {
    if (Status status = journal->file(i).Create(directory, places, i); !status.ok()) {
      RemoveJournalFiles(directory);
      return status;
    }
  }
  return std::unique_ptr<Journal>(std::move(journal));
}

StatusOr<std::unique_ptr<Journal>> Journal::Open(const std::string& directory,
                                                 const JournalGeometry& geometry) {
  INTERLUDE_ASSIGN_OR_RETURN(JournalPlaces places, JournalPlaces::Create(geometry));
  INTERLUDE_RETURN_IF_ERROR(CheckJournalThere(directory));
  INTERLUDE_ASSIGN_OR_RETURN(FileDescriptor lock, ClaimJournalDirectory(directory));
  auto journal = std::make_unique<FileJournal>(std::move(lock), places);
  std::vector<uint32_t> unusable;
  for (uint32_t i = 0; i < places.kept_rounds(); ++i) {
    const Status status = journal->file(i).Open(directory, places, i);
    if (!status.ok() && !IsUnusableJournalFile(status)) return status;
    if (!status.ok()) {
      LogUnusableJournalFile(status);
      unusable.push_back(i);
    }
  }
  // Only now: a journal of another run must not be touched.
  for (const uint32_t i : unusable)
    INTERLUDE_RETURN_IF_ERROR(journal->file(i).Create(directory, places, i));
  return std::unique_ptr<Journal>(std::move(journal));
}

StatusOr<std::unique_ptr<const Journal>> Journal::OpenReadOnly(const std::string& directory) {
  INTERLUDE_ASSIGN_OR_RETURN(FileDescriptor lock, ShareJournalDirectory(directory));
  INTERLUDE_ASSIGN_OR_RETURN(JournalPlaces places, FindJournalPlaces(directory));
  auto journal = std::make_unique<FileJournal>(std::move(lock), places);
  for (uint32_t i = 0; i < places.kept_rounds(); ++i) {
    const Status status = journal->file(i).OpenReadOnly(directory, places, i);
    if (!status.ok() && !IsUnusableJournalFile(status)) return status;
    if (!status.ok()) LogUnusableJournalFile(status);
  }
  return std::unique_ptr<const Journal>(std::move(journal));
}

}  // namespace interlude
