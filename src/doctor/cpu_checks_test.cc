#include "doctor/cpu_checks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/fake_root.h"
#include "doctor/find_check.h"

namespace interlude {
namespace {

using testing::HasSubstr;

constexpr int64_t kSecond = 1'000'000'000;

CpuReading Reading(int usable, int visible, std::optional<double> quota = std::nullopt) {
  CpuReading reading;
  reading.limits = {.visible_cores = visible,
                    .affinity_cores = quota ? visible : usable,
                    .quota_cores = quota,
                    .quota_source = quota ? "/sys/fs/cgroup/cpu.max" : ""};
  reading.simd_target = "AVX3";
  return reading;
}

Check CheckOf(const CpuReading& reading, const std::string& name) {
  return Find(CheckCpu(reading, reading.throttling, 1), name);
}

TEST(CpuChecks, CoresAreGradedByTheQuotaAgainstWhatIsVisible) {
  EXPECT_EQ(CheckOf(Reading(8, 8), "cores").grade, CheckGrade::kOk);
  EXPECT_EQ(CheckOf(Reading(8, 8, 16.0), "cores").grade, CheckGrade::kOk)
      << "a quota that never binds";
  EXPECT_EQ(CheckOf(Reading(2, 8), "cores").grade, CheckGrade::kOk)
      << "affinity is seen by everybody";
  const Check quota = CheckOf(Reading(2, 8, 1.5), "cores");
  EXPECT_EQ(quota.grade, CheckGrade::kWarn);
  EXPECT_THAT(quota.figure, HasSubstr("2 usable cores (8 visible"));
  EXPECT_EQ(ValueOf(quota, "quota"), 1.5);
  EXPECT_EQ(CheckOf(Reading(1, 8, 0.25), "cores").grade, CheckGrade::kBad);
}

TEST(CpuChecks, ThreadsAreComparedWithTheCoresThatCanBeUsed) {
  CpuReading reading = Reading(4, 4);
  EXPECT_EQ(CheckOf(reading, "threads").grade, CheckGrade::kOk);
  reading.thread_settings = {{"OMP_NUM_THREADS", "4"}};
  EXPECT_EQ(CheckOf(reading, "threads").grade, CheckGrade::kOk);
  reading.thread_settings = {{"OMP_NUM_THREADS", "6,2"}};
  EXPECT_EQ(CheckOf(reading, "threads").grade, CheckGrade::kWarn) << "the outer level of a list";
  reading.thread_settings = {{"MKL_NUM_THREADS", "1"}, {"OMP_NUM_THREADS", "64"}};
  const Check many = CheckOf(reading, "threads");
  EXPECT_EQ(many.grade, CheckGrade::kBad);
  EXPECT_EQ(ValueOf(many, "threads"), 64);
  EXPECT_THAT(many.advice, HasSubstr("OMP_NUM_THREADS=4"));
  reading.thread_settings = {{"OMP_NUM_THREADS", "all"}};
  EXPECT_EQ(CheckOf(reading, "threads").grade, CheckGrade::kOk) << "no number counts as not set";
}

TEST(CpuChecks, WithAQuotaTheDefaultNumberOfThreadsIsTooLarge) {
  const Check check = CheckOf(Reading(2, 8, 2.0), "threads");
  EXPECT_EQ(check.grade, CheckGrade::kWarn);
  EXPECT_THAT(check.figure, HasSubstr("start 8 threads for 2 usable cores"));
}

TEST(CpuChecks, ThrottlingIsGradedByWhatHappenedJustNow) {
  const std::map<std::string, CpuThrottling> before = {{"/a", {5 * kSecond, 7}}};
  const CpuReading free = Reading(2, 2);
  const auto check = [&](const std::map<std::string, CpuThrottling>& at_first,
                         const std::map<std::string, CpuThrottling>& after) {
    CpuReading reading = free;
    reading.throttling = at_first;
    return Find(CheckCpu(reading, after, 2), "throttling");
  };
  EXPECT_EQ(check({}, {}).grade, CheckGrade::kUnknown);
  EXPECT_EQ(check({{"/a", {}}}, {{"/a", {}}}).grade, CheckGrade::kOk);
  EXPECT_EQ(check(before, before).grade, CheckGrade::kWarn) << "earlier, not now";
  const Check now = check(before, {{"/a", {6 * kSecond, 17}}});
  EXPECT_EQ(now.grade, CheckGrade::kBad);
  EXPECT_EQ(ValueOf(now, "now_seconds"), 1);
  EXPECT_EQ(ValueOf(now, "periods"), 17);
}

TEST(CpuChecks, OldInstructionSetsAreNamed) {
  for (const auto& [target, grade] : {std::pair{"AVX3", CheckGrade::kOk},
                                      {"AVX2", CheckGrade::kOk},
                                      {"NEON", CheckGrade::kOk},
                                      {"SSE4", CheckGrade::kWarn},
                                      {"SSSE3", CheckGrade::kWarn},
                                      {"EMU128", CheckGrade::kBad}}) {
    CpuReading reading = Reading(2, 2);
    reading.simd_target = target;
    EXPECT_EQ(CheckOf(reading, "cpu").grade, grade) << target;
  }
}

TEST(CpuChecks, AreReadFromTheTree) {
  FakeRoot root;
  root.File("/proc/self/cgroup", "0::/job\n");
  root.File("/sys/fs/cgroup/job/cpu.max", "25000 100000\n");
  root.File("/sys/fs/cgroup/job/cpu.stat",
            "nr_periods 90\nnr_throttled 12\nthrottled_usec 3000000\n");
  root.File("/proc/cpuinfo", "processor\t: 0\nmodel name\t: A CPU\nmodel name\t: another\n");
  const CpuReading reading = ReadCpu(root.path(), [](const std::string& name) {
    return name == "OMP_NUM_THREADS" ? std::optional<std::string>("3") : std::nullopt;
  });
  EXPECT_EQ(reading.limits.quota_cores, 0.25);
  EXPECT_EQ(reading.model, "A CPU");
  EXPECT_EQ(reading.thread_settings.at("OMP_NUM_THREADS"), "3");
  EXPECT_EQ(reading.thread_settings.size(), 1u);
  EXPECT_NE(reading.simd_target, "");
  const Check throttling = CheckOf(reading, "throttling");
  EXPECT_EQ(throttling.grade, CheckGrade::kWarn);
  EXPECT_EQ(ValueOf(throttling, "total_seconds"), 3);
}

TEST(CpuChecks, AnEmptyTreeIsUnknownAndNoError) {
  FakeRoot root;
  const CpuReading reading =
      ReadCpu(root.path(), [](const std::string&) { return std::optional<std::string>(); });
  EXPECT_EQ(CheckOf(reading, "throttling").grade, CheckGrade::kUnknown);
  EXPECT_THAT(CheckOf(reading, "cpu").figure, HasSubstr("model unknown"));
}

TEST(BlasCheck, ReadsWhatTheWorkerProgramSays) {
  const Check good = CheckBlas("blas=openblas kernel=SkylakeX set_by=library\n", "");
  EXPECT_EQ(good.grade, CheckGrade::kOk);
  EXPECT_EQ(good.figure, "OpenBLAS, kernel SkylakeX, chosen by the library");
  const Check mended =
      CheckBlas("blas=openblas kernel=SkylakeX set_by=interlude-worker setting=SKYLAKEX\n", "");
  EXPECT_EQ(mended.grade, CheckGrade::kOk);
  EXPECT_THAT(mended.figure, HasSubstr("OPENBLAS_CORETYPE=SKYLAKEX"));
  const Check slow =
      CheckBlas("blas=openblas kernel=Prescott set_by=environment better=SKYLAKEX\n", "");
  EXPECT_EQ(slow.grade, CheckGrade::kBad);
  EXPECT_THAT(slow.advice, HasSubstr("SKYLAKEX"));
}

TEST(BlasCheck, IsUnknownWithoutAnAnswer) {
  EXPECT_EQ(CheckBlas("blas=none\n", "").grade, CheckGrade::kUnknown);
  EXPECT_EQ(CheckBlas("blas=other\n", "").grade, CheckGrade::kUnknown);
  EXPECT_EQ(CheckBlas("", "").grade, CheckGrade::kUnknown);
  EXPECT_EQ(CheckBlas("Segmentation fault", "").grade, CheckGrade::kUnknown);
  EXPECT_THAT(CheckBlas(std::nullopt, "no such program").figure, HasSubstr("no such program"));
}

}  // namespace
}  // namespace interlude
