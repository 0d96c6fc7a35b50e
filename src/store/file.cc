#include "store/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>

namespace interlude {
namespace {

/// Linux transfers at most a little under 2 GiB a call.
constexpr size_t kMaxTransferBytes = size_t{1} << 30;

/// Calls `transfer(pointer, bytes, done)` until `size` bytes are through; returns how many are, or
/// -1.
template <typename Byte, typename Transfer>
ssize_t TransferAll(std::span<Byte> bytes, Transfer transfer) {
  size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t n =
        transfer(bytes.data() + done, std::min(kMaxTransferBytes, bytes.size() - done), done);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return -1;
    if (n == 0) break;
    done += static_cast<size_t>(n);
  }
  return static_cast<ssize_t>(done);
}

Status WriteOutcome(ssize_t done, size_t wanted, const std::string& path) {
  if (done < 0) return ErrnoError(errno, fmt::format("writing {} bytes to {}", wanted, path));
  if (static_cast<size_t>(done) < wanted) {
    return UnknownError("{} took only {} of {} bytes", path, done, wanted);
  }
  return OkStatus();
}

}  // namespace

FileDescriptor& FileDescriptor::operator=(FileDescriptor&& other) noexcept {
  if (this != &other) {
    Close();
    fd_ = std::exchange(other.fd_, -1);
  }
  return *this;
}

void FileDescriptor::Close() {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

StatusOr<FileDescriptor> OpenFile(const std::string& path, int flags, unsigned mode) {
  FileDescriptor file(::open(path.c_str(), flags | O_CLOEXEC, mode));
  if (!file.valid()) return ErrnoError(errno, "opening " + path);
  return file;
}

StatusOr<uint64_t> FileSize(const FileDescriptor& file, const std::string& path) {
  struct stat info {};
  if (::fstat(file.get(), &info) != 0) return ErrnoError(errno, "reading the size of " + path);
  if (!S_ISREG(info.st_mode)) return InvalidArgumentError("{} is no regular file", path);
  return static_cast<uint64_t>(info.st_size);
}

Status WriteFully(const FileDescriptor& file, std::span<const std::byte> bytes,
                  const std::string& path) {
  const ssize_t done = TransferAll(bytes, [&](const std::byte* from, size_t n, size_t /*done*/) {
    return ::write(file.get(), from, n);
  });
  return WriteOutcome(done, bytes.size(), path);
}

Status WriteFullyAt(const FileDescriptor& file, uint64_t offset, std::span<const std::byte> bytes,
                    const std::string& path) {
  const ssize_t done = TransferAll(bytes, [&](const std::byte* from, size_t n, size_t at) {
    return ::pwrite(file.get(), from, n, static_cast<off_t>(offset + at));
  });
  return WriteOutcome(done, bytes.size(), path);
}

Status ReadFullyAt(const FileDescriptor& file, uint64_t offset, std::span<std::byte> bytes,
                   const std::string& path) {
  const ssize_t done = TransferAll(bytes, [&](std::byte* to, size_t n, size_t at) {
    return ::pread(file.get(), to, n, static_cast<off_t>(offset + at));
  });
  if (done < 0) {
    return ErrnoError(errno,
                      fmt::format("reading {} bytes at {} of {}", bytes.size(), offset, path));
  }
  if (static_cast<size_t>(done) < bytes.size()) {
    return DataLossError("{} ends at byte {}, {} were to be read from {} on", path,
                         offset + static_cast<uint64_t>(done), bytes.size(), offset);
  }
  return OkStatus();
}

Status SyncDirectoryOf(const std::string& path) {
  const std::filesystem::path parent = std::filesystem::path(path).parent_path();
  const std::string directory = parent.empty() ? std::string(".") : parent.string();
  INTERLUDE_ASSIGN_OR_RETURN(const FileDescriptor file,
                             OpenFile(directory, O_RDONLY | O_DIRECTORY));
  // Some file systems cannot sync a directory and say EINVAL; they have no stronger promise to
  // give.
  if (::fsync(file.get()) != 0 && errno != EINVAL)
    return ErrnoError(errno, "syncing directory " + directory);
  return OkStatus();
}

}  // namespace interlude
