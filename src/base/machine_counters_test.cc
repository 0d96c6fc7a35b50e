#include "base/machine_counters.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "base/fake_root.h"

namespace interlude {
namespace {

using ::testing::Pair;
using ::testing::UnorderedElementsAre;

constexpr char kDiskstats[] =
    "   7       0 loop0 9 0 9 9 0 0 0 0 0 111 0 0 0 0 0 0 0\n"
    " 254       0 vda 850039 82507 43548474 1933513 2050184 333048 762298632 3558576 0 557056 "
    "5714395 738489 71 702354224 140281 379738 82024\n"
    " 254       1 vda1 850039 82507 43548474 1933513 2050184 333048 762298632 3558576 0 557055 "
    "5714395\n"
    " 104       0 cciss/c0d0 1 0 1 1 1 1 1 1 0 42 1\n"
    " 253       0 zram0 0 0 0 0 0 0 0 0 0 7 0 0 0 0 0 0 0\n"
    " 8 0 sda\n";
constexpr char kNetwork[] =
    "Inter-|   Receive                                                |  Transmit\n"
    " face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop "
    "fifo colls carrier compressed\n"
    "    lo: 1069383478625 37260093 0 0 0 0 0 0 1069383478625 37260093 0 0 0 0 0 0\n"
    "  eth0:609811812 13414 0 0 0 0 0 0 573759 7118 0 0 0 0 0 0\n"
    "  wg0: 5 1 0 0 0 0 0 0 6 1 0 0 0 0 0 0\n"
    "  bad: 5 1\n";

TEST(MachineCounters, AreReadFromTheKernelsTexts) {
  FakeRoot root;
  root.File("/proc/stat",
            "cpu  4128587 729015 743170 2312420 12137 1 21578 8590 77 0\ncpu0 1 2 3 4 5 6 7 8\n");
  root.File("/proc/diskstats", kDiskstats);
  root.File("/proc/net/dev", kNetwork);
  for (const char* disk : {"vda", "cciss!c0d0", "zram0", "loop0", "sda"})
    root.File(std::string("/sys/block/") + disk + "/size", "1\n");
  const MachineCounters counters = ReadMachineCounters(root.path());
  const int64_t tick = 1'000'000'000 / ::sysconf(_SC_CLK_TCK);
  EXPECT_EQ(counters.busy_ns, (4128587 + 729015 + 743170 + 1 + 21578) * tick);
  EXPECT_EQ(counters.steal_ns, 8590 * tick);
  ASSERT_TRUE(counters.disk_busy_ns.has_value());
  EXPECT_THAT(*counters.disk_busy_ns,
              UnorderedElementsAre(Pair("vda", 557056'000'000), Pair("cciss/c0d0", 42'000'000)));
  ASSERT_TRUE(counters.network.has_value());
  EXPECT_EQ(counters.network->size(), 2u);
  EXPECT_EQ(counters.network->at("eth0"), (MachineCounters::Traffic{573759, 609811812}));
  EXPECT_EQ(counters.network->at("wg0"), (MachineCounters::Traffic{6, 5}));
}

TEST(MachineCounters, WhatTheKernelDoesNotGiveIsUnknown) {
  FakeRoot root;
  const MachineCounters none = ReadMachineCounters(root.path());
  EXPECT_EQ(none.busy_ns, std::nullopt);
  EXPECT_EQ(none.steal_ns, std::nullopt);
  EXPECT_FALSE(none.disk_busy_ns.has_value());
  EXPECT_FALSE(none.network.has_value());

  root.File("/proc/stat", "cpu  1 2 3 4 5 6 7\n");  // before steal was counted
  root.File("/proc/diskstats", kDiskstats);         // no /sys: no disk is known to be whole
  const MachineCounters few = ReadMachineCounters(root.path());
  EXPECT_TRUE(few.busy_ns.has_value());
  EXPECT_EQ(few.steal_ns, std::nullopt);
  EXPECT_FALSE(few.disk_busy_ns.has_value());

  root.File("/proc/stat", "cpu  1 2 x 4 5 6 7 8\n");
  EXPECT_EQ(ReadMachineCounters(root.path()).busy_ns, std::nullopt);
}

TEST(MachineCounters, OfThisMachineAreThere) {
  const MachineCounters counters = ReadMachineCounters();
  EXPECT_GT(counters.busy_ns.value_or(0), 0);
}

}  // namespace
}  // namespace interlude
