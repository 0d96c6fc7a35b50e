#include "store/atomic_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>

#include "base/check.h"

namespace interlude {

namespace {

/// What some files are not capable of. Other errors are those of the disk, which later calls do not
/// report again.
bool IsNoError(int result) {
  return result == 0 || errno == EINVAL || errno == ESPIPE || errno == ENOSYS;
}

}  // namespace

StatusOr<AtomicFile> AtomicFile::Create(std::string path, uint64_t write_behind_bytes) {
  INTERLUDE_ASSIGN_OR_RETURN(FileDescriptor file,
                             OpenFile(path + ".partial", O_WRONLY | O_CREAT | O_TRUNC));
  return AtomicFile(std::move(path), std::move(file), write_behind_bytes);
}

AtomicFile::~AtomicFile() {
  if (file_.valid()) ::unlink(partial_path().c_str());
}

Status AtomicFile::Write(std::span<const std::byte> bytes) {
  if (step_bytes_ == 0) return WriteFully(file_, bytes, partial_path());
  while (!bytes.empty()) {
    const size_t n = std::min<uint64_t>(bytes.size(), step_bytes_ - step_filled_);
    INTERLUDE_RETURN_IF_ERROR(WriteFully(file_, bytes.first(n), partial_path()));
    step_filled_ += n;
    if (step_filled_ == step_bytes_) INTERLUDE_RETURN_IF_ERROR(WriteBehind());
    bytes = bytes.subspan(n);
  }
  return OkStatus();
}

/// Has the full step written by the kernel from now on, waits for the step before, and drops it.
Status AtomicFile::WriteBehind() {
  const auto step = static_cast<off_t>(step_bytes_);
  const auto begin = static_cast<off_t>(step_begin_);
  bool done = IsNoError(::sync_file_range(file_.get(), begin, step, SYNC_FILE_RANGE_WRITE));
  if (done && begin > 0) {
    done = IsNoError(::sync_file_range(
        file_.get(), begin - step, step,
        SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER));
  }
  if (!done) return ErrnoError(errno, "syncing " + partial_path());
  // What it returns matters to nobody: the pages stay, at worst.
  if (begin > 0) ::posix_fadvise(file_.get(), begin - step, step, POSIX_FADV_DONTNEED);
  step_begin_ += step_bytes_;
  step_filled_ = 0;
  return OkStatus();
}

Status AtomicFile::Commit() {
  INTERLUDE_CHECK(file_.valid(), "{} was committed before", path_);
  if (::fsync(file_.get()) != 0) return ErrnoError(errno, "syncing " + partial_path());
  if (step_bytes_ > 0) ::posix_fadvise(file_.get(), 0, 0, POSIX_FADV_DONTNEED);
  if (::rename(partial_path().c_str(), path_.c_str()) != 0) {
    return ErrnoError(errno, fmt::format("renaming {} to {}", partial_path(), path_));
  }
  file_.Close();
  return SyncDirectoryOf(path_);
}

}  // namespace interlude
