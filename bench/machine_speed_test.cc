#include "bench/machine_speed.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

namespace interlude {
namespace {

constexpr size_t kBytes = (size_t{3} << 20) + 4711;

TEST(MachineSpeed, OfMemoryIsMeasuredWithAnyThreads) {
  for (const int threads : {1, 2, 3}) {
    const MemorySpeed speed = MeasureMemory(threads, kBytes);
    EXPECT_GT(speed.copy, 0);
    EXPECT_GT(speed.read, 0);
  }
}

TEST(MachineSpeed, OfTheLoopbackCountsWhatCame) {
  const auto speed = MeasureTcpLoopback(kBytes);
  ASSERT_TRUE(speed.ok()) << speed.status().ToString();
  EXPECT_GT(*speed, 0);
}

TEST(MachineSpeed, OfTheDiskLeavesNoFile) {
  const std::string directory = testing::TempDir();
  const auto speed = MeasureDiskWrite(directory, kBytes);
  ASSERT_TRUE(speed.ok()) << speed.status().ToString();
  EXPECT_GT(*speed, 0);
  EXPECT_FALSE(std::filesystem::exists(directory + "/disk-speed"));
  EXPECT_FALSE(MeasureDiskWrite("/no/such/directory", kBytes).ok());
}

TEST(MachineDescription, NamesTheKernelAndTheCores) {
  const std::string text = DescribeMachine().ToString();
  EXPECT_THAT(text, testing::HasSubstr("Linux"));
  EXPECT_THAT(text, testing::HasSubstr("usable cores"));
}

}  // namespace
}  // namespace interlude
