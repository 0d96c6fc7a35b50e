// For fuzz targets of readers that take a path: a file in memory that is open under one. Not for
// SQLite, which looks for the name behind the path.
#pragma once

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstddef>
#include <span>
#include <string>

#include "base/check.h"

namespace interlude {

class MemoryFile {
 public:
  MemoryFile() : fd_(::memfd_create("fuzz", 0)) {
    INTERLUDE_CHECK(fd_ >= 0 && ::fchmod(fd_, S_IRUSR | S_IWUSR) == 0, "no file in memory");
  }
  ~MemoryFile() { ::close(fd_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  /// The path, after the file was given these bytes and no others.
  std::string Holding(std::span<const std::byte> bytes) {
    INTERLUDE_CHECK(::ftruncate(fd_, 0) == 0 && ::pwrite(fd_, bytes.data(), bytes.size(), 0) ==
                                                    static_cast<ssize_t>(bytes.size()),
                    "writing {} bytes", bytes.size());
    return fmt::format("/proc/self/fd/{}", fd_);
  }

 private:
  const int fd_;
};

}  // namespace interlude
