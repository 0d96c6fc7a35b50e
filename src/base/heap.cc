#include "base/heap.h"

#include <malloc.h>

namespace interlude {

void KeepFreedMemory() {
  // The most that glibc accepts: half of an arena's 64 MiB. Where it refuses, it adapts as before.
  ::mallopt(M_MMAP_THRESHOLD, 32 << 20);
  ::mallopt(M_TRIM_THRESHOLD, 64 << 20);
}

void ShareOneHeap() { ::mallopt(M_ARENA_MAX, 1); }

void ReturnFreedMemory() { ::malloc_trim(0); }

}  // namespace interlude
