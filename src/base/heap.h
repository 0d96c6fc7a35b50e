// How this process's heap treats large blocks. Set once, when a program starts.
#pragma once

#include <cstddef>
#include <cstdint>

namespace interlude {

/// Keeps freed blocks of up to 32 MiB for the next use, up to 64 MiB at the end of each arena,
/// instead of giving them back to the kernel. glibc comes to the same limits by itself, but only
/// after a block of 32 MiB was freed. Without them the memory that gRPC reads sockets into goes
/// back and forth: every message meets fresh pages, and a copy of it into place costs less than
/// they do (transport_bench with and without this call: about twice the time). Before other
/// threads.
void KeepFreedMemory();

/// One heap for all threads, for a process that serves one run after the other: of a heap for each,
/// with pieces of many runs' messages in it, a part could never be given back. Big buffers are
/// outside of it, so its lock is seldom wanted. Before other threads.
void ShareOneHeap();

/// What malloc holds in this process.
struct HeapUse {
  int64_t from_kernel_bytes = 0;  // address space, touched or not
  int64_t in_use_bytes = 0;       // of it, what malloc has given out; the rest it keeps free
};
/// As malloc counts it (mallinfo2). Costs some microseconds for each thread's heap.
HeapUse ReadHeapUse();

/// Asks for huge pages where `memory` is about to be filled for the first time: the kernel clears
/// them several times faster. Advice: where it does not follow, nothing changes.
void PreferHugePages(void* memory, size_t bytes);

/// Gives all that is free back to the kernel: between two runs.
void ReturnFreedMemory();

}  // namespace interlude
