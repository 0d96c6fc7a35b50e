#include "doctor/system_checks.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>

#include "base/human_text.h"
#include "base/proc_text.h"

namespace interlude {
namespace {

/// A coordinator has a descriptor for each connection and each journal file that is mapped, a
/// worker for its connections and data.
constexpr uint64_t kFewFiles = 1024;
constexpr uint64_t kTooFewFiles = 128;

/// The first line of a file, without its end.
std::string LineIn(const std::string& path) {
  const auto text = ReadProcText(path);
  std::string_view rest = text ? std::string_view(*text) : std::string_view();
  return std::string(TakeLine(rest));
}

Check CheckClockSource(const std::string& source) {
  Check check{.name = "clock source", .grade = CheckGrade::kOk, .figure = source};
  if (source.empty()) {
    check.grade = CheckGrade::kUnknown;
    check.figure = "the kernel does not say";
  } else if (source == "hpet" || source == "acpi_pm" || source == "jiffies" ||
             source == "refined-jiffies") {
    check.grade = CheckGrade::kWarn;
    check.advice =
        "each look at the clock asks the kernel, and a slow device: choose tsc (the "
        "kernel's boot parameter clocksource=tsc, or tsc=reliable where it distrusts it)";
  }
  return check;
}

Check CheckPressure(const Pressure& pressure) {
  Check check{.name = "pressure", .grade = CheckGrade::kOk};
  const bool known = pressure.cpu_some_ns || pressure.memory_some_ns || pressure.io_some_ns;
  if (known) {
    check.figure = "the kernel counts stalls for CPU, memory and disk (PSI)";
  } else {
    check.grade = CheckGrade::kUnknown;
    check.figure = "no /proc/pressure";
    check.advice = "costs no time, but a slow round's cause is harder to tell: boot with psi=1";
  }
  return check;
}

Check CheckOpenFiles(const SystemReading& reading) {
  Check check{.name = "open files"};
  if (!reading.open_files) {
    check.figure = "the limit cannot be read";
    return check;
  }
  const bool unlimited = *reading.open_files == UINT64_MAX;
  check.figure =
      unlimited ? "no limit"
                : fmt::format("at most {}", HumanCount(static_cast<double>(*reading.open_files)));
  if (!unlimited) check.values = {{"limit", static_cast<double>(*reading.open_files)}};
  check.grade = *reading.open_files < kTooFewFiles ? CheckGrade::kBad
                : *reading.open_files < kFewFiles  ? CheckGrade::kWarn
                                                   : CheckGrade::kOk;
  if (check.grade == CheckGrade::kOk) return check;
  const uint64_t most = reading.most_files.value_or(*reading.open_files);
  check.advice = most >= kFewFiles ? fmt::format("ulimit -n {}", kFewFiles)
                                   : "have the hard limit raised (limits.conf, LimitNOFILE=)";
  check.advice += ", or connections and journal files are refused";
  return check;
}

std::optional<uint64_t> AsCount(rlim_t limit) {
  return limit == RLIM_INFINITY ? UINT64_MAX : static_cast<uint64_t>(limit);
}

}  // namespace

SystemReading ReadSystem(const std::string& root) {
  SystemReading reading;
  const std::string release = LineIn(root + "/proc/sys/kernel/osrelease");
  if (!release.empty()) reading.kernel = "Linux " + release;
  reading.clock_source =
      LineIn(root + "/sys/devices/system/clocksource/clocksource0/current_clocksource");
  reading.pressure = ReadPressure(root);
  rlimit files = {};
  if (::getrlimit(RLIMIT_NOFILE, &files) == 0) {
    reading.open_files = AsCount(files.rlim_cur);
    reading.most_files = AsCount(files.rlim_max);
  }
  return reading;
}

Checks CheckSystem(const SystemReading& reading) {
  const Check kernel{.name = "kernel",
                     .grade = reading.kernel.empty() ? CheckGrade::kUnknown : CheckGrade::kOk,
                     .figure = reading.kernel.empty() ? "it does not say" : reading.kernel};
  return {kernel, CheckClockSource(reading.clock_source), CheckPressure(reading.pressure),
          CheckOpenFiles(reading)};
}

}  // namespace interlude
