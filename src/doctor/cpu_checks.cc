#include "doctor/cpu_checks.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "base/cpu_model.h"
#include "base/human_text.h"
#include "base/proc_text.h"
#include "codec/block_kernels.h"

namespace interlude {
namespace {

/// OpenMP (LibTorch, GNU and LLVM), MKL, OpenBLAS.
constexpr const char* kThreadVariables[] = {"OMP_NUM_THREADS", "MKL_NUM_THREADS",
                                            "OPENBLAS_NUM_THREADS"};
/// Held up for more than this share of the time is much.
constexpr double kMuchThrottled = 0.05;

Check CheckCores(const CpuLimits& limits) {
  const int usable = limits.UsableCores();
  Check check{.name = "cores", .grade = CheckGrade::kOk, .figure = limits.ToString()};
  check.values = {{"usable", usable}, {"visible", limits.visible_cores}};
  if (limits.quota_cores) check.values.emplace_back("quota", *limits.quota_cores);
  if (limits.quota_cores && *limits.quota_cores < 1) {
    check.grade = CheckGrade::kBad;
    check.advice =
        "less than one core: training, encoding and applying all wait for the quota; "
        "ask for more CPU";
  } else if (limits.quota_cores && *limits.quota_cores < limits.visible_cores) {
    check.grade = CheckGrade::kWarn;
    check.advice = fmt::format(
        "interlude starts {} for its work; other programs see {} cores and may start as many "
        "threads, which then wait for the quota",
        Count(usable, "thread"), limits.visible_cores);
  }
  return check;
}

/// Threads that a library starts by this setting, which for OpenMP may be a list.
std::optional<int64_t> ThreadsOf(const std::string& setting) {
  const auto number = Number(setting);
  return number && *number > 0 ? number : std::nullopt;
}

Check CheckThreads(const CpuReading& reading) {
  const int usable = reading.limits.UsableCores();
  Check check{.name = "threads", .grade = CheckGrade::kOk};
  int64_t most = 0;
  for (const auto& [name, setting] : reading.thread_settings) {
    check.figure += fmt::format("{}{}={}", check.figure.empty() ? "" : ", ", name, setting);
    most = std::max(most, ThreadsOf(setting).value_or(0));
  }
  const bool by_default = most == 0;
  if (by_default) {
    most = reading.limits.affinity_cores;
    check.figure = fmt::format("{}; libraries that are not told start {}",
                               check.figure.empty() ? "no *_NUM_THREADS is set" : check.figure,
                               Count(static_cast<double>(most), "thread"));
  }
  check.figure += fmt::format(" for {}", Count(usable, "usable core"));
  check.values = {{"threads", static_cast<double>(most)}, {"usable", usable}};
  if (most > usable) {
    // interlude-worker sets its own numbers, so the default harms other programs only.
    check.grade = !by_default && most >= 2 * usable ? CheckGrade::kBad : CheckGrade::kWarn;
    check.advice = fmt::format(
        "export OMP_NUM_THREADS={}: more threads than cores wait for each other at every barrier; "
        "interlude-worker sets its own number, what runs beside it does not",
        usable);
  }
  return check;
}

Check CheckThrottling(const std::map<std::string, CpuThrottling>& before,
                      const std::map<std::string, CpuThrottling>& after, double elapsed_s) {
  Check check{.name = "throttling"};
  if (after.empty()) {
    check.figure = "no cgroup of this process counts it";
    check.advice =
        "where the CPU has a quota nevertheless, rounds that it slows cannot be told "
        "from a busy machine";
    return check;
  }
  // The largest, not the sum: one hierarchy may be found under several names.
  double now_s = 0;
  double total_s = 0;
  int64_t periods = 0;
  for (const auto& [directory, throttling] : after) {
    total_s = std::max(total_s, static_cast<double>(throttling.throttled_ns) / 1e9);
    periods = std::max(periods, throttling.periods);
    const auto earlier = before.find(directory);
    if (earlier == before.end()) continue;
    const int64_t grown_ns = throttling.throttled_ns - earlier->second.throttled_ns;
    now_s = std::max(now_s, static_cast<double>(grown_ns) / 1e9);
  }
  check.values = {{"now_seconds", now_s},
                  {"total_seconds", total_s},
                  {"periods", static_cast<double>(periods)}};
  check.figure =
      fmt::format("held up by a quota for {} of the last {}; {} in {} since the cgroup began",
                  HumanSeconds(now_s), HumanSeconds(elapsed_s), HumanSeconds(total_s),
                  Count(static_cast<double>(periods), "period"));
  check.grade = now_s > kMuchThrottled * elapsed_s ? CheckGrade::kBad
                : periods > 0                      ? CheckGrade::kWarn
                                                   : CheckGrade::kOk;
  if (check.grade != CheckGrade::kOk)
    check.advice =
        "a quota stops all threads at once until its period ends: ask for more CPU, or "
        "start fewer threads";
  return check;
}

Check CheckCodecKernels(const CpuReading& reading) {
  const std::string& target = reading.simd_target;
  Check check{.name = "cpu", .grade = CheckGrade::kOk};
  check.figure = fmt::format("{}; the codec uses {}",
                             reading.model.empty() ? "model unknown" : reading.model, target);
  if (target.starts_with("EMU") || target.starts_with("SCALAR")) {
    check.grade = CheckGrade::kBad;
    check.advice = "no vector instructions that the codec knows: encoding is many times slower";
  } else if (target.starts_with("SSE") || target.starts_with("SSSE")) {
    check.grade = CheckGrade::kWarn;
    check.advice =
        "no AVX2: encoding takes longer; some virtual machines hide it until they are "
        "told to pass the host's CPU through";
  }
  return check;
}

/// The value of KEY in a first line of "KEY=VALUE OTHER=..."; empty when it is not there.
std::string WordOf(std::string_view text, std::string_view key) {
  for (const std::string_view word : Words(TakeLine(text))) {
    const size_t equals = word.find('=');
    if (equals != std::string_view::npos && word.substr(0, equals) == key)
      return std::string(word.substr(equals + 1));
  }
  return "";
}

}  // namespace

CpuReading ReadCpu(const std::string& root, const Environment& environment) {
  CpuReading reading;
  reading.limits = ReadCpuLimits(root);
  for (const char* name : kThreadVariables) {
    if (const auto value = environment(name)) reading.thread_settings[name] = *value;
  }
  reading.throttling = ReadCpuThrottling(root);
  reading.model = CpuModel(root);
  reading.simd_target = SimdTargetName();
  return reading;
}

Checks CheckCpu(const CpuReading& reading,
                const std::map<std::string, CpuThrottling>& throttling_after, double elapsed_s) {
  return {CheckCores(reading.limits), CheckThreads(reading),
          CheckThrottling(reading.throttling, throttling_after, elapsed_s),
          CheckCodecKernels(reading)};
}

Check CheckBlas(const std::optional<std::string>& line, const std::string& trouble) {
  Check check{.name = "blas"};
  const std::string blas = line ? WordOf(*line, "blas") : "";
  if (blas == "none") {
    check.figure = "interlude-worker was built without LibTorch";
    check.advice = "it trains the synthetic model only; build with -DINTERLUDE_TRAIN=ON";
  } else if (blas == "other") {
    check.figure = "LibTorch uses another library than OpenBLAS";
  } else if (blas == "openblas") {
    const std::string better = WordOf(*line, "better");
    const std::string set_by = WordOf(*line, "set_by");
    check.grade = better.empty() ? CheckGrade::kOk : CheckGrade::kBad;
    check.figure = fmt::format("OpenBLAS, kernel {}, chosen by {}{}", WordOf(*line, "kernel"),
                               set_by == "interlude-worker" ? "" : "the ", set_by);
    if (!better.empty()) {
      check.advice = fmt::format(
          "this kernel knows no AVX2, which this CPU has: unset OPENBLAS_CORETYPE, or set it to {}",
          better);
    } else if (set_by == "interlude-worker") {
      check.figure += fmt::format(" instead of the library's own choice (OPENBLAS_CORETYPE={})",
                                  WordOf(*line, "setting"));
      check.advice =
          "nothing for interlude; other programs that use this OpenBLAS want the "
          "setting too";
    }
  } else {
    check.figure = trouble.empty() ? "interlude-worker said nothing that is known" : trouble;
    check.advice =
        "training's matrix products were not looked at; interlude-worker belongs beside "
        "interlude";
  }
  return check;
}

}  // namespace interlude
