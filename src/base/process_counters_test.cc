#include "base/process_counters.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "base/fake_root.h"

namespace interlude {
namespace {

using ::testing::Pair;
using ::testing::UnorderedElementsAre;

constexpr char kStat[] =
    "4242 (a (worker) 7) S 1 4242 4242 0 -1 4194560 123456 0 789 0 5000 700 0 0 20 0 23 0 99 "
    "4096000 1000 18446744073709551615 1 1 0 0 0 0 0 4096 0 0 0 0 17 1 0 0 0 0 0\n";
constexpr char kStatus[] =
    "Name:\tworker\nVmHWM:\t    3000 kB\nVmRSS:\t    2000 kB\nRssAnon:\t    1000 kB\n"
    "RssFile:\t     900 kB\nRssShmem:\t     100 kB\nVmSwap:\t       8 kB\nThreads:\t23\n";
constexpr char kIo[] =
    "rchar: 1\nwchar: 2\nsyscr: 3\nsyscw: 4\nread_bytes: 4096\nwrite_bytes: 1048576\n"
    "cancelled_write_bytes: 0\n";

TEST(ProcessCounters, AreReadFromTheKernelsTexts) {
  FakeRoot root;
  root.File("/proc/self/stat", kStat);
  root.File("/proc/self/status", kStatus);
  root.File("/proc/self/io", kIo);
  root.File("/proc/self/task/4242/schedstat", "5700123456 1234567 890\n");
  root.File("/proc/self/task/4250/schedstat", "1 2 3\n");
  root.File("/proc/self/task/4251/schedstat", "");
  const ProcessCounters counters = ReadProcessCounters(root.path());
  EXPECT_EQ(counters.minor_faults, 123456);
  EXPECT_EQ(counters.major_faults, 789);
  EXPECT_EQ(counters.threads, 23);
  EXPECT_EQ(counters.disk_read_bytes, 4096);
  EXPECT_EQ(counters.disk_write_bytes, 1048576);
  ASSERT_TRUE(counters.memory.has_value());
  EXPECT_EQ(counters.memory->resident, 2000u * 1024);
  EXPECT_EQ(counters.memory->anonymous, 1000u * 1024);
  EXPECT_EQ(counters.memory->peak_resident, 3000u * 1024);
  EXPECT_EQ(counters.memory->swapped, 8u * 1024);
  ASSERT_TRUE(counters.run_delay_ns_by_thread.has_value());
  EXPECT_THAT(*counters.run_delay_ns_by_thread,
              UnorderedElementsAre(Pair(4242, 1234567), Pair(4250, 2)));
}

TEST(ProcessCounters, WhatTheKernelDoesNotGiveIsUnknown) {
  FakeRoot root;
  root.File("/proc/self/task/4242/unrelated", "");
  const ProcessCounters counters = ReadProcessCounters(root.path());
  EXPECT_EQ(counters.threads, std::nullopt);
  EXPECT_EQ(counters.major_faults, std::nullopt);
  EXPECT_EQ(counters.minor_faults, std::nullopt);
  EXPECT_EQ(counters.disk_read_bytes, std::nullopt);
  EXPECT_EQ(counters.disk_write_bytes, std::nullopt);
  EXPECT_FALSE(counters.memory.has_value());
  EXPECT_FALSE(counters.run_delay_ns_by_thread.has_value());
}

TEST(ProcessCounters, EveryTruncationIsReadOrUnknown) {
  for (size_t length = 0; length < sizeof(kStat); ++length) {
    FakeRoot root;
    root.File("/proc/self/stat", std::string_view(kStat).substr(0, length));
    const ProcessCounters counters = ReadProcessCounters(root.path());
    EXPECT_THAT(counters.major_faults.value_or(7), testing::AnyOf(7, 78, 789));
  }
}

TEST(ProcessCounters, OfThisProcessGrow) {
  const ProcessCounters before = ReadProcessCounters();
  std::vector<char> touched(size_t{1} << 20, 'x');
  const ProcessCounters after = ReadProcessCounters();
  EXPECT_GT(*after.cpu_ns, *before.cpu_ns);
  EXPECT_GE(*after.minor_faults, *before.minor_faults);
  EXPECT_GE(*after.threads, 1);
  EXPECT_TRUE(after.run_delay_ns_by_thread->contains(::getpid()));
}

}  // namespace
}  // namespace interlude
