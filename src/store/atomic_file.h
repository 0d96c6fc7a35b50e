// A file that appears whole under its name or not at all: written as PATH.partial, synced, renamed.
// One thread at a time, and one writer for a path.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "base/status.h"
#include "store/file.h"

namespace interlude {

/// Move only. Without Commit the destructor removes PATH.partial, and PATH stays what it was.
class AtomicFile {
 public:
  /// Creates PATH.partial, replacing what a crash may have left there.
  static StatusOr<AtomicFile> Create(std::string path);
  ~AtomicFile();
  AtomicFile(AtomicFile&& other) noexcept = default;
  AtomicFile& operator=(AtomicFile&&) = delete;

  /// Appends bytes.
  Status Write(std::span<const std::byte> bytes);

  /// Makes the bytes durable and gives the file its name. On an error PATH is as before, but for a
  /// failed sync of the directory, after which either content may survive a crash. Call once.
  Status Commit();

 private:
  AtomicFile(std::string path, FileDescriptor file)
      : path_(std::move(path)), file_(std::move(file)) {}
  std::string partial_path() const { return path_ + ".partial"; }

  std::string path_;
  FileDescriptor file_;  // valid until committed or moved from
};

}  // namespace interlude
