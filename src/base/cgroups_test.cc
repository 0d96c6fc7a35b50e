// What is read from cgroups: where they lie, pressure, throttling.
#include "base/cgroups.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/cpu_throttling.h"
#include "base/fake_root.h"
#include "base/pressure.h"

namespace interlude {
namespace {

using ::testing::Pair;
using ::testing::UnorderedElementsAre;

TEST(Cgroups, TheOwnGroupComesBeforeItsAncestors) {
  FakeRoot root;
  root.File("/proc/self/cgroup", "4:cpu:/jobs/7\n0::/a\n");
  std::vector<std::string> v1;
  std::vector<std::string> v2;
  for (const Cgroup& group : FindCgroups("cpu", root.path()))
    (group.v2 ? v2 : v1).push_back(group.directory.substr(root.path().size()));
  EXPECT_EQ(v1.size(), 9u);  // three depths at three mounts
  EXPECT_EQ(v1[0], "/sys/fs/cgroup/cpu/jobs/7");
  EXPECT_EQ(v1[1], "/sys/fs/cgroup/cpu/jobs");
  EXPECT_EQ(v1[2], "/sys/fs/cgroup/cpu");
  EXPECT_THAT(v2, testing::ElementsAre("/sys/fs/cgroup/a", "/sys/fs/cgroup",
                                       "/sys/fs/cgroup/unified/a", "/sys/fs/cgroup/unified"));
}

TEST(CpuThrottling, OfV1GroupsAndTheirAncestors) {
  FakeRoot root;
  root.File("/proc/self/cgroup", "4:cpu:/jobs/7\n");
  root.File("/sys/fs/cgroup/cpu/jobs/7/cpu.stat",
            "nr_periods 100\nnr_throttled 12\nthrottled_time 345678901\n");
  root.File("/sys/fs/cgroup/cpu/jobs/cpu.stat", "nr_periods 0\nnr_throttled 0\nthrottled_time 0\n");
  root.File("/sys/fs/cgroup/cpu/other/cpu.stat",
            "nr_periods 0\nnr_throttled 9\nthrottled_time 9\n");
  EXPECT_THAT(ReadCpuThrottling(root.path()),
              UnorderedElementsAre(
                  Pair(root.path() + "/sys/fs/cgroup/cpu/jobs/7", CpuThrottling{345678901, 12}),
                  Pair(root.path() + "/sys/fs/cgroup/cpu/jobs", CpuThrottling{0, 0})));
}

TEST(CpuThrottling, OfV2GroupsIsInMicroseconds) {
  FakeRoot root;
  root.File("/proc/self/cgroup", "0::/a\n");
  root.File("/sys/fs/cgroup/a/cpu.stat",
            "usage_usec 5\nuser_usec 3\nsystem_usec 2\nnr_periods 9\nnr_throttled 4\n"
            "throttled_usec 1500\nnr_bursts 0\nburst_usec 0\n");
  root.File("/sys/fs/cgroup/cpu.stat", "usage_usec 5\n");  // the root counts no quota
  EXPECT_THAT(
      ReadCpuThrottling(root.path()),
      UnorderedElementsAre(Pair(root.path() + "/sys/fs/cgroup/a", CpuThrottling{1'500'000, 4})));
}

TEST(CpuThrottling, IsUnknownWithoutFiles) {
  FakeRoot root;
  EXPECT_TRUE(ReadCpuThrottling(root.path()).empty());
  root.File("/proc/self/cgroup", "0::/a\n");
  root.File("/sys/fs/cgroup/a/cpu.stat", "nr_throttled x\nthrottled_usec 7\n");
  EXPECT_TRUE(ReadCpuThrottling(root.path()).empty());
}

TEST(Pressure, IsReadFromTheKernelsTexts) {
  FakeRoot root;
  root.File("/proc/self/cgroup", "4:cpu:/v1\n0::/a/b\n");
  root.File("/proc/pressure/cpu",
            "some avg10=55.82 avg60=42.37 avg300=25.72 total=19152749527\n"
            "full avg10=0.00 avg60=0.00 avg300=0.00 total=3\n");
  root.File("/proc/pressure/memory", "some avg10=0.00 avg60=0.00 avg300=0.00 total=17\n");
  root.File("/proc/pressure/io", "some avg10=0.00 avg60=0.00 avg300=0.00 total=18\n");
  root.File("/sys/fs/cgroup/a/cpu.pressure",
            "some avg10=1.00 avg60=1.00 avg300=1.00 total=50\n"
            "full avg10=0.00 avg60=0.00 avg300=0.00 total=40\n");
  const Pressure above = ReadPressure(root.path());
  EXPECT_EQ(above.cpu_some_ns, 19152749527'000);
  EXPECT_EQ(above.memory_some_ns, 17'000);
  EXPECT_EQ(above.io_some_ns, 18'000);
  EXPECT_EQ(above.cgroup_cpu_full_ns, 40'000) << "of the nearest group that is visible";

  root.File("/sys/fs/cgroup/a/b/cpu.pressure",
            "some avg10=1.00 avg60=1.00 avg300=1.00 total=7\n"
            "full avg10=0.00 avg60=0.00 avg300=0.00 total=6\n");
  EXPECT_EQ(ReadPressure(root.path()).cgroup_cpu_full_ns, 6'000);
}

TEST(Pressure, WhatTheKernelDoesNotGiveIsUnknown) {
  FakeRoot root;
  root.File("/proc/pressure/memory", "full avg10=0.00 avg60=0.00 avg300=0.00 total=17\n");
  root.File("/proc/pressure/io", "some\n");
  const Pressure pressure = ReadPressure(root.path());
  EXPECT_EQ(pressure.cpu_some_ns, std::nullopt);
  EXPECT_EQ(pressure.memory_some_ns, std::nullopt);
  EXPECT_EQ(pressure.io_some_ns, std::nullopt);
  EXPECT_EQ(pressure.cgroup_cpu_full_ns, std::nullopt);
}

}  // namespace
}  // namespace interlude
