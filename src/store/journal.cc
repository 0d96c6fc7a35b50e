#include "store/journal.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <filesystem>

#include "store/file.h"
#include "store/journal_format.h"

namespace interlude {
namespace {

std::string RingPath(const std::string& directory, uint32_t ring_index) {
  return fmt::format("{}/ring-{}.journal", directory, ring_index);
}

/// One file of the ring and its mapping.
class RingFile {
 public:
  RingFile() = default;
  ~RingFile() {
    if (data_ != nullptr) ::munmap(data_, size_);
  }
  RingFile(const RingFile&) = delete;
  RingFile& operator=(const RingFile&) = delete;

  /// Creates or empties the file, gives it all its blocks, maps it.
  Status Open(const std::string& directory, const JournalPlaces& places, uint32_t ring_index);
  /// Names the round in the header and, for other threads, in memory.
  Status BeginRound(const JournalPlaces& places, uint32_t round);
  Status WriteAt(uint64_t offset, std::span<const std::byte> bytes) const {
    return WriteFullyAt(file_, offset, bytes, path_);
  }
  std::byte* at(uint64_t offset) const { return data_ + offset; }
  uint32_t round() const { return round_.load(std::memory_order_acquire); }

 private:
  FileDescriptor file_;
  std::string path_;
  uint32_t ring_index_ = 0;
  std::byte* data_ = nullptr;
  size_t size_ = 0;
  std::atomic<uint32_t> round_{kNoJournalRound};
};

Status RingFile::Open(const std::string& directory, const JournalPlaces& places,
                      uint32_t ring_index) {
  path_ = RingPath(directory, ring_index);
  ring_index_ = ring_index;
  INTERLUDE_ASSIGN_OR_RETURN(file_, OpenFile(path_, O_RDWR | O_CREAT));
  // An old round's seals must not survive, and blocks are only surely there when asked for.
  if (::ftruncate(file_.get(), 0) != 0) return ErrnoError(errno, "emptying " + path_);
  size_ = places.file_bytes();
  const int error = ::posix_fallocate(file_.get(), 0, static_cast<off_t>(size_));
  if (error != 0) return ErrnoError(error, fmt::format("reserving {} bytes for {}", size_, path_));
  INTERLUDE_RETURN_IF_ERROR(
      WriteAt(kJournalHeaderBytes, std::as_bytes(std::span(places.chunk_table()))));
  void* data = ::mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_SHARED, file_.get(), 0);
  if (data == MAP_FAILED)
    return ErrnoError(errno, fmt::format("mapping {} bytes of {}", size_, path_));
  data_ = static_cast<std::byte*>(data);
  return BeginRound(places, kNoJournalRound);
}

Status RingFile::BeginRound(const JournalPlaces& places, uint32_t round) {
  INTERLUDE_RETURN_IF_ERROR(
      WriteAt(0, EncodeJournalHeader(MakeJournalHeader(places, ring_index_, round))));
  round_.store(round, std::memory_order_release);
  return OkStatus();
}

class FileJournal final : public Journal {
 public:
  FileJournal(FileDescriptor lock, JournalPlaces places)
      : lock_(std::move(lock)), places_(std::move(places)), files_(places_.kept_rounds()) {}

  Status OpenFiles(const std::string& directory) {
    for (uint32_t i = 0; i < places_.kept_rounds(); ++i) {
      INTERLUDE_RETURN_IF_ERROR(files_[i].Open(directory, places_, i));
    }
    return OkStatus();
  }

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

 private:
  const RingFile& FileOf(uint32_t round) const { return files_[round % places_.kept_rounds()]; }
  /// Whether the round is held and slot and chunk exist.
  Status Check(uint32_t round, uint32_t slot, uint32_t chunk) const;
  /// Aborts where the place is not in the journal.
  std::span<std::byte> Place(uint32_t round, uint32_t slot, uint32_t chunk) const;
  /// Precondition: Check passed.
  std::span<std::byte> PlaceOf(uint32_t round, uint32_t slot, uint32_t chunk) const;

  const FileDescriptor lock_;  // held for the journal's life
  const JournalPlaces places_;
  std::vector<RingFile> files_;
};

Status FileJournal::BeginRound(uint32_t round) {
  if (round == kNoJournalRound)
    return OutOfRangeError("round {} is beyond the journal's last", round);
  RingFile& file = files_[round % places_.kept_rounds()];
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
  return {FileOf(round).at(places_.ChunkOffset(slot, chunk)), places_.ChunkBytes(chunk)};
}

Status FileJournal::Seal(uint32_t round, uint32_t slot, uint32_t chunk,
                         const Hash128& payload_hash) {
  INTERLUDE_RETURN_IF_ERROR(Check(round, slot, chunk));
  return FileOf(round).WriteAt(places_.SealOffset(slot, chunk),
                               EncodeJournalSeal(round, slot, chunk, payload_hash));
}

/// Two coordinators in one directory would overwrite each other's chunks.
StatusOr<FileDescriptor> LockDirectory(const std::string& directory) {
  const std::string path = directory + "/lock";
  INTERLUDE_ASSIGN_OR_RETURN(FileDescriptor lock, OpenFile(path, O_RDWR | O_CREAT));
  if (::flock(lock.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno == EWOULDBLOCK) {
      return FailedPreconditionError(
          "the journal {} is in use by another process; choose another run directory", directory);
    }
    return ErrnoError(errno, "locking " + path);
  }
  return lock;
}

void RemoveRing(const std::string& directory) {
  for (uint32_t i = 0; ::unlink(RingPath(directory, i).c_str()) == 0; ++i) {
  }
}

/// Fails before a single block is taken: a disk filled to the brim harms others on the machine too.
Status CheckFreeSpace(const std::string& directory, const JournalPlaces& places) {
  struct statvfs info {};
  if (::statvfs(directory.c_str(), &info) != 0)
    return ErrnoError(errno, "asking for the free space of " + directory);
  const auto free_bytes = static_cast<unsigned __int128>(info.f_bavail) * info.f_frsize;
  const auto wanted = static_cast<unsigned __int128>(places.file_bytes()) * places.kept_rounds();
  if (wanted <= free_bytes) return OkStatus();
  return ResourceExhaustedError(
      "the journal {} wants {} bytes ({} rounds of {}), but only {} are free; free some or choose "
      "another run "
      "directory",
      directory, wanted, places.kept_rounds(), places.file_bytes(), free_bytes);
}

}  // namespace

StatusOr<std::unique_ptr<Journal>> Journal::Create(const std::string& directory,
                                                   const JournalGeometry& geometry) {
  INTERLUDE_ASSIGN_OR_RETURN(JournalPlaces places, JournalPlaces::Create(geometry));
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  if (error) return ErrnoError(error.value(), "making directory " + directory);
  INTERLUDE_ASSIGN_OR_RETURN(FileDescriptor lock, LockDirectory(directory));
  RemoveRing(directory);
  INTERLUDE_RETURN_IF_ERROR(CheckFreeSpace(directory, places));

  auto journal = std::make_unique<FileJournal>(std::move(lock), std::move(places));
  if (Status status = journal->OpenFiles(directory); !status.ok()) {
    RemoveRing(directory);
    return status;
  }
  return std::unique_ptr<Journal>(std::move(journal));
}

}  // namespace interlude
