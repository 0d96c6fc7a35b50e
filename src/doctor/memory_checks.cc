#include "doctor/memory_checks.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/free_memory.h"
#include "base/human_text.h"
#include "base/proc_text.h"

namespace interlude {
namespace {

/// Encoding moves this share of what memcpy moves (docs/results.md has the bar); far below it the
/// processor, not memory, holds the codec up.
constexpr double kEncodeOfCopy = 0.3;

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
  reading.available_bytes = AvailableMemoryBytes(root);
  reading.cgroup_left_bytes = MemoryLeftInCgroups(root);
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
