#include "base/process_memory.h"

#include <fmt/format.h>

#include <charconv>
#include <fstream>
#include <iterator>
#include <string>

namespace interlude {
namespace {

std::string ReadAll(const std::string& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

/// Bytes of a line such as "RssAnon:      1234 kB".
std::optional<uint64_t> Field(std::string_view text, std::string_view key) {
  for (size_t at = text.find(key); at != std::string_view::npos; at = text.find(key, at + 1)) {
    if (at != 0 && text[at - 1] != '\n') continue;
    const size_t digit = text.find_first_not_of(" \t", at + key.size());
    if (digit == std::string_view::npos) return std::nullopt;
    uint64_t kib = 0;
    const auto parsed = std::from_chars(text.data() + digit, text.data() + text.size(), kib);
    if (parsed.ec != std::errc()) return std::nullopt;
    return kib * 1024;
  }
  return std::nullopt;
}

}  // namespace

std::optional<ProcessMemory> ParseProcessStatus(std::string_view status) {
  const auto anonymous = Field(status, "RssAnon:");
  const auto resident = Field(status, "VmRSS:");
  const auto peak = Field(status, "VmHWM:");
  if (!anonymous || !resident || !peak) return std::nullopt;
  return ProcessMemory{*anonymous, *resident, *peak};
}

std::optional<ProcessMemory> ReadProcessMemory(pid_t pid) {
  return ParseProcessStatus(ReadAll(fmt::format("/proc/{}/status", pid)));
}

}  // namespace interlude
