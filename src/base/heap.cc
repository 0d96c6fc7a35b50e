#include "base/heap.h"

#include <malloc.h>
#include <sys/mman.h>

namespace interlude {

void KeepFreedMemory() {
  // The most that glibc accepts: half of an arena's 64 MiB. Where it refuses, it adapts as before.
  ::mallopt(M_MMAP_THRESHOLD, 32 << 20);
  ::mallopt(M_TRIM_THRESHOLD, 64 << 20);
}

void ShareOneHeap() { ::mallopt(M_ARENA_MAX, 1); }

HeapUse ReadHeapUse() {
  const auto info = ::mallinfo2();
  const auto large = static_cast<int64_t>(info.hblkhd);  // blocks with a mapping of their own
  return {static_cast<int64_t>(info.arena) + large, static_cast<int64_t>(info.uordblks) + large};
}

void PreferHugePages(void* memory, size_t bytes) {
  constexpr uintptr_t kPage = 4096;
  const auto begin = (reinterpret_cast<uintptr_t>(memory) + kPage - 1) / kPage * kPage;
  const auto end = (reinterpret_cast<uintptr_t>(memory) + bytes) / kPage * kPage;
  if (begin < end) ::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_HUGEPAGE);
}

void ReturnFreedMemory() { ::malloc_trim(0); }

}  // namespace interlude
