#include "base/free_memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/fake_root.h"

namespace interlude {
namespace {

TEST(FreeMemory, AFewBytesCanBeHad) {
  EXPECT_GT(AvailableMemoryBytes().value_or(0), 1u << 20);
  EXPECT_TRUE(CheckFreeMemory("a small thing", 1).ok());
}

TEST(FreeMemory, TooMuchIsRefusedWithBothFigures) {
  const Status status = CheckFreeMemory("a model of 9 parameters", uint64_t{1} << 62);
  EXPECT_EQ(status.code(), StatusCode::kResourceExhausted);
  EXPECT_THAT(status.message(),
              testing::StartsWith("a model of 9 parameters needs 4294967296.00 GiB"));
  EXPECT_THAT(status.message(), testing::HasSubstr("are free"));
}

TEST(FreeMemory, IsWhatTheKernelEstimates) {
  FakeRoot root;
  EXPECT_EQ(AvailableMemoryBytes(root.path()), std::nullopt);
  root.File("/proc/meminfo", "MemTotal: 100 kB\nMemAvailable:    20 kB\n");
  EXPECT_EQ(AvailableMemoryBytes(root.path()), 20u * 1024);
  EXPECT_EQ(MemoryLeftInCgroups(root.path()), std::nullopt);
  root.File("/proc/meminfo", "damaged");
  EXPECT_EQ(AvailableMemoryBytes(root.path()), std::nullopt);
}

TEST(FreeMemory, TheTightestAncestorCountsInV2) {
  FakeRoot root;
  root.File("/proc/self/cgroup", "0::/a/b\n");
  root.File("/sys/fs/cgroup/a/b/memory.max", "max\n");
  root.File("/sys/fs/cgroup/a/b/memory.current", "10\n");
  root.File("/sys/fs/cgroup/a/memory.max", "1000\n");
  root.File("/sys/fs/cgroup/a/memory.current", "300\n");
  EXPECT_EQ(MemoryLeftInCgroups(root.path()), 700u);
  root.File("/sys/fs/cgroup/a/memory.current", "3000\n");
  EXPECT_EQ(MemoryLeftInCgroups(root.path()), 0u) << "over its limit";
}

TEST(FreeMemory, V1SaysWithAHugeNumberThatThereIsNoLimit) {
  FakeRoot root;
  root.File("/proc/self/cgroup", "5:cpu,cpuacct:/x\n4:memory:/job\n");
  root.File("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  root.File("/sys/fs/cgroup/memory/memory.usage_in_bytes", "5\n");
  EXPECT_EQ(MemoryLeftInCgroups(root.path()), std::nullopt);
  root.File("/sys/fs/cgroup/memory/job/memory.limit_in_bytes", "500\n");
  root.File("/sys/fs/cgroup/memory/job/memory.usage_in_bytes", "100\n");
  EXPECT_EQ(MemoryLeftInCgroups(root.path()), 400u);
  root.File("/sys/fs/cgroup/memory/job/memory.stat", "inactive_file 3\ntotal_inactive_file 30\n");
  EXPECT_EQ(MemoryLeftInCgroups(root.path()), 430u);
}

TEST(FreeMemory, CachedFilesThatAreNotInUseCanBeHad) {
  FakeRoot root;
  root.File("/proc/self/cgroup", "0::/a\n");
  root.File("/sys/fs/cgroup/a/memory.max", "1000\n");
  root.File("/sys/fs/cgroup/a/memory.current", "900\n");
  root.File("/sys/fs/cgroup/a/memory.stat", "anon 100\ninactive_file 650\nactive_file 150\n");
  EXPECT_EQ(MemoryLeftInCgroups(root.path()), 750u);
  root.File("/sys/fs/cgroup/a/memory.stat", "inactive_file 5000\n");
  EXPECT_EQ(MemoryLeftInCgroups(root.path()), 1000u) << "read a moment later";
}

TEST(FreeMemory, TheTighterOfMachineAndCgroupsCounts) {
  FakeRoot root;
  EXPECT_EQ(MemoryLeft(root.path()), std::nullopt);
  root.File("/proc/meminfo", "MemAvailable:    20 kB\n");
  EXPECT_EQ(MemoryLeft(root.path()), 20'480u);
  root.File("/proc/self/cgroup", "0::/a\n");
  root.File("/sys/fs/cgroup/a/memory.max", "30000\n");
  root.File("/sys/fs/cgroup/a/memory.current", "0\n");
  EXPECT_EQ(MemoryLeft(root.path()), 20'480u);
  root.File("/sys/fs/cgroup/a/memory.current", "20000\n");
  EXPECT_EQ(MemoryLeft(root.path()), 10'000u);
  root.File("/proc/meminfo", "damaged");
  EXPECT_EQ(MemoryLeft(root.path()), 10'000u);
}

}  // namespace
}  // namespace interlude
