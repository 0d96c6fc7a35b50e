#include "store/journal_directory.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "base/log.h"
#include "store/journal_file.h"

namespace interlude {
namespace {

Status TakeLock(const FileDescriptor& lock, int how, const std::string& directory) {
  if (::flock(lock.get(), how | LOCK_NB) == 0) return OkStatus();
  if (errno == EWOULDBLOCK) {
    return FailedPreconditionError(
        "the journal {} is in use by another process; wait for its end or choose another run "
        "directory",
        directory);
  }
  return ErrnoError(errno, "locking " + directory);
}

bool HasFile(const std::string& directory, uint32_t ring_index) {
  return ::access(JournalFilePath(directory, ring_index).c_str(), F_OK) == 0;
}

}  // namespace

StatusOr<FileDescriptor> ClaimJournalDirectory(const std::string& directory) {
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  if (error) return ErrnoError(error.value(), "making directory " + directory);
  INTERLUDE_ASSIGN_OR_RETURN(FileDescriptor lock, OpenFile(directory + "/lock", O_RDWR | O_CREAT));
  INTERLUDE_RETURN_IF_ERROR(TakeLock(lock, LOCK_EX, directory));
  return lock;
}

StatusOr<FileDescriptor> ShareJournalDirectory(const std::string& directory) {
  auto lock = OpenFile(directory + "/lock", O_RDONLY);
  if (lock.status().code() == StatusCode::kNotFound) return FileDescriptor();
  if (lock.ok()) INTERLUDE_RETURN_IF_ERROR(TakeLock(*lock, LOCK_SH, directory));
  return lock;
}

Status CheckJournalSpace(const std::string& directory, const JournalPlaces& places) {
  struct statvfs info {};
  if (::statvfs(directory.c_str(), &info) != 0)
    return ErrnoError(errno, "asking for the free space of " + directory);
  const auto free_bytes = static_cast<unsigned __int128>(info.f_bavail) * info.f_frsize;
  const auto wanted = static_cast<unsigned __int128>(places.file_bytes()) * places.kept_rounds();
  if (wanted <= free_bytes) return OkStatus();
  return ResourceExhaustedError(
      "the journal {} wants {} bytes ({} rounds of {}), but only {} are free; free some or choose "
      "another run directory",
      directory, wanted, places.kept_rounds(), places.file_bytes(), free_bytes);
}

Status CheckJournalThere(const std::string& directory) {
  for (uint32_t i = 0; i < kMaxJournalKeptRounds; ++i) {
    if (HasFile(directory, i)) return OkStatus();
  }
  return NotFoundError("there is no journal in {}", directory);
}

void RemoveJournalFiles(const std::string& directory) {
  for (uint32_t i = 0; i < kMaxJournalKeptRounds; ++i)
    ::unlink(JournalFilePath(directory, i).c_str());
}

StatusOr<JournalPlaces> FindJournalPlaces(const std::string& directory) {
  Status first_error = NotFoundError("there is no journal in {}", directory);
  for (uint32_t i = 0; i < kMaxJournalKeptRounds; ++i) {
    if (!HasFile(directory, i)) continue;
    auto places = ReadJournalPlaces(JournalFilePath(directory, i));
    if (places.ok()) return places;
    if (first_error.code() == StatusCode::kNotFound) first_error = places.status();
  }
  return first_error;
}

bool IsUnusableJournalFile(const Status& status) {
  return status.code() == StatusCode::kDataLoss || status.code() == StatusCode::kNotFound;
}

void LogUnusableJournalFile(const Status& status) {
  LogWarning("{}; this file of the journal holds no round", status.message());
}

}  // namespace interlude
