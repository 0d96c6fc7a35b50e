#include "base/page_table.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <utility>

namespace interlude {
namespace {

constexpr size_t kEntriesARead = 4096;
constexpr size_t kRegionsAScan = 1024;

/// PAGEMAP_SCAN of <linux/fs.h> since Linux 6.7; Debian 12's headers are older.
struct ScanArguments {
  uint64_t size, flags, begin, end, walked_to, regions, regions_count, most_pages;
  uint64_t inverted, all_of, any_of, returned;
};
constexpr uint64_t kPresent = 1 << 3;
constexpr uint64_t kPageOfZeros = 1 << 5;
const unsigned long kPagemapScan = _IOWR('f', 16, ScanArguments);

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
      regions_(kRegionsAScan),
      entries_(kEntriesARead),
      touched_(kEntriesARead) {}

PageTable::~PageTable() {
  if (file_ >= 0) ::close(file_);
}

void PageTable::ReadAhead(std::vector<uintptr_t> stops) {
  stops_ = std::move(stops);
  scanned_from_ = scanned_to_ = 0;
}

bool PageTable::Scan(uintptr_t begin, uintptr_t end) {
  ScanArguments scan{.size = sizeof(ScanArguments),
                     .begin = begin,
                     .end = end,
                     .regions = std::bit_cast<uintptr_t>(regions_.data()),
                     .regions_count = regions_.size(),
                     .inverted = kPageOfZeros,
                     .all_of = kPresent | kPageOfZeros,
                     .returned = kPresent};
  const int found = ::ioctl(file_, kPagemapScan, &scan);
  if (found < 0 || scan.walked_to <= begin) {
    can_scan_ = errno != ENOTTY && errno != EINVAL;  // an older kernel
    scanned_from_ = scanned_to_ = 0;
    return false;
  }
  regions_found_ = static_cast<size_t>(found);
  scanned_from_ = begin;
  scanned_to_ = scan.walked_to;
  return true;
}

int64_t PageTable::RegionBytes(uintptr_t begin, uintptr_t end) const {
  const auto last = regions_.begin() + static_cast<ptrdiff_t>(regions_found_);
  auto region = std::upper_bound(regions_.begin(), last, begin,
                                 [](uintptr_t at, const PageRegion& r) { return at < r.end; });
  int64_t bytes = 0;
  for (; region != last && region->begin < end; ++region) {
    bytes += static_cast<int64_t>(std::min<uintptr_t>(end, region->end) -
                                  std::max<uintptr_t>(begin, region->begin));
  }
  return bytes;
}

std::optional<int64_t> PageTable::ScannedBytes(uintptr_t begin, uintptr_t end) {
  if (!can_scan_) return std::nullopt;
  if (stops_.empty()) scanned_from_ = scanned_to_ = 0;
  const uintptr_t last = (end + page_bytes_ - 1) & ~(page_bytes_ - 1);
  int64_t resident = 0;
  for (uintptr_t at = begin; at < end; at = scanned_to_) {
    if (at < scanned_from_ || at >= scanned_to_) {
      const auto stop = std::ranges::upper_bound(stops_, at);
      const uintptr_t ahead = stop == stops_.end() ? last : std::max(last, *stop);
      if (!Scan(at & ~(page_bytes_ - 1), ahead)) return std::nullopt;
    }
    resident += RegionBytes(at, std::min(end, scanned_to_));
  }
  return resident;
}

int64_t PageTable::ResidentBytes(uintptr_t begin, uintptr_t end, bool file_backed) {
  const std::optional<int64_t> scanned = ScannedBytes(begin, end);
  return scanned ? *scanned : ExactBytes(begin, end, file_backed);
}

int64_t PageTable::ExactBytes(uintptr_t begin, uintptr_t end, bool file_backed) {
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
  if (const std::optional<int64_t> scanned = ScannedBytes(begin, end)) return *scanned;
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
