#include "base/page_table.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>

namespace interlude {
namespace {

constexpr size_t kEntriesARead = 4096;

/// The bits are those of the kernel's Documentation/admin-guide/mm/pagemap.rst.
bool Counts(uint64_t entry, bool file_backed) {
  const bool present = (entry >> 63 & 1) != 0;
  const bool file_or_shared = (entry >> 61 & 1) != 0;  // also the huge page of zeros
  const bool mapped_here_only = (entry >> 56 & 1) != 0;
  if (!present) return false;
  return file_backed ? file_or_shared || mapped_here_only : mapped_here_only && !file_or_shared;
}

}  // namespace

PageTable::PageTable()
    : file_(::open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC)),
      page_bytes_(static_cast<size_t>(::sysconf(_SC_PAGESIZE))),
      entries_(kEntriesARead),
      touched_(kEntriesARead) {}

PageTable::~PageTable() {
  if (file_ >= 0) ::close(file_);
}

int64_t PageTable::ResidentBytes(uintptr_t begin, uintptr_t end, bool file_backed) {
  int64_t resident = 0;
  uintptr_t page = begin / page_bytes_;
  const uintptr_t last = (end + page_bytes_ - 1) / page_bytes_;
  while (page < last) {
    const size_t wanted = std::min<size_t>(last - page, entries_.size());
    const ssize_t got = ::pread(file_, entries_.data(), wanted * sizeof(uint64_t),
                                static_cast<off_t>(page * sizeof(uint64_t)));
    if (got <= 0) break;
    for (size_t i = 0; i < static_cast<size_t>(got) / sizeof(uint64_t); ++i, ++page) {
      if (!Counts(entries_[i], file_backed)) continue;
      resident += static_cast<int64_t>(std::min(end, (page + 1) * page_bytes_) -
                                       std::max(begin, page * page_bytes_));
    }
  }
  return resident;
}

int64_t PageTable::TouchedBytes(uintptr_t begin, uintptr_t end) {
  int64_t touched = 0;
  uintptr_t page = begin / page_bytes_;
  const uintptr_t last = (end + page_bytes_ - 1) / page_bytes_;
  while (page < last) {
    const size_t count = std::min<size_t>(last - page, touched_.size());
    // Fails where another thread has unmapped a part meanwhile: the next time knows.
    if (::mincore(reinterpret_cast<void*>(page * page_bytes_), count * page_bytes_,
                  touched_.data()) != 0)
      break;
    for (size_t i = 0; i < count; ++i, ++page) {
      if ((touched_[i] & 1) == 0) continue;
      touched += static_cast<int64_t>(std::min(end, (page + 1) * page_bytes_) -
                                      std::max(begin, page * page_bytes_));
    }
  }
  return touched;
}

}  // namespace interlude
