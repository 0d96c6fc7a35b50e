#include "base/process_counters.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <ctime>
#include <vector>

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

/// The second number of /proc/self/task/ID/schedstat, read relative to the open directory: with
/// twenty threads a second the path's resolution would be a third of the cost.
std::optional<int64_t> RunDelayNs(int tasks, const char* id) {
  const std::string path = std::string(id) + "/schedstat";
  const int file = ::openat(tasks, path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return std::nullopt;
  char text[96];
  const ssize_t got = ::read(file, text, sizeof(text));
  ::close(file);
  if (got <= 0) return std::nullopt;
  const auto words = Words(std::string_view(text, static_cast<size_t>(got)));
  return words.size() < 2 ? std::nullopt : Number(words[1]);
}

void ReadThreads(const std::string& root, ProcessCounters& counters) {
  DIR* const tasks = ::opendir((root + "/proc/self/task").c_str());
  if (tasks == nullptr) return;
  std::map<int64_t, int64_t> delays;
  while (const dirent* entry = ::readdir(tasks)) {
    const auto id = Number(entry->d_name);
    if (!id) continue;
    const auto delay = RunDelayNs(::dirfd(tasks), entry->d_name);
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
