// The process's address space by what each part of it is for, from the text of /proc/self/maps. Any
// thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace interlude {

enum class MappingKind {
  kReserved,     // nobody may touch it: no pages
  kProgram,      // the program and its libraries: code, constants, variables
  kFile,         // other files, and shared memory
  kHeap,         // malloc's first heap
  kThreadStack,  // as the C library makes them
  kAnonymous,    // whatever else has no name: malloc's other heaps and large blocks, Buffers
};

/// [begin, end) in whole pages.
struct MemoryMapping {
  uintptr_t begin = 0;
  uintptr_t end = 0;
  MappingKind kind = MappingKind::kAnonymous;
  friend bool operator==(const MemoryMapping&, const MemoryMapping&) = default;
};

/// By address. A stack is told by the guard below it and is at most `stack_bytes` long (the kernel
/// joins neighbours, so that another mapping may follow within the same line); variables of a
/// library that have no file behind them are told by following its writable part. Lines that are no
/// mapping are left out.
std::vector<MemoryMapping> ParseMemoryMap(std::string_view maps, size_t stack_bytes);

}  // namespace interlude
