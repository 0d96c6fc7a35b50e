#include "doctor/memory_checks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/fake_root.h"
#include "doctor/find_check.h"

namespace interlude {
namespace {

using testing::HasSubstr;

constexpr CodecSpeed kSpeed = {
    .threads = 2, .copy_bytes_per_s = 40e9, .encode_params_per_s = 3e9, .apply_params_per_s = 5e9};

TEST(ModelNeed, IsCountedInBytesAParameter) {
  // 64 values take 34 bytes in q4.
  EXPECT_EQ(PayloadBytes(64'000), 34'000u);
  EXPECT_EQ(WorkerMemoryBytes(64'000), 64'000u * 20 + 34'000);
  // 10 rounds of 2 workers and 5 sync deltas; 3 snapshots of 12 bytes and a model of 4.
  EXPECT_EQ(CoordinatorDiskBytes(64'000, 2), 25u * 34'000 + 40u * 64'000);
  EXPECT_EQ(PayloadBytes(0), 0u);
}

TEST(MemoryChecks, FreeMemoryIsGradedAgainstWhatAWorkerNeeds) {
  const Job job{.params = 1'000'000'000};  // needs 20.53 GB
  for (const auto& [free_bytes, grade] : {std::pair{uint64_t{20'000'000'000}, CheckGrade::kBad},
                                          {uint64_t{22'000'000'000}, CheckGrade::kWarn},
                                          {uint64_t{30'000'000'000}, CheckGrade::kOk}}) {
    const Check check = Find(CheckMemory({.available_bytes = free_bytes}, job, kSpeed), "memory");
    EXPECT_EQ(check.grade, grade) << free_bytes;
    EXPECT_EQ(ValueOf(check, "need_bytes"), static_cast<double>(WorkerMemoryBytes(job.params)));
  }
  const Check without = Find(CheckMemory({.available_bytes = 1}, Job{}, kSpeed), "memory");
  EXPECT_EQ(without.grade, CheckGrade::kUnknown) << "enough for what?";
  EXPECT_EQ(Find(CheckMemory({}, job, kSpeed), "memory").grade, CheckGrade::kUnknown);
}

TEST(MemoryChecks, ACgroupsLimitCountsWhereItIsTighter) {
  const Job job{.params = 1'000'000'000};
  const MemoryReading reading{.available_bytes = 100'000'000'000,
                              .cgroup_left_bytes = 8'000'000'000};
  const Check check = Find(CheckMemory(reading, job, kSpeed), "memory");
  EXPECT_EQ(check.grade, CheckGrade::kBad);
  EXPECT_THAT(check.figure, HasSubstr("8.00 GB free within the cgroup's limit"));
}

TEST(MemoryChecks, TheCodecsTimeFollowsFromItsSpeed) {
  const Check check = Find(CheckMemory({}, Job{.params = 600'000'000}, kSpeed), "codec and memory");
  EXPECT_EQ(check.grade, CheckGrade::kOk);
  EXPECT_DOUBLE_EQ(ValueOf(check, "encode_seconds"), 0.2);
  EXPECT_DOUBLE_EQ(ValueOf(check, "apply_seconds"), 0.12);
  EXPECT_THAT(check.figure, HasSubstr("encoding 0.64 of that"));  // 3e9 * 8.53125 / 40e9
}

TEST(MemoryChecks, ACodecFarBelowMemcpyIsNamed) {
  CodecSpeed slow = kSpeed;
  slow.encode_params_per_s = 1e9;
  EXPECT_EQ(Find(CheckMemory({}, Job{}, slow), "codec and memory").grade, CheckGrade::kWarn);
  EXPECT_EQ(Find(CheckMemory({}, Job{}, std::nullopt), "codec and memory").grade,
            CheckGrade::kUnknown);
}

TEST(MemoryChecks, HugePagesAreWantedWhereTheyAreAskedFor) {
  for (const auto& [setting, grade] : {std::pair{"always [madvise] never\n", CheckGrade::kOk},
                                       {"[always] madvise never\n", CheckGrade::kOk},
                                       {"always madvise [never]\n", CheckGrade::kWarn},
                                       {"nonsense", CheckGrade::kUnknown}}) {
    FakeRoot root;
    root.File("/sys/kernel/mm/transparent_hugepage/enabled", setting);
    EXPECT_EQ(Find(CheckMemory(ReadMemory(root.path()), Job{}, kSpeed), "huge pages").grade, grade)
        << setting;
  }
  EXPECT_EQ(ReadMemory(FakeRoot().path()).huge_pages, "");
}

TEST(MemoryChecks, FreeMemoryIsReadFromTheTree) {
  FakeRoot root;
  root.File("/proc/meminfo", "MemTotal: 100 kB\nMemAvailable:    20 kB\n");
  root.File("/proc/self/cgroup", "0::/a\n");
  root.File("/sys/fs/cgroup/a/memory.max", "1000\n");
  root.File("/sys/fs/cgroup/a/memory.current", "300\n");
  EXPECT_EQ(ReadMemory(root.path()).available_bytes, 20u * 1024);
  EXPECT_EQ(ReadMemory(root.path()).cgroup_left_bytes, 700u);
}

TEST(Speed, IsMeasuredWithinItsTimeOnAllThreads) {
  const CodecSpeed speed = MeasureCodec(2, 300'000, std::chrono::nanoseconds(0));
  EXPECT_EQ(speed.threads, 2);
  EXPECT_GT(speed.copy_bytes_per_s, 0);
  EXPECT_GT(speed.encode_params_per_s, 0);
  EXPECT_GT(speed.apply_params_per_s, 0);
}

}  // namespace
}  // namespace interlude
