#include "base/cpu_quota.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>

#include <string_view>

#include "base/fake_root.h"

namespace interlude {
namespace {

using ::testing::HasSubstr;

class CpuQuota : public testing::Test {
 protected:
  void File(std::string_view path, std::string_view text) { root_.File(path, text); }
  void QuotaV1(const std::string& directory, std::string_view quota,
               std::string_view period = "100000\n") {
    File(directory + "/cpu.cfs_quota_us", quota);
    File(directory + "/cpu.cfs_period_us", period);
  }
  CpuLimits Read() const { return ReadCpuLimits(root_.path()); }
  void ExpectQuota(double cores, const std::string& file) const {
    const CpuLimits limits = Read();
    ASSERT_TRUE(limits.quota_cores.has_value());
    EXPECT_DOUBLE_EQ(*limits.quota_cores, cores);
    EXPECT_EQ(limits.quota_source, root_.path() + file);
  }

  FakeRoot root_;
};

TEST_F(CpuQuota, WithoutAnyCgroupFilesThereIsNoLimit) {
  const CpuLimits limits = Read();
  EXPECT_EQ(limits.quota_cores, std::nullopt);
  EXPECT_EQ(limits.quota_source, "");
  EXPECT_EQ(limits.UsableCores(), limits.affinity_cores);
  EXPECT_GE(limits.visible_cores, limits.affinity_cores);
}

TEST_F(CpuQuota, V2QuotaOfTheOwnGroup) {
  File("/proc/self/cgroup", "0::/system.slice/run.scope\n");
  File("/sys/fs/cgroup/system.slice/run.scope/cpu.max", "150000 100000\n");
  ExpectQuota(1.5, "/sys/fs/cgroup/system.slice/run.scope/cpu.max");
}

TEST_F(CpuQuota, V2WithoutLimitSaysMax) {
  File("/proc/self/cgroup", "0::/a\n");
  File("/sys/fs/cgroup/a/cpu.max", "max 100000\n");
  EXPECT_EQ(Read().quota_cores, std::nullopt);
}

TEST_F(CpuQuota, V2TheTightestAncestorCounts) {
  File("/proc/self/cgroup", "0::/a/b/c\n");
  File("/sys/fs/cgroup/a/cpu.max", "400000 100000\n");
  File("/sys/fs/cgroup/a/b/cpu.max", "50000 100000\n");
  File("/sys/fs/cgroup/a/b/c/cpu.max", "max 100000\n");
  ExpectQuota(0.5, "/sys/fs/cgroup/a/b/cpu.max");
}

TEST_F(CpuQuota, V2ContainerSeesItsGroupAtTheMount) {
  File("/proc/self/cgroup", "0::/\n");
  File("/sys/fs/cgroup/cpu.max", "25000 100000\n");
  ExpectQuota(0.25, "/sys/fs/cgroup/cpu.max");
}

TEST_F(CpuQuota, V1QuotaOfTheOwnGroup) {
  File("/proc/self/cgroup", "12:memory:/m\n4:cpu,cpuacct:/jobs/7\n1:name=systemd:/x\n");
  QuotaV1("/sys/fs/cgroup/cpu,cpuacct/jobs/7", "200000\n");
  QuotaV1("/sys/fs/cgroup/memory/m", "1000\n");  // another hierarchy's files mean nothing
  ExpectQuota(2.0, "/sys/fs/cgroup/cpu,cpuacct/jobs/7/cpu.cfs_quota_us");
}

TEST_F(CpuQuota, V1WithoutLimitSaysMinusOne) {
  File("/proc/self/cgroup", "4:cpu:/jobs\n");
  QuotaV1("/sys/fs/cgroup/cpu/jobs", "-1\n");
  EXPECT_EQ(Read().quota_cores, std::nullopt);
}

TEST_F(CpuQuota, V1TheTightestAncestorCounts) {
  File("/proc/self/cgroup", "4:cpuacct,cpu:/jobs/7\n");
  QuotaV1("/sys/fs/cgroup/cpu", "-1\n");
  QuotaV1("/sys/fs/cgroup/cpu/jobs", "75000\n", "50000\n");
  QuotaV1("/sys/fs/cgroup/cpu/jobs/7", "400000\n");
  ExpectQuota(1.5, "/sys/fs/cgroup/cpu/jobs/cpu.cfs_quota_us");
}

TEST_F(CpuQuota, V1ContainerWhosePathIsTheHostsSeesItsGroupAtTheMount) {
  File("/proc/self/cgroup", "4:cpu,cpuacct:/docker/0123abcd\n");
  QuotaV1("/sys/fs/cgroup/cpu,cpuacct", "300000\n");
  ExpectQuota(3.0, "/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us");
}

TEST_F(CpuQuota, AControllerWhoseNameOnlyBeginsWithCpuIsNotTheCpuController) {
  File("/proc/self/cgroup", "4:cpuset:/a\n");
  QuotaV1("/sys/fs/cgroup/cpu/a", "100000\n");
  EXPECT_EQ(Read().quota_cores, std::nullopt);
}

TEST_F(CpuQuota, InAMixedSystemTheTighterHierarchyCounts) {
  File("/proc/self/cgroup", "4:cpu:/a\n0::/a\n");
  QuotaV1("/sys/fs/cgroup/cpu/a", "200000\n");
  File("/sys/fs/cgroup/unified/a/cpu.max", "100000 100000\n");
  ExpectQuota(1.0, "/sys/fs/cgroup/unified/a/cpu.max");
}

TEST_F(CpuQuota, DamagedFilesAreNoLimit) {
  File("/proc/self/cgroup", "nonsense\n0:\n\n0::/a/b/c\n4:cpu:/v1\n");
  File("/sys/fs/cgroup/a/b/c/cpu.max", "");
  File("/sys/fs/cgroup/a/b/cpu.max", "100000\n");
  File("/sys/fs/cgroup/a/cpu.max", "100000 0\n");
  QuotaV1("/sys/fs/cgroup/cpu/v1", "abc\n");
  QuotaV1("/sys/fs/cgroup/cpu", "100000\n", "0\n");
  EXPECT_EQ(Read().quota_cores, std::nullopt);
}

TEST_F(CpuQuota, AffinityIsTheProcessesOwn) {
  cpu_set_t before;
  ASSERT_EQ(::sched_getaffinity(0, sizeof(before), &before), 0);
  cpu_set_t one;
  CPU_ZERO(&one);
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &before)) {
      CPU_SET(cpu, &one);
      break;
    }
  }
  ASSERT_EQ(::sched_setaffinity(0, sizeof(one), &one), 0);
  const CpuLimits limits = Read();
  ASSERT_EQ(::sched_setaffinity(0, sizeof(before), &before), 0);
  EXPECT_EQ(limits.affinity_cores, 1);
  EXPECT_EQ(limits.UsableCores(), 1);
}

