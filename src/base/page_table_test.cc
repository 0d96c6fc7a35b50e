#include "base/page_table.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "base/rng.h"

namespace interlude {
namespace {

constexpr size_t kPage = 4096;
constexpr size_t kPages = 3000;

/// Memory of kPages pages, each untouched, only read, or written.
class Pages {
 public:
  Pages(int flags, uint64_t seed, bool read_too) : rng_(seed) {
    const int file = (flags & MAP_ANONYMOUS) != 0 ? -1 : TemporaryFile();
    data_ = static_cast<volatile char*>(
        ::mmap(nullptr, kPages * kPage, PROT_READ | PROT_WRITE, flags, file, 0));
    if (file >= 0) ::close(file);
    for (size_t i = 0; i < kPages; ++i) {
      const uint64_t what = rng_() % (read_too ? 3 : 2);
      if (what == 0) data_[i * kPage] = 1;
      if (what == 2) sum_ += data_[i * kPage];
    }
  }
  ~Pages() { ::munmap(const_cast<char*>(data_), kPages * kPage); }

  /// A part of it, with ends anywhere.
  std::pair<uintptr_t, uintptr_t> Part() {
    const auto begin = reinterpret_cast<uintptr_t>(data_);
    const uint64_t a = rng_() % (kPages * kPage), b = rng_() % (kPages * kPage);
    return {begin + std::min(a, b), begin + std::max(a, b)};
  }

 private:
  static int TemporaryFile() {
    char path[] = "/tmp/pages-XXXXXX";
    const int file = ::mkstemp(path);
    ::unlink(path);
    EXPECT_EQ(::ftruncate(file, kPages * kPage), 0);
    return file;
  }

  Rng rng_;
  volatile char* data_;
  int sum_ = 0;
};

TEST(PageTableProperty, TheQuickWayCountsTheSameBytes) {
  PageTable pages;
  if (!pages.ok()) GTEST_SKIP() << "no page table to read";
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    Pages anonymous(MAP_PRIVATE | MAP_ANONYMOUS, seed, /*read_too=*/true);
    Pages file(MAP_SHARED, seed, /*read_too=*/true);
    for (int i = 0; i < 20; ++i) {
      const auto [a, b] = anonymous.Part();
      EXPECT_EQ(pages.ResidentBytes(a, b, false), pages.ExactBytes(a, b, false)) << seed;
      EXPECT_GE(pages.TouchedBytes(a, b), pages.ExactBytes(a, b, false)) << seed;
      const auto [c, d] = file.Part();
      EXPECT_EQ(pages.ResidentBytes(c, d, true), pages.ExactBytes(c, d, true)) << seed;
    }
  }
}

TEST(PageTable, NothingIsInAnEmptyRangeAndAPartOfAPageCountsAsThatPart) {
  PageTable pages;
  if (!pages.ok()) GTEST_SKIP() << "no page table to read";
  char byte = 1;
  const auto at = reinterpret_cast<uintptr_t>(&byte);
  EXPECT_EQ(pages.ResidentBytes(at, at, false), 0);
  EXPECT_EQ(pages.TouchedBytes(at, at), 0);
  EXPECT_EQ(pages.ResidentBytes(at, at + 1, false), 1);
}

}  // namespace
}  // namespace interlude
