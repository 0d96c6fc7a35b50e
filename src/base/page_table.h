// Which pages of this process are resident, from the kernel's own table of them. One thread at a
// time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace interlude {

class PageTable {
 public:
  /// Opens /proc/self/pagemap.
  PageTable();
  ~PageTable();
  PageTable(const PageTable&) = delete;
  PageTable& operator=(const PageTable&) = delete;

  /// Whether the kernel lets the process see it.
  bool ok() const { return file_ >= 0; }

  /// Bytes of [begin, end) that count towards the process's resident memory; a page that is partly
  /// in the range counts with that part. `file_backed`: a file or shared memory is behind it. The
  /// kernel's page of zeros, which stands in for memory that was read and never written, is not
  /// resident; neither are pages shared with another process after a fork. mincore() would say yes
  /// to the former, and of a file's pages tells whether anybody has them in memory. Costs 4 ns a
  /// page of 4 KiB in a huge page, 30 ns otherwise.
  int64_t ExactBytes(uintptr_t begin, uintptr_t end, bool file_backed);

  /// The same for a tenth of it or less where the kernel counts (Linux 6.7): but pages shared after
  /// a fork count, and with some kernels the huge page of zeros.
  int64_t ResidentBytes(uintptr_t begin, uintptr_t end, bool file_backed);

  /// For memory without a file: the same; where the kernel cannot count, the page of zeros counts
  /// too, for mincore() costs a twentieth.
  int64_t TouchedBytes(uintptr_t begin, uintptr_t end);

  /// From now on what is asked for comes in order of address, and where the kernel counts it is
  /// asked ahead, up to the next of `stops` (sorted): one question answers for many ranges, with
  /// what is there when it is put. Without stops, no more.
  void ReadAhead(std::vector<uintptr_t> stops);

 private:
  struct PageRegion {  // of linux/fs.h
    uint64_t begin, end, categories;
  };
  /// Nothing where the kernel cannot.
  std::optional<int64_t> ScannedBytes(uintptr_t begin, uintptr_t end);
  bool Scan(uintptr_t begin, uintptr_t end);
  int64_t RegionBytes(uintptr_t begin, uintptr_t end) const;

  const int file_;
  const size_t page_bytes_;
  bool can_scan_ = true;
  std::vector<uintptr_t> stops_;
  /// Pages that are there, of [scanned_from_, scanned_to_).
  std::vector<PageRegion> regions_;
  size_t regions_found_ = 0;
  uintptr_t scanned_from_ = 0;
  uintptr_t scanned_to_ = 0;
  std::vector<uint64_t> entries_;
  std::vector<unsigned char> touched_;
};

}  // namespace interlude
