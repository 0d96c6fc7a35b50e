// Who owns the process's resident memory: every page of it under one name, and what no name was
// found for as a row of its own. docs/report.md#memory says how.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/memory_account.h"
#include "base/memory_map.h"
#include "base/page_table.h"
#include "base/process_memory.h"

namespace interlude {

/// The rows that are no names of NamedMemory.
inline constexpr char kHeapInUse[] = "allocator, in use";
inline constexpr char kHeapKeptFree[] = "allocator, kept free";
inline constexpr char kProgramMemory[] = "program and libraries";
inline constexpr char kStackMemory[] = "thread stacks";
inline constexpr char kFileMemory[] = "mapped files";
inline constexpr char kUnnamedMemory[] = "the rest";

struct ResidentMemory {
  int64_t resident_bytes = 0;  // VmRSS
  /// By owner; never negative. They add up to resident_bytes but for what other threads changed
  /// meanwhile.
  std::map<std::string, int64_t> owners;
};

/// Reads it again and again, and remembers what need not be looked at twice. One thread at a time.
class ResidentMemoryReader {
 public:
  /// Nothing where the kernel does not show the process its own pages.
  std::optional<ResidentMemory> Read();

 private:
  using Owners = std::map<std::string, int64_t>;
  /// Address space and resident bytes that belong to malloc, or may.
  struct HeapPages {
    int64_t mapped_bytes = 0;           // its first heap
    int64_t resident_bytes = 0;         // of it, without what has names
    int64_t unnamed_bytes = 0;          // resident elsewhere, in anonymous memory without a name
    int64_t named_bytes = 0;            // of its blocks, those that have names
    int64_t named_elsewhere_bytes = 0;  // of these, those outside of the first heap
  };
  void AddMapping(const MemoryMapping& mapping, const std::vector<NamedRange>& ranges,
                  HeapPages& heap, Owners& owners);
  void AddUnnamed(const MemoryMapping& part, HeapPages& heap, Owners& owners);
  int64_t NamedBytes(const NamedRange& range, const MemoryMapping& part);
  void AddMappings(const ProcessMemory& memory, const std::vector<NamedRange>& ranges,
                   HeapPages& heap, Owners& owners);
  bool FilesHaveMoved(const ProcessMemory& memory);
  std::vector<uintptr_t> Stops(const std::vector<NamedRange>& ranges) const;

  /// Between malloc and, for what is more than malloc says it has, the rest.
  static void DivideHeap(const HeapPages& heap, Owners& owners);

  std::optional<ResidentMemory> Look(bool exactly);
  bool ReadMap(const ProcessMemory& memory);

  PageTable pages_;
  bool exactly_ = false;  // whether the page of zeros is told from others in unnamed memory
  /// Read again when the size of the address space or of malloc's part has changed, and now and
  /// then.
  std::vector<MemoryMapping> mappings_;
  uint64_t mapped_bytes_ = 0;
  int64_t heap_bytes_ = 0;
  int looks_since_map_ = 0;
  /// Ranges whose pages are all there, with their bytes: they stay, unless memory is swapped.
  std::map<uint64_t, int64_t> full_;
  /// Of program and files, kept while the kernel's total for them stays.
  Owners file_owners_;
  int64_t file_bytes_ = 0;
  int64_t file_mapped_bytes_ = -1;
};

/// Once, afresh.
std::optional<ResidentMemory> ExplainResidentMemory();

/// One line for a log: "held after the run: 41.2 MiB resident: program and libraries 20.1, ...",
/// the largest owner first, those below 0.1 MiB left out.
std::string FormatHeldMemory(const ResidentMemory& memory);

}  // namespace interlude
