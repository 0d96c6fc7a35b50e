#include "base/process_memory.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "base/memory_account.h"

namespace interlude {
namespace {

TEST(ProcessMemory, IsReadFromTheKernelsText) {
  const auto memory = ParseProcessStatus(
      "Name:\tVmRSS: 9 kB\nVmHWM:\t    3000 kB\nVmRSS:\t    2000 kB\nRssAnon:\t    1000 kB\n");
  ASSERT_TRUE(memory.has_value());
  EXPECT_EQ(memory->anonymous, 1000u * 1024);
  EXPECT_EQ(memory->resident, 2000u * 1024);
  EXPECT_EQ(memory->peak_resident, 3000u * 1024);
}

TEST(ProcessMemory, OfAProcessThatHasEndedIsNothing) {
  EXPECT_FALSE(ParseProcessStatus("Name:\tx\nState:\tZ (zombie)\n").has_value());
  EXPECT_FALSE(ParseProcessStatus("RssAnon:").has_value());
  EXPECT_FALSE(ParseProcessStatus("").has_value());
  EXPECT_FALSE(ReadProcessMemory(-1).has_value());
}

TEST(ProcessMemory, GrowsWithWhatIsTouched) {
  const auto before = ReadProcessMemory(getpid());
  Buffer buffer("test", size_t{64} << 20);
  for (size_t i = 0; i < buffer.size(); i += 4096) buffer.bytes()[i] = std::byte{1};
  const auto after = ReadProcessMemory(getpid());
  ASSERT_TRUE(before && after);
  EXPECT_GE(after->anonymous, before->anonymous + (size_t{48} << 20));
  EXPECT_GE(after->peak_resident, after->resident);
}

}  // namespace
}  // namespace interlude
