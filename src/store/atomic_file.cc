#include "store/atomic_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "base/check.h"

namespace interlude {

StatusOr<AtomicFile> AtomicFile::Create(std::string path) {
  INTERLUDE_ASSIGN_OR_RETURN(FileDescriptor file,
                             OpenFile(path + ".partial", O_WRONLY | O_CREAT | O_TRUNC));
  return AtomicFile(std::move(path), std::move(file));
}

AtomicFile::~AtomicFile() {
  if (file_.valid()) ::unlink(partial_path().c_str());
}

Status AtomicFile::Write(std::span<const std::byte> bytes) {
  return WriteFully(file_, bytes, partial_path());
}

Status AtomicFile::Commit() {
  INTERLUDE_CHECK(file_.valid(), "{} was committed before", path_);
  if (::fsync(file_.get()) != 0) return ErrnoError(errno, "syncing " + partial_path());
  if (::rename(partial_path().c_str(), path_.c_str()) != 0) {
    return ErrnoError(errno, fmt::format("renaming {} to {}", partial_path(), path_));
  }
  file_.Close();
  return SyncDirectoryOf(path_);
}

}  // namespace interlude
