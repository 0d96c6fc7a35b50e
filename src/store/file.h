// File descriptors that close themselves, and whole reads and writes with errors as Status.
// No buffering; positioned calls may be made from any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include "base/status.h"

namespace interlude {

/// Owns a file descriptor. Move only.
class FileDescriptor {
 public:
  FileDescriptor() = default;
  explicit FileDescriptor(int fd) : fd_(fd) {}
  ~FileDescriptor() { Close(); }
  FileDescriptor(FileDescriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept;

  int get() const { return fd_; }
  bool valid() const { return fd_ >= 0; }
  /// Closes now, if open.
  void Close();

 private:
  int fd_ = -1;
};

/// open(2) with O_CLOEXEC; new files get `mode`. The error names the path.
StatusOr<FileDescriptor> OpenFile(const std::string& path, int flags, unsigned mode = 0644);

/// The size of an open file in bytes.
StatusOr<uint64_t> FileSize(const FileDescriptor& file, const std::string& path);

/// Writes all bytes at the descriptor's position, or at `offset`. `path` is for the error.
Status WriteFully(const FileDescriptor& file, std::span<const std::byte> bytes,
                  const std::string& path);
Status WriteFullyAt(const FileDescriptor& file, uint64_t offset, std::span<const std::byte> bytes,
                    const std::string& path);

/// Fills `bytes` from `offset`. DataLoss when the file ends before.
Status ReadFullyAt(const FileDescriptor& file, uint64_t offset, std::span<std::byte> bytes,
                   const std::string& path);

/// Makes a directory's entries durable (fsync on the directory that holds `path`).
Status SyncDirectoryOf(const std::string& path);

}  // namespace interlude
