#include "base/process_counters.h"

#include <dirent.h>

#include <ctime>

#include "base/proc_text.h"

namespace interlude {
namespace {

std::optional<int64_t> OwnCpuNs() {
  timespec used{};
  if (::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used) != 0) return std::nullopt;
  return used.tv_sec * 1'000'000'000 + used.tv_nsec;
}

/// Fields are numbered as in proc(5); the second, the program's name, may hold blanks and
/// parentheses, so that counting begins after its last one.
void ReadStat(const std::string& root, ProcessCounters& counters) {
  const auto text = ReadProcText(root + "/proc/self/stat");
  if (!text || text->rfind(')') == std::string::npos) return;
  const auto words = Words(std::string_view(*text).substr(text->rfind(')') + 1));
  const auto field = [&](size_t number) {
    return number - 3 < words.size() ? Number(words[number - 3]) : std::nullopt;
  };
  counters.minor_faults = field(10);
  counters.major_faults = field(12);
  counters.threads = field(20);
}

/// The second number of /proc/self/task/ID/schedstat.
std::optional<int64_t> RunDelayNs(const std::string& path) {
  const auto text = ReadProcText(path);
  const auto words = Words(text ? std::string_view(*text) : std::string_view());
  return words.size() < 2 ? std::nullopt : Number(words[1]);
}

void ReadThreads(const std::string& root, ProcessCounters& counters) {
  const std::string directory = root + "/proc/self/task";
  DIR* const tasks = ::opendir(directory.c_str());
  if (tasks == nullptr) return;
  std::map<int64_t, int64_t> delays;
  while (const dirent* entry = ::readdir(tasks)) {
    const auto id = Number(entry->d_name);
    if (!id) continue;
    const auto delay = RunDelayNs(directory + "/" + entry->d_name + "/schedstat");
    if (delay) delays[*id] = *delay;
  }
  ::closedir(tasks);
  if (!delays.empty()) counters.run_delay_ns_by_thread = std::move(delays);
}

}  // namespace

ProcessCounters ReadProcessCounters(const std::string& root) {
  ProcessCounters counters;
  counters.cpu_ns = OwnCpuNs();
  ReadStat(root, counters);
  if (const auto status = ReadProcText(root + "/proc/self/status"))
    counters.memory = ParseProcessStatus(*status);
  if (const auto io = ReadProcText(root + "/proc/self/io")) {
    counters.disk_read_bytes = NumberAfter(*io, "read_bytes:");
    counters.disk_write_bytes = NumberAfter(*io, "write_bytes:");
  }
  ReadThreads(root, counters);
  return counters;
}

}  // namespace interlude
