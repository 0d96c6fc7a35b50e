#include "base/memory_map.h"

#include <charconv>
#include <optional>
#include <set>
#include <string>

#include "base/proc_text.h"

namespace interlude {
namespace {

/// The guard below a stack is a page, by default; the space that a heap has reserved to grow into
/// looks alike, but is larger.
constexpr size_t kLargestGuard = size_t{64} << 10;
/// More than this behind a library is no longer taken for its variables.
constexpr size_t kMostVariables = size_t{32} << 20;

/// A line of the text.
struct Line {
  uintptr_t begin = 0;
  uintptr_t end = 0;
  std::string_view access;  // "rw-p"
  std::string_view name;    // a path, "[heap]", or nothing
  bool reserved() const { return access.starts_with("---"); }
};

/// "BEGIN-END ACCESS OFFSET DEVICE INODE NAME", of which the name may be absent or hold blanks.
std::optional<Line> ParseLine(std::string_view text) {
  Line line;
  const char* const end = text.data() + text.size();
  auto parsed = std::from_chars(text.data(), end, line.begin, 16);
  if (parsed.ec != std::errc() || parsed.ptr == end || *parsed.ptr != '-') return std::nullopt;
  parsed = std::from_chars(parsed.ptr + 1, end, line.end, 16);
  if (parsed.ec != std::errc() || line.end <= line.begin) return std::nullopt;
  std::string_view rest(parsed.ptr, static_cast<size_t>(end - parsed.ptr));
  line.access = TakeWord(rest);
  std::string_view inode;
  for (int skipped = 0; skipped < 3; ++skipped) inode = TakeWord(rest);
  if (inode.empty()) return std::nullopt;
  if (const size_t name = rest.find_first_not_of(" \t"); name != std::string_view::npos)
    line.name = rest.substr(name);
  if (line.name.starts_with("[anon:")) line.name = {};  // a label, and no more
  return line;
}

std::vector<Line> ParseLines(std::string_view maps) {
  std::vector<Line> lines;
  while (!maps.empty()) {
    if (const auto line = ParseLine(TakeLine(maps))) lines.push_back(*line);
  }
  return lines;
}

/// What a name says.
MappingKind KindOf(std::string_view name, const std::set<std::string_view>& programs) {
  if (name == "[heap]") return MappingKind::kHeap;
  if (name.starts_with("[stack")) return MappingKind::kThreadStack;
  if (name.starts_with("[") || programs.contains(name)) return MappingKind::kProgram;
  return MappingKind::kFile;
}

/// Adds a mapping without a name, which its lower neighbour explains.
void AddUnnamed(const Line& line, const Line* below, MappingKind below_kind, size_t stack_bytes,
                std::vector<MemoryMapping>& mappings) {
  const size_t size = line.end - line.begin;
  const bool touches = below != nullptr && below->end == line.begin;
  if (touches && below->reserved() && below->end - below->begin <= kLargestGuard) {
    const size_t stack = size < stack_bytes ? size : stack_bytes;
    mappings.push_back({line.begin, line.begin + stack, MappingKind::kThreadStack});
    if (stack < size) mappings.push_back({line.begin + stack, line.end, MappingKind::kAnonymous});
    return;
  }
  const bool variables = touches && below_kind == MappingKind::kProgram &&
                         below->access.starts_with("rw") && size <= kMostVariables;
  mappings.push_back(
      {line.begin, line.end, variables ? MappingKind::kProgram : MappingKind::kAnonymous});
}

}  // namespace

std::vector<MemoryMapping> ParseMemoryMap(std::string_view maps, size_t stack_bytes) {
  const std::vector<Line> lines = ParseLines(maps);
  std::set<std::string_view> programs;
  for (const Line& line : lines) {
    if (!line.name.empty() && line.access.substr(0, 3).ends_with('x')) programs.insert(line.name);
  }
  std::vector<MemoryMapping> mappings;
  const Line* below = nullptr;
  for (const Line& line : lines) {
    const MappingKind below_kind = mappings.empty() ? MappingKind::kReserved : mappings.back().kind;
    if (line.reserved()) {
      mappings.push_back({line.begin, line.end, MappingKind::kReserved});
    } else if (line.name.empty()) {
      AddUnnamed(line, below, below_kind, stack_bytes, mappings);
    } else {
      mappings.push_back({line.begin, line.end, KindOf(line.name, programs)});
    }
    below = &line;
  }
  return mappings;
}

}  // namespace interlude