TEST(CpuLimits, FractionsAreRoundedUpAndCappedByAffinity) {
  const auto usable = [](int affinity, std::optional<double> quota) {
    return CpuLimits{
        .visible_cores = 64, .affinity_cores = affinity, .quota_cores = quota, .quota_source = {}}
        .UsableCores();
  };
  EXPECT_EQ(usable(8, std::nullopt), 8);
  EXPECT_EQ(usable(8, 0.25), 1);
  EXPECT_EQ(usable(8, 1.0), 1);
  EXPECT_EQ(usable(8, 1.01), 2);
  EXPECT_EQ(usable(8, 2.0 + 1e-12), 2) << "noise of a division must not cost a thread";
  EXPECT_EQ(usable(8, 12.0), 8);
  EXPECT_EQ(usable(8, 1e18), 8) << "a quota beyond int";
  EXPECT_EQ(usable(0, std::nullopt), 1);
}

TEST(CpuLimits, OneLineSaysWhatBinds) {
  const CpuLimits limits{.visible_cores = 8,
                         .affinity_cores = 4,
                         .quota_cores = 1.5,
                         .quota_source = "/sys/fs/cgroup/cpu.max"};
  EXPECT_EQ(
      limits.ToString(),
      "2 usable cores (8 visible, 4 in the affinity mask, quota 1.50 by /sys/fs/cgroup/cpu.max)");
  const CpuLimits free{
      .visible_cores = 1, .affinity_cores = 1, .quota_cores = {}, .quota_source = {}};
  EXPECT_EQ(free.ToString(), "1 usable core (1 visible, 1 in the affinity mask, no quota)");
}

}  // namespace
}  // namespace interlude
