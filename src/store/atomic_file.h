// A file that appears whole under its name or not at all: written as PATH.partial, synced, renamed.
// One thread at a time, and one writer for a path.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "base/status.h"
#include "store/file.h"

namespace interlude {

/// Move only. Without Commit the destructor removes PATH.partial, and PATH stays what it was.
class AtomicFile {
 public:
  /// Creates PATH.partial, replacing what a crash may have left there. With a `write_behind_bytes`
  /// the file goes to the disk in steps of so many bytes while it is written, and leaves the page
  /// cache: for large files that nobody reads soon. At most two steps are then unwritten, so Write
  /// waits for the disk, and Commit has little left to do.
  static StatusOr<AtomicFile> Create(std::string path, uint64_t write_behind_bytes = 0);
  ~AtomicFile();
  AtomicFile(AtomicFile&& other) noexcept = default;
  AtomicFile& operator=(AtomicFile&&) = delete;

  /// Appends bytes.
  Status Write(std::span<const std::byte> bytes);

  /// Bytes at a place of their own, beside Write's; not with steps. Any thread, several at a time.
  Status WriteAt(uint64_t offset, std::span<const std::byte> bytes) const {
    return WriteFullyAt(file_, offset, bytes, partial_path());
  }

  /// Makes the bytes durable and gives the file its name. On an error PATH is as before, but for a
  /// failed sync of the directory, after which either content may survive a crash. Call once.
  Status Commit();

 private:
  AtomicFile(std::string path, FileDescriptor file, uint64_t step_bytes)
      : path_(std::move(path)), file_(std::move(file)), step_bytes_(step_bytes) {}
  std::string partial_path() const { return path_ + ".partial"; }
  Status WriteBehind();

  std::string path_;
  FileDescriptor file_;      // valid until committed or moved from
  uint64_t step_bytes_ = 0;  // 0: no steps
  uint64_t step_begin_ = 0;  // of the step that is being filled
  uint64_t step_filled_ = 0;
};

}  // namespace interlude
