// One file of the journal's ring and its mapping. Threads as store/journal.h says.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "base/memory_account.h"
#include "base/status.h"
#include "store/file.h"
#include "store/journal_format.h"

namespace interlude {

/// DIRECTORY/ring-INDEX.journal.
std::string JournalFilePath(const std::string& directory, uint32_t ring_index);

/// The header of a file. NotFound without the file; errors as DecodeJournalHeader.
StatusOr<JournalHeader> ReadJournalHeader(const std::string& path);

/// The places by what a file itself says. Errors as ReadJournalHeader and PlacesOfJournal.
StatusOr<JournalPlaces> ReadJournalPlaces(const std::string& path);

/// Not open at first. Neither copied nor moved: other threads read its round.
class JournalFile {
 public:
  JournalFile() = default;
  ~JournalFile();
  JournalFile(const JournalFile&) = delete;
  JournalFile& operator=(const JournalFile&) = delete;

  /// Makes the file anew, replacing one that is there, gives it all its blocks and maps it.
  Status Create(const std::string& directory, const JournalPlaces& places, uint32_t ring_index);

  /// Maps the file that is there, with the round it holds. NotFound, errors as
  /// DecodeJournalHeader and CheckJournalHeader; then the file is not open.
  Status Open(const std::string& directory, const JournalPlaces& places, uint32_t ring_index);

  /// The same for reading.
  Status OpenReadOnly(const std::string& directory, const JournalPlaces& places,
                      uint32_t ring_index);

  /// Names the round in the header and, for other threads, in memory.
  Status BeginRound(const JournalPlaces& places, uint32_t round);

  Status WriteAt(uint64_t offset, std::span<const std::byte> bytes) const {
    return WriteFullyAt(file_, offset, bytes, path_);
  }
  /// The whole file, for writing only unless it was opened for reading. Precondition: open.
  std::span<std::byte> bytes() const { return {data_, size_}; }
  /// kNoJournalRound while it holds none or is not open.
  uint32_t round() const { return round_.load(std::memory_order_acquire); }

 private:
  StatusOr<uint32_t> OpenChecked(const JournalPlaces& places, int flags);
  Status Map(int protection);

  FileDescriptor file_;
  std::string path_;
  uint32_t ring_index_ = 0;
  std::byte* data_ = nullptr;
  size_t size_ = 0;
  NamedMemory name_;
  std::atomic<uint32_t> round_{kNoJournalRound};
};

}  // namespace interlude
