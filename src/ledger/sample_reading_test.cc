#include "ledger/sample_reading.h"

#include <gtest/gtest.h>

#include "base/fake_root.h"

namespace interlude {
namespace {

using std::chrono::seconds;

/// Every figure that the test does not speak of is unknown.
SampleReading At(int64_t second) {
  SampleReading reading;
  reading.at = seconds(second);
  return reading;
}

TEST(SampleReading, CountersAreDifferencesAndTheRestIsAsItStands) {
  SampleReading before = At(10);
  before.process.cpu_ns = 100;
  before.process.threads = 5;
  before.process.major_faults = 7;
  before.process.memory = ProcessMemory{.anonymous = 1, .resident = 2, .peak_resident = 3};
  before.machine.busy_ns = 1000;
  before.pressure.io_some_ns = 50;
  SampleReading after = At(12);
  after.process.cpu_ns = 350;
  after.process.threads = 6;
  after.process.major_faults = 7;
  after.process.memory = ProcessMemory{.anonymous = 10, .resident = 20, .peak_resident = 30};
  after.machine.busy_ns = 1500;
  after.pressure.io_some_ns = 51;
  const ProcessSample sample = SampleBetween(before, after);
  EXPECT_EQ(sample.at_ns, 12'000'000'000);
  EXPECT_EQ(sample.interval_ns, 2'000'000'000);
  EXPECT_EQ(sample.cpu_ns, 250);
  EXPECT_EQ(sample.threads, 6);
  EXPECT_EQ(sample.major_faults, 0);
  EXPECT_EQ(sample.rss_bytes, 20);
  EXPECT_EQ(sample.anonymous_bytes, 10);
  EXPECT_EQ(sample.peak_rss_bytes, 30);
  EXPECT_EQ(sample.machine_busy_ns, 500);
  EXPECT_EQ(sample.io_some_ns, 1);
}

TEST(SampleReading, WhatAKernelDoesNotGiveIsUnknownAndNeverNothing) {
  ProcessSample expected;
  expected.at_ns = 2'000'000'000;
  expected.interval_ns = 1'000'000'000;
  EXPECT_EQ(SampleBetween(At(1), At(2)), expected);

  SampleReading only_after = At(2);
  only_after.process.cpu_ns = 5;
  only_after.machine.steal_ns = 5;
  only_after.machine.disk_busy_ns = {{"vda", 5}};
  only_after.machine.network = {{"eth0", {5, 5}}};
  only_after.throttling = {{"/group", {5, 5}}};
  only_after.tcp.emplace();
  EXPECT_EQ(SampleBetween(At(1), only_after), expected) << "a counter that has just appeared";
}

TEST(SampleReading, ThreadsThatEndOrComeTakeNothingAway) {
  SampleReading before = At(1);
  before.process.run_delay_ns_by_thread = {{1, 100}, {2, 5000}, {3, 70}};
  SampleReading after = At(2);
  // 2 has ended, 4 is new, and 3 is another thread that was given the number of one that ended.
  after.process.run_delay_ns_by_thread = {{1, 130}, {3, 20}, {4, 9}};
  EXPECT_EQ(SampleBetween(before, after).run_delay_ns, 30 + 20 + 9);
}

TEST(SampleReading, TheBusiestDiskAndAllInterfacesCount) {
  SampleReading before = At(1);
  before.machine.disk_busy_ns = {{"vda", 1000}, {"vdb", 5}, {"gone", 1}};
  before.machine.network = {{"eth0", {10, 20}}, {"gone", {900, 900}}};
  SampleReading after = At(2);
  after.machine.disk_busy_ns = {{"vda", 1010}, {"vdb", 45}, {"new", 99999}};
  after.machine.network = {{"eth0", {15, 27}}, {"new", {99999, 99999}}};
  const ProcessSample sample = SampleBetween(before, after);
  EXPECT_EQ(sample.disk_busy_ns, 40);
  EXPECT_EQ(sample.net_sent_bytes, 5);
  EXPECT_EQ(sample.net_received_bytes, 7);
}

TEST(SampleReading, TheCgroupThatWasThrottledMostCounts) {
  SampleReading before = At(1);
  before.throttling = {{"/a", {100, 1}}, {"/a/b", {5000, 50}}, {"/a/b/c", {0, 0}}};
  SampleReading after = At(2);
  after.throttling = {{"/a", {400, 7}}, {"/a/b", {5010, 51}}, {"/a/b/c", {0, 0}}};
  const ProcessSample sample = SampleBetween(before, after);
  EXPECT_EQ(sample.throttled_ns, 300);
  EXPECT_EQ(sample.throttled_periods, 6);
  after.throttling = before.throttling;
  EXPECT_EQ(SampleBetween(before, after).throttled_ns, 0) << "known, and nothing";
}

TcpCounters Connection(int64_t sent, int64_t busy, int64_t round_trip) {
  return {.sent_bytes = sent,
          .retransmitted_bytes = 0,
          .busy_ns = busy,
          .receiver_limited_ns = 0,
          .sender_limited_ns = 0,
          .round_trip_ns = round_trip};
}

TEST(SampleReading, ConnectionsThatComeAndGoLetNoCounterJump) {
  SampleReading before = At(1);
  before.tcp = {{1, Connection(1'000'000, 100, 7)}, {2, Connection(500, 60, 9)}};
  SampleReading after = At(2);
  after.tcp = {{2, Connection(800, 70, 8)}, {3, Connection(40, 4, 5)}};
  const ProcessSample sample = SampleBetween(before, after);
  EXPECT_EQ(sample.tcp_sent_bytes, 300 + 40);
  EXPECT_EQ(sample.tcp_busy_ns, 10 + 4);
  EXPECT_EQ(sample.tcp_retransmitted_bytes, 0);
  EXPECT_EQ(sample.tcp_round_trip_ns, 8);

  after.tcp->at(3).sent_bytes.reset();  // an old kernel
  EXPECT_EQ(SampleBetween(before, after).tcp_sent_bytes, kUnknownFigure);
  after.tcp->clear();
  const ProcessSample none = SampleBetween(before, after);
  EXPECT_EQ(none.tcp_sent_bytes, 0);
  EXPECT_EQ(none.tcp_round_trip_ns, kUnknownFigure);
}

TEST(SampleReading, JoinedSamplesCoverTheTimeOfBoth) {
  ProcessSample first;
  first.at_ns = 1000;
  first.interval_ns = 400;
  first.cpu_ns = 30;
  first.rss_bytes = 9;
  first.steal_ns = 5;
  ProcessSample second;
  second.at_ns = 1600;
  second.interval_ns = 600;
  second.cpu_ns = 50;
  second.rss_bytes = 7;
  const ProcessSample joined = JoinSamples(first, second);
  EXPECT_EQ(joined.at_ns, 1600);
  EXPECT_EQ(joined.interval_ns, 1000);
  EXPECT_EQ(joined.cpu_ns, 80);
  EXPECT_EQ(joined.rss_bytes, 7);
  EXPECT_EQ(joined.steal_ns, kUnknownFigure);
}

TEST(SampleReading, ReadsTheFilesBelowTheRoot) {
  FakeRoot root;
  const ManualClock clock(seconds(3));
  root.File("/proc/self/io", "read_bytes: 10\nwrite_bytes: 20\n");
  root.File("/proc/pressure/memory", "some avg10=0.00 avg60=0.00 avg300=0.00 total=1\n");
  root.File("/proc/self/cgroup", "4:cpu:/a\n");
  root.File("/sys/fs/cgroup/cpu/a/cpu.stat", "nr_throttled 1\nthrottled_time 5\n");
  const SampleReading before = ReadSample(clock, nullptr, root.path());
  EXPECT_EQ(before.at, seconds(3));
  root.File("/proc/self/io", "read_bytes: 15\nwrite_bytes: 20\n");
  root.File("/proc/pressure/memory", "some avg10=0.00 avg60=0.00 avg300=0.00 total=3\n");
  root.File("/sys/fs/cgroup/cpu/a/cpu.stat", "nr_throttled 4\nthrottled_time 12\n");
  const ProcessSample sample = SampleBetween(before, ReadSample(clock, nullptr, root.path()));
  EXPECT_EQ(sample.disk_read_bytes, 5);
  EXPECT_EQ(sample.disk_write_bytes, 0);
  EXPECT_EQ(sample.memory_some_ns, 2000);
  EXPECT_EQ(sample.throttled_ns, 7);
  EXPECT_EQ(sample.throttled_periods, 3);
  EXPECT_EQ(sample.tcp_sent_bytes, kUnknownFigure);
  EXPECT_EQ(sample.steal_ns, kUnknownFigure);
}

}  // namespace
}  // namespace interlude
