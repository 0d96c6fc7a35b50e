#include "doctor/disk_checks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "base/fake_root.h"
#include "doctor/find_check.h"
#include "doctor/speed.h"

namespace interlude {
namespace {

using testing::HasSubstr;

constexpr Job kJob = {.params = 640'000'000, .workers = 4};  // a payload is 340 MB

TEST(DiskChecks, SpaceIsGradedAgainstWhatACoordinatorNeeds) {
  const uint64_t need = CoordinatorDiskBytes(kJob.params, kJob.workers);
  EXPECT_EQ(Find(CheckDisk({.free_bytes = need - 1}, kJob, 1e9), "disk space").grade,
            CheckGrade::kBad);
  EXPECT_EQ(Find(CheckDisk({.free_bytes = need}, kJob, 1e9), "disk space").grade, CheckGrade::kOk);
  EXPECT_EQ(Find(CheckDisk({.free_bytes = need}, Job{}, 1e9), "disk space").grade,
            CheckGrade::kUnknown);
}

TEST(DiskChecks, ADirectoryInMemoryIsNamed) {
  const DiskReading reading{.free_bytes = uint64_t{1} << 50, .in_memory = true};
  const Check check = Find(CheckDisk(reading, kJob, 1e9), "disk space");
  EXPECT_EQ(check.grade, CheckGrade::kWarn);
  EXPECT_THAT(check.figure, HasSubstr("tmpfs"));
}

TEST(DiskChecks, SpeedIsGradedByARoundsPayloads) {
  // 1.36 GB a round.
  for (const auto& [speed, grade] :
       {std::pair{1e9, CheckGrade::kOk}, {1e8, CheckGrade::kWarn}, {1e7, CheckGrade::kBad}}) {
    const Check check = Find(CheckDisk({}, kJob, speed), "disk speed");
    EXPECT_EQ(check.grade, grade) << speed;
    EXPECT_DOUBLE_EQ(ValueOf(check, "round_seconds"), 1.36e9 / speed);
  }
  EXPECT_EQ(Find(CheckDisk({.rotational = true}, Job{}, 1e8), "disk speed").grade,
            CheckGrade::kWarn);
  EXPECT_EQ(Find(CheckDisk({.rotational = false}, Job{}, 1e8), "disk speed").grade,
            CheckGrade::kOk);
}

TEST(DiskChecks, WhatCannotBeWrittenIsUnknown) {
  const Check check =
      Find(CheckDisk({}, kJob, PermissionDeniedError("cannot write in /x")), "disk speed");
  EXPECT_EQ(check.grade, CheckGrade::kUnknown);
  EXPECT_THAT(check.figure, HasSubstr("/x"));
  EXPECT_EQ(Find(CheckDisk({.trouble = "gone"}, kJob, 1e9), "disk").grade, CheckGrade::kUnknown);
}

TEST(DiskReading, APartitionIsAskedByItsDisk) {
  FakeRoot root;
  EXPECT_EQ(ReadRotational(root.path(), 8, 1), std::nullopt);
  // As in /sys: 8:1 leads to a directory within the disk's.
  root.File("/sys/devices/sda/queue/rotational", "1\n");
  root.File("/sys/devices/sda/sda1/partition", "1\n");
  std::filesystem::create_directories(root.path() + "/sys/dev/block");
  std::filesystem::create_symlink("../../devices/sda", root.path() + "/sys/dev/block/8:0");
  std::filesystem::create_symlink("../../devices/sda/sda1", root.path() + "/sys/dev/block/8:1");
  EXPECT_EQ(ReadRotational(root.path(), 8, 0), true);
  EXPECT_EQ(ReadRotational(root.path(), 8, 1), true);
  root.File("/sys/devices/sda/queue/rotational", "0\n");
  EXPECT_EQ(ReadRotational(root.path(), 8, 1), false);
}

TEST(DiskReading, ADirectoryThatIsYetToBeMadeStandsForTheNearestOne) {
  FakeRoot root;
  const DiskReading reading = ReadDisk(root.path(), root.path() + "/runs/first");
  EXPECT_EQ(reading.directory, root.path());
  EXPECT_EQ(reading.trouble, "");
  EXPECT_GT(reading.free_bytes, 0u);
}

TEST(DiskSpeed, IsMeasuredAndLeavesNothingBehind) {
  FakeRoot root;
  const auto speed = MeasureDisk(root.path(), size_t{8} << 20, std::chrono::nanoseconds(0));
  ASSERT_TRUE(speed.ok()) << speed.status().ToString();
  EXPECT_GT(*speed, 0);
  EXPECT_TRUE(std::filesystem::is_empty(root.path()));
  EXPECT_FALSE(MeasureDisk(root.path() + "/absent", 1, std::chrono::nanoseconds(0)).ok());
}

}  // namespace
}  // namespace interlude
