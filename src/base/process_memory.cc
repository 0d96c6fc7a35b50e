#include "base/process_memory.h"

#include <fmt/format.h>

#include "base/proc_text.h"

namespace interlude {
namespace {

/// Bytes of a line such as "RssAnon:      1234 kB".
std::optional<uint64_t> Field(std::string_view text, std::string_view key) {
  const auto bytes = Times(NumberAfter(text, key), 1024);
  return bytes && *bytes >= 0 ? std::optional<uint64_t>(*bytes) : std::nullopt;
}

}  // namespace

std::optional<ProcessMemory> ParseProcessStatus(std::string_view status) {
  const auto anonymous = Field(status, "RssAnon:");
  const auto resident = Field(status, "VmRSS:");
  const auto peak = Field(status, "VmHWM:");
  if (!anonymous || !resident || !peak) return std::nullopt;
  return ProcessMemory{*anonymous, *resident, *peak, Field(status, "VmSwap:").value_or(0),
                       Field(status, "VmSize:").value_or(0)};
}

std::optional<ProcessMemory> ReadProcessMemory(pid_t pid) {
  const auto status = ReadProcText(fmt::format("/proc/{}/status", pid));
  return status ? ParseProcessStatus(*status) : std::nullopt;
}

}  // namespace interlude
