#include "base/pressure.h"

#include "base/cgroups.h"
#include "base/proc_text.h"

namespace interlude {
namespace {

/// The total of the line "some avg10=0.00 avg60=0.00 avg300=0.00 total=MICROSECONDS" or "full ...".
std::optional<int64_t> TotalNs(const std::string& path, std::string_view kind) {
  const auto text = ReadProcText(path);
  if (!text) return std::nullopt;
  std::string_view rest = *text;
  while (!rest.empty()) {
    const auto words = Words(TakeLine(rest));
    if (words.empty() || words[0] != kind) continue;
    constexpr std::string_view kTotal = "total=";
    if (!words.back().starts_with(kTotal)) return std::nullopt;
    return Times(Number(words.back().substr(kTotal.size())), 1000);
  }
  return std::nullopt;
}

}  // namespace

Pressure ReadPressure(const std::string& root) {
  Pressure pressure;
  pressure.cpu_some_ns = TotalNs(root + "/proc/pressure/cpu", "some");
  pressure.memory_some_ns = TotalNs(root + "/proc/pressure/memory", "some");
  pressure.io_some_ns = TotalNs(root + "/proc/pressure/io", "some");
  for (const Cgroup& group : FindCgroups("cpu", root)) {
    if (!group.v2) continue;
    pressure.cgroup_cpu_full_ns = TotalNs(group.directory + "/cpu.pressure", "full");
    if (pressure.cgroup_cpu_full_ns) break;  // the nearest that is visible
  }
  return pressure;
}

}  // namespace interlude
