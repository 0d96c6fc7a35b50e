#include "doctor/memory_checks.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "base/proc_text.h"
#include "report/table.h"

namespace interlude {
namespace {

/// A cgroup without a limit says "max", or in v1 a number beyond any memory.
constexpr int64_t kNoLimit = int64_t{1} << 60;
/// Encoding moves this share of what memcpy moves (docs/results.md has the bar); far below it the
/// processor, not memory, holds the codec up.
constexpr double kEncodeOfCopy = 0.3;

/// The directories of the process's memory cgroups and their ancestors, with the names of the
/// files there.
struct MemoryGroup {
  std::string limit;
  std::string usage;
};

void AddGroups(const std::string& mount, std::string path, bool v2,
               std::vector<MemoryGroup>& groups) {
  for (;;) {
    while (!path.empty() && path.back() == '/') path.pop_back();
    const std::string directory = mount + path + "/memory.";
    groups.push_back(v2 ? MemoryGroup{directory + "max", directory + "current"}
                        : MemoryGroup{directory + "limit_in_bytes", directory + "usage_in_bytes"});
    if (path.empty()) return;
    path.resize(path.find_last_of('/') == std::string::npos ? 0 : path.find_last_of('/'));
  }
}

std::vector<MemoryGroup> MemoryGroups(const std::string& root) {
  std::vector<MemoryGroup> groups;
  const auto text = ReadProcText(root + "/proc/self/cgroup");
  std::string_view rest = text ? std::string_view(*text) : std::string_view();
  while (!rest.empty()) {
    const std::string_view line = TakeLine(rest);  // ID:CONTROLLERS:PATH
    const size_t first = line.find(':');
    const size_t second = line.find(':', first + 1);
    if (first == std::string_view::npos || second == std::string_view::npos) continue;
    const std::string_view controllers = line.substr(first + 1, second - first - 1);
    const std::string path(line.substr(second + 1));
    if (controllers.empty()) AddGroups(root + "/sys/fs/cgroup", path, true, groups);
    if (controllers == "memory") AddGroups(root + "/sys/fs/cgroup/memory", path, false, groups);
  }
  return groups;
}

std::optional<int64_t> NumberIn(const std::string& path) {
  const auto text = ReadProcText(path);
  return text ? Number(*text) : std::nullopt;
}

std::optional<uint64_t> LeftInCgroups(const std::string& root) {
  std::optional<uint64_t> left;
  for (const MemoryGroup& group : MemoryGroups(root)) {
    const auto limit = NumberIn(group.limit);
    const auto usage = NumberIn(group.usage);
    if (!limit || !usage || *limit < 0 || *limit >= kNoLimit) continue;
    const auto here = static_cast<uint64_t>(std::max<int64_t>(0, *limit - *usage));
    left = std::min(left.value_or(here), here);
  }
  return left;
}

/// The word in brackets of "always [madvise] never".
std::string Bracketed(const std::string& text) {
  const size_t begin = text.find('[');
  const size_t end = text.find(']', begin);
  if (begin == std::string::npos || end == std::string::npos) return "";
  return text.substr(begin + 1, end - begin - 1);
}

Check CheckFree(const MemoryReading& reading, const Job& job) {
  Check check{.name = "memory"};
  if (!reading.available_bytes && !reading.cgroup_left_bytes) {
    check.figure = "neither the kernel nor a cgroup says how much is free";
    return check;
  }
  const uint64_t left = reading.cgroup_left_bytes.value_or(UINT64_MAX);
  const uint64_t free_bytes = std::min(reading.available_bytes.value_or(UINT64_MAX), left);
  check.figure = fmt::format("{} free{}", HumanBytes(static_cast<double>(free_bytes)),
                             free_bytes == left ? " within the cgroup's limit" : "");
  check.values = {{"free_bytes", static_cast<double>(free_bytes)}};
  if (job.params == 0) {
    check.advice = "give --params N to have it compared with what a worker needs";
    return check;
  }
  const uint64_t need = WorkerMemoryBytes(job.params);
  check.figure += fmt::format(
      "; a worker that trains {} parameters on the CPU needs {} (16 bytes each for parameters, "
      "gradient and AdamW, 4 for the base, 0.53 for the payload) and its activations",
      HumanCount(static_cast<double>(job.params)), HumanBytes(static_cast<double>(need)));
  check.values.emplace_back("need_bytes", static_cast<double>(need));
  check.grade = free_bytes < need           ? CheckGrade::kBad
                : free_bytes / 5 * 4 < need ? CheckGrade::kWarn
                                            : CheckGrade::kOk;
  if (check.grade == CheckGrade::kBad) {
    check.advice =
        "the worker will not start, or be killed: take a larger machine, or train on a "
        "GPU, where only the payload is in this memory";
  } else if (check.grade == CheckGrade::kWarn) {
    check.advice = "little is left for activations and the data: watch for swapping";
  }
  return check;
}

Check CheckSpeed(const Job& job, const std::optional<CodecSpeed>& speed) {
  Check check{.name = "codec and memory"};
  if (!speed) {
    check.figure = "not measured: too little memory is free";
    return check;
  }
  const double encode_share = speed->encode_params_per_s * kEncodeBytes / speed->copy_bytes_per_s;
  check.grade = encode_share < kEncodeOfCopy ? CheckGrade::kWarn : CheckGrade::kOk;
  check.figure = fmt::format("on {}: memcpy {}/s (read and written), encoding {:.2f} of that",
                             Count(speed->threads, "thread"), HumanBytes(speed->copy_bytes_per_s),
                             encode_share);
  check.values = {{"copy_bytes_per_s", speed->copy_bytes_per_s},
                  {"encode_params_per_s", speed->encode_params_per_s},
                  {"apply_params_per_s", speed->apply_params_per_s}};
  if (check.grade == CheckGrade::kWarn)
    check.advice =
        "the processor, not memory, holds the codec up: a busy machine, a quota, or an "
        "instruction set that is missing; see the lines above";
  if (job.params == 0) return check;
  const CodecSeconds seconds = CodecTime(*speed, job.params);
  check.figure += fmt::format("; of {} parameters encoding takes {}, applying {}",
                              HumanCount(static_cast<double>(job.params)),
                              HumanSeconds(seconds.encode), HumanSeconds(seconds.apply));
  check.values.emplace_back("encode_seconds", seconds.encode);
  check.values.emplace_back("apply_seconds", seconds.apply);
  return check;
}

Check CheckHugePages(const std::string& setting) {
  Check check{.name = "huge pages", .grade = CheckGrade::kOk, .figure = setting};
  if (setting.empty()) {
    check.grade = CheckGrade::kUnknown;
    check.figure = "the kernel does not say";
  } else if (setting == "never") {
    check.grade = CheckGrade::kWarn;
    check.advice =
        "large buffers are touched page by page, most of all in the first round: as "
        "root, echo madvise > /sys/kernel/mm/transparent_hugepage/enabled";
  }
  return check;
}

}  // namespace

MemoryReading ReadMemory(const std::string& root) {
  MemoryReading reading;
  if (const auto text = ReadProcText(root + "/proc/meminfo")) {
    const auto kib = Times(NumberAfter(*text, "MemAvailable:"), 1024);
    if (kib && *kib >= 0) reading.available_bytes = static_cast<uint64_t>(*kib);
  }
  reading.cgroup_left_bytes = LeftInCgroups(root);
  const auto pages = ReadProcText(root + "/sys/kernel/mm/transparent_hugepage/enabled");
  if (pages) reading.huge_pages = Bracketed(*pages);
  return reading;
}

Checks CheckMemory(const MemoryReading& reading, const Job& job,
                   const std::optional<CodecSpeed>& speed) {
  return {CheckFree(reading, job), CheckSpeed(job, speed), CheckHugePages(reading.huge_pages)};
}

CodecSeconds CodecTime(const CodecSpeed& speed, uint64_t params) {
  const auto count = static_cast<double>(params);
  return {count / speed.encode_params_per_s, count / speed.apply_params_per_s};
}

}  // namespace interlude
