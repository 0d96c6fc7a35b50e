#include "base/resident_memory.h"

#include <fmt/format.h>
#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/heap.h"
#include "base/proc_text.h"

namespace interlude {
namespace {

/// Reservations of sanitizers and GPU drivers, whose pages it would take minutes to ask for.
constexpr size_t kLargestMapping = size_t{64} << 30;
/// Where the kernel shows a page of its own in the map of each process.
constexpr uintptr_t kKernelSpace = uintptr_t{1} << 63;
/// A range is full when no more than this is missing: its first lines are skipped (NextColour).
constexpr int64_t kMissingOfFull = int64_t{128} << 10;
/// Below this change of the kernel's total, or this part of the resident memory, files are not
/// looked at again.
constexpr int64_t kFileChange = int64_t{256} << 10;
constexpr int64_t kFileChangePart = 128;
/// Below this change of what malloc has, neither is the map.
constexpr int64_t kHeapChange = int64_t{1} << 20;
/// Looks with the same map, at most.
constexpr int kLooksAMap = 16;
/// More than this above the resident memory, or than a hundredth of it, is looked at again exactly.
constexpr int64_t kExcess = int64_t{1} << 20;

bool HasFile(const MemoryMapping& mapping) {
  return mapping.kind == MappingKind::kProgram || mapping.kind == MappingKind::kFile;
}

size_t DefaultStackBytes() {
  pthread_attr_t attributes;
  if (::pthread_getattr_default_np(&attributes) != 0) return size_t{8} << 20;
  size_t bytes = 0;
  ::pthread_attr_getstacksize(&attributes, &bytes);
  ::pthread_attr_destroy(&attributes);
  return bytes;
}

}  // namespace

int64_t ResidentMemoryReader::NamedBytes(const NamedRange& range, const MemoryMapping& part) {
  const bool whole = part.begin == range.begin && part.end == range.end;
  if (exactly_) return pages_.ExactBytes(part.begin, part.end, HasFile(part));
  if (const auto known = full_.find(range.id); whole && known != full_.end()) return known->second;
  const int64_t bytes = pages_.ResidentBytes(part.begin, part.end, HasFile(part));
  if (whole && !HasFile(part) &&
      static_cast<int64_t>(part.end - part.begin) - bytes <= kMissingOfFull) {
    full_[range.id] = bytes;
  }
  return bytes;
}

void ResidentMemoryReader::AddUnnamed(const MemoryMapping& part, HeapPages& heap, Owners& owners) {
  if (part.begin >= part.end) return;
  const int64_t bytes = exactly_ ? pages_.ExactBytes(part.begin, part.end, HasFile(part))
                        : HasFile(part)
                            ? pages_.ResidentBytes(part.begin, part.end, /*file_backed=*/true)
                            : pages_.TouchedBytes(part.begin, part.end);
  switch (part.kind) {
    case MappingKind::kReserved:
      break;
    case MappingKind::kProgram:
      owners[kProgramMemory] += bytes;
      break;
    case MappingKind::kFile:
      owners[kFileMemory] += bytes;
      break;
    case MappingKind::kThreadStack:
      owners[kStackMemory] += bytes;
      break;
    case MappingKind::kHeap:
      heap.resident_bytes += bytes;
      break;
    case MappingKind::kAnonymous:
      heap.unnamed_bytes += bytes;
      break;
  }
}

/// Cuts the mapping where ranges with names begin and end.
void ResidentMemoryReader::AddMapping(const MemoryMapping& mapping,
                                      const std::vector<NamedRange>& ranges, HeapPages& heap,
                                      Owners& owners) {
  if (mapping.kind == MappingKind::kReserved || mapping.end - mapping.begin > kLargestMapping)
    return;
  if (mapping.kind == MappingKind::kHeap)
    heap.mapped_bytes += static_cast<int64_t>(mapping.end - mapping.begin);
  uintptr_t at = mapping.begin;
  auto range = std::ranges::upper_bound(ranges, at, {}, &NamedRange::end);
  for (; range != ranges.end() && range->begin < mapping.end; ++range) {
    const MemoryMapping part{std::max(at, range->begin), std::min(mapping.end, range->end),
                             mapping.kind};
    if (part.begin >= part.end) continue;  // within the one before
    AddUnnamed({at, part.begin, mapping.kind}, heap, owners);
    owners[range->owner] += NamedBytes(*range, part);
    at = part.end;
    if (range->place != MemoryPlace::kHeap) continue;
    const auto bytes = static_cast<int64_t>(part.end - part.begin);
    heap.named_bytes += bytes;
    if (mapping.kind != MappingKind::kHeap) heap.named_elsewhere_bytes += bytes;
  }
  AddUnnamed({at, mapping.end, mapping.kind}, heap, owners);
}

void ResidentMemoryReader::DivideHeap(const HeapPages& heap, Owners& owners) {
  const HeapUse use = ReadHeapUse();
  // No more than what malloc says it has got from the kernel besides its first heap.
  const int64_t elsewhere =
      std::clamp<int64_t>(use.from_kernel_bytes - heap.mapped_bytes - heap.named_elsewhere_bytes, 0,
                          heap.unnamed_bytes);
  const int64_t all = heap.resident_bytes + elsewhere;
  const int64_t in_use = std::clamp<int64_t>(use.in_use_bytes - heap.named_bytes, 0, all);
  owners[kHeapInUse] = in_use;
  owners[kHeapKeptFree] = all - in_use;
}

/// Program and files are looked at again only when the kernel's total for files has moved.
bool ResidentMemoryReader::FilesHaveMoved(const ProcessMemory& memory) {
  const auto total = static_cast<int64_t>(memory.resident - memory.anonymous);
  int64_t mapped = 0;
  for (const MemoryMapping& mapping : mappings_) {
    if (HasFile(mapping)) mapped += static_cast<int64_t>(mapping.end - mapping.begin);
  }
  const int64_t change =
      std::max(kFileChange, static_cast<int64_t>(memory.resident) / kFileChangePart);
  if (mapped == file_mapped_bytes_ && std::abs(total - file_bytes_) <= change) return false;
  file_bytes_ = total;
  file_mapped_bytes_ = mapped;
  return true;
}

/// Where reading ahead ends: at what need not or must not be looked at, and at the last mapping.
std::vector<uintptr_t> ResidentMemoryReader::Stops(const std::vector<NamedRange>& ranges) const {
  std::vector<uintptr_t> stops;
  for (const NamedRange& range : ranges) {
    if (full_.contains(range.id)) stops.push_back(range.begin);
  }
  uintptr_t end = 0;
  for (const MemoryMapping& mapping : mappings_) {
    if (mapping.begin >= kKernelSpace) break;
    if (mapping.end - mapping.begin > kLargestMapping) stops.push_back(mapping.begin);
    end = mapping.end;
  }
  stops.push_back(end);
  std::ranges::sort(stops);
  return stops;
}

void ResidentMemoryReader::AddMappings(const ProcessMemory& memory,
                                       const std::vector<NamedRange>& ranges, HeapPages& heap,
                                       Owners& owners) {
  const bool files = FilesHaveMoved(memory);
  if (files) file_owners_ = {{kProgramMemory, 0}, {kFileMemory, 0}};
  HeapPages none;
  pages_.ReadAhead(Stops(ranges));
  for (const MemoryMapping& mapping : mappings_) {
    if (!HasFile(mapping)) AddMapping(mapping, ranges, heap, owners);
    if (HasFile(mapping) && files) AddMapping(mapping, ranges, none, file_owners_);
  }
  pages_.ReadAhead({});
  for (const auto& [owner, bytes] : file_owners_) owners[owner] += bytes;
}

/// With LibTorch the map has more than a thousand lines, which cost the kernel more than all pages.
/// malloc's heap of a thread grows within address space that it has reserved: the process's total
/// stays as it was.
bool ResidentMemoryReader::ReadMap(const ProcessMemory& memory) {
  const int64_t heap = ReadHeapUse().from_kernel_bytes;
  const bool same = memory.mapped == mapped_bytes_ && std::abs(heap - heap_bytes_) <= kHeapChange &&
                    ++looks_since_map_ < kLooksAMap;
  if (same && !mappings_.empty()) return true;
  const auto maps = ReadProcText("/proc/self/maps");
  if (!maps) return false;
  static const size_t stack_bytes = DefaultStackBytes();
  mappings_ = ParseMemoryMap(*maps, stack_bytes);
  mapped_bytes_ = memory.mapped;
  heap_bytes_ = heap;
  looks_since_map_ = 0;
  return true;
}

std::optional<ResidentMemory> ResidentMemoryReader::Read() {
  auto memory = Look(/*exactly=*/false);
  if (!memory) return memory;
  int64_t named = 0;
  for (const auto& [owner, bytes] : memory->owners) named += bytes;
  // More than there is: the quick look has counted pages of zeros.
  if (named - memory->resident_bytes > std::max(kExcess, memory->resident_bytes / 100))
    memory = Look(/*exactly=*/true);
  return memory;
}

std::optional<ResidentMemory> ResidentMemoryReader::Look(bool exactly) {
  exactly_ = exactly;
  const auto memory = ReadProcessMemory(::getpid());
  if (!pages_.ok() || !memory || !ReadMap(*memory)) return std::nullopt;
  if (memory->swapped > 0) full_.clear();
  const std::vector<NamedRange> ranges = NamedRanges();
  std::erase_if(full_, [&](const auto& known) {
    return std::ranges::find(ranges, known.first, &NamedRange::id) == ranges.end();
  });

  ResidentMemory result;
  HeapPages heap;
  for (const NamedRange& range : ranges) result.owners[range.owner];  // 0 where nothing is touched
  result.owners[kStackMemory] = 0;
  AddMappings(*memory, ranges, heap, result.owners);
  DivideHeap(heap, result.owners);

  int64_t named = 0;
  for (const auto& [owner, bytes] : result.owners) named += bytes;
  const auto after = ReadProcessMemory(::getpid());
  result.resident_bytes = static_cast<int64_t>((after ? *after : *memory).resident);
  result.owners[kUnnamedMemory] = std::max<int64_t>(0, result.resident_bytes - named);
  return result;
}

std::optional<ResidentMemory> ExplainResidentMemory() { return ResidentMemoryReader().Read(); }

std::string FormatHeldMemory(const ResidentMemory& memory) {
  std::vector<std::pair<std::string, int64_t>> owners(memory.owners.begin(), memory.owners.end());
  std::ranges::stable_sort(owners, std::greater<>(), &std::pair<std::string, int64_t>::second);
  const auto mib = [](int64_t bytes) { return static_cast<double>(bytes) / 0x1p20; };
  std::string text =
      fmt::format("held after the run: {:.1f} MiB resident", mib(memory.resident_bytes));
  const char* separator = ": ";
  for (const auto& [owner, bytes] : owners) {
    if (mib(bytes) < 0.05) break;
    text += fmt::format("{}{} {:.1f}", std::exchange(separator, ", "), owner, mib(bytes));
  }
  return text;
}

}  // namespace interlude
