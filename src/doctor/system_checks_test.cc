#include "doctor/system_checks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/fake_root.h"
#include "doctor/find_check.h"

namespace interlude {
namespace {

using testing::HasSubstr;

TEST(SystemChecks, AreReadFromTheTree) {
  FakeRoot root;
  root.File("/proc/sys/kernel/osrelease", "6.1.0-test\n");
  root.File("/sys/devices/system/clocksource/clocksource0/current_clocksource", "hpet\n");
  root.File("/proc/pressure/cpu", "some avg10=0.00 avg60=0.00 avg300=0.00 total=5\n");
  const Checks checks = CheckSystem(ReadSystem(root.path()));
  EXPECT_EQ(Find(checks, "kernel").figure, "Linux 6.1.0-test");
  EXPECT_EQ(Find(checks, "clock source").grade, CheckGrade::kWarn);
  EXPECT_EQ(Find(checks, "pressure").grade, CheckGrade::kOk);
}

TEST(SystemChecks, AnEmptyTreeIsUnknown) {
  FakeRoot root;
  const Checks checks = CheckSystem(ReadSystem(root.path()));
  for (const char* name : {"kernel", "clock source", "pressure"})
    EXPECT_EQ(Find(checks, name).grade, CheckGrade::kUnknown) << name;
}

TEST(SystemChecks, FastClockSourcesAreOk) {
  for (const char* source : {"tsc", "kvm-clock", "arch_sys_counter", "hyperv_clocksource_tsc_page"})
    EXPECT_EQ(Find(CheckSystem({.clock_source = source}), "clock source").grade, CheckGrade::kOk);
  for (const char* source : {"hpet", "acpi_pm", "jiffies"})
    EXPECT_EQ(Find(CheckSystem({.clock_source = source}), "clock source").grade, CheckGrade::kWarn);
}

TEST(SystemChecks, FewOpenFilesAreNamedWithWhatCanBeDone) {
  const auto check = [](std::optional<uint64_t> soft, std::optional<uint64_t> hard) {
    return Find(CheckSystem({.open_files = soft, .most_files = hard}), "open files");
  };
  EXPECT_EQ(check(UINT64_MAX, UINT64_MAX).grade, CheckGrade::kOk);
  EXPECT_EQ(check(1024, 4096).grade, CheckGrade::kOk);
  EXPECT_EQ(check(256, 4096).grade, CheckGrade::kWarn);
  EXPECT_THAT(check(256, 4096).advice, HasSubstr("ulimit -n 1024"));
  EXPECT_EQ(check(64, 64).grade, CheckGrade::kBad);
  EXPECT_THAT(check(64, 64).advice, HasSubstr("hard limit"));
  EXPECT_EQ(check(std::nullopt, std::nullopt).grade, CheckGrade::kUnknown);
}

}  // namespace
}  // namespace interlude
