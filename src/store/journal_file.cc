#include "store/journal_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <vector>

#include "layout/layout.h"

namespace interlude {
namespace {

StatusOr<JournalHeader> ReadHeader(const FileDescriptor& file, const std::string& path) {
  std::array<std::byte, kJournalHeaderBytes> bytes;
  INTERLUDE_RETURN_IF_ERROR(ReadFullyAt(file, 0, bytes, path));
  auto header = DecodeJournalHeader(bytes);
  if (!header.ok()) return header.status().WithContext(path);
  return header;
}

/// Blocks are only surely there when asked for, and a store to a mapping cannot say that none is.
Status TakeBlocks(const FileDescriptor& file, uint64_t bytes, const std::string& path) {
  const int error = ::posix_fallocate(file.get(), 0, static_cast<off_t>(bytes));
  if (error != 0) return ErrnoError(error, fmt::format("reserving {} bytes for {}", bytes, path));
  return OkStatus();
}

}  // namespace

std::string JournalFilePath(const std::string& directory, uint32_t ring_index) {
  return fmt::format("{}/ring-{}.journal", directory, ring_index);
}

StatusOr<JournalHeader> ReadJournalHeader(const std::string& path) {
  INTERLUDE_ASSIGN_OR_RETURN(const FileDescriptor file, OpenFile(path, O_RDONLY));
  return ReadHeader(file, path);
}

StatusOr<JournalPlaces> ReadJournalPlaces(const std::string& path) {
  INTERLUDE_ASSIGN_OR_RETURN(const FileDescriptor file, OpenFile(path, O_RDONLY));
  INTERLUDE_ASSIGN_OR_RETURN(const JournalHeader header, ReadHeader(file, path));
  if (header.chunks > kMaxChunks) {
    return DataLossError("{}: the header says {} chunks, the limit is {}", path, header.chunks,
                         kMaxChunks);
  }
  std::vector<std::byte> chunk_table(header.chunks * sizeof(uint64_t));
  INTERLUDE_RETURN_IF_ERROR(ReadFullyAt(file, kJournalHeaderBytes, chunk_table, path));
  auto places = PlacesOfJournal(header, chunk_table);
  if (!places.ok()) return places.status().WithContext(path);
  return places;
}

JournalFile::~JournalFile() {
  name_ = NamedMemory();
  if (data_ != nullptr) ::munmap(data_, size_);
}

Status JournalFile::Create(const std::string& directory, const JournalPlaces& places,
                           uint32_t ring_index) {
  path_ = JournalFilePath(directory, ring_index);
  ring_index_ = ring_index;
  // A new file, so that no record of an old round survives and the mode is surely the one wanted.
  if (::unlink(path_.c_str()) != 0 && errno != ENOENT)
    return ErrnoError(errno, "removing the old " + path_);
  INTERLUDE_ASSIGN_OR_RETURN(file_, OpenFile(path_, O_RDWR | O_CREAT | O_EXCL, 0600));
  size_ = places.file_bytes();
  INTERLUDE_RETURN_IF_ERROR(TakeBlocks(file_, size_, path_));
  INTERLUDE_RETURN_IF_ERROR(WriteAt(kJournalHeaderBytes, places.chunk_table()));
  INTERLUDE_RETURN_IF_ERROR(Map(PROT_READ | PROT_WRITE));
  return BeginRound(places, kNoJournalRound);
}

Status JournalFile::Open(const std::string& directory, const JournalPlaces& places,
                         uint32_t ring_index) {
  path_ = JournalFilePath(directory, ring_index);
  ring_index_ = ring_index;
  INTERLUDE_ASSIGN_OR_RETURN(const uint32_t round, OpenChecked(places, O_RDWR));
  // A copied file may have holes. The chunk table is known, so it need not be read.
  INTERLUDE_RETURN_IF_ERROR(TakeBlocks(file_, size_, path_));
  INTERLUDE_RETURN_IF_ERROR(WriteAt(kJournalHeaderBytes, places.chunk_table()));
  INTERLUDE_RETURN_IF_ERROR(Map(PROT_READ | PROT_WRITE));
  round_.store(round, std::memory_order_release);
  return OkStatus();
}

Status JournalFile::OpenReadOnly(const std::string& directory, const JournalPlaces& places,
                                 uint32_t ring_index) {
  path_ = JournalFilePath(directory, ring_index);
  ring_index_ = ring_index;
  INTERLUDE_ASSIGN_OR_RETURN(const uint32_t round, OpenChecked(places, O_RDONLY));
  INTERLUDE_RETURN_IF_ERROR(Map(PROT_READ));
  round_.store(round, std::memory_order_release);
  return OkStatus();
}

StatusOr<uint32_t> JournalFile::OpenChecked(const JournalPlaces& places, int flags) {
  INTERLUDE_ASSIGN_OR_RETURN(FileDescriptor file, OpenFile(path_, flags));
  INTERLUDE_ASSIGN_OR_RETURN(const JournalHeader header, ReadHeader(file, path_));
  INTERLUDE_ASSIGN_OR_RETURN(const uint64_t bytes, FileSize(file, path_));
  auto round = CheckJournalHeader(header, places, ring_index_, bytes);
  if (!round.ok()) return round.status().WithContext(path_);
  file_ = std::move(file);
  size_ = bytes;
  return round;
}

Status JournalFile::Map(int protection) {
  void* data = ::mmap(nullptr, size_, protection, MAP_SHARED, file_.get(), 0);
  if (data == MAP_FAILED)
    return ErrnoError(errno, fmt::format("mapping {} bytes of {}", size_, path_));
  data_ = static_cast<std::byte*>(data);
  name_ = NamedMemory("journal", data_, size_, MemoryPlace::kOwnPages);
  return OkStatus();
}

Status JournalFile::BeginRound(const JournalPlaces& places, uint32_t round) {
  // A positioned write, not a store: being killed cannot tear it.
  INTERLUDE_RETURN_IF_ERROR(
      WriteAt(0, EncodeJournalHeader(MakeJournalHeader(places, ring_index_, round))));
  round_.store(round, std::memory_order_release);
  return OkStatus();
}

}  // namespace interlude
