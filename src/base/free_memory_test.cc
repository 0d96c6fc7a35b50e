#include "base/free_memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace interlude {
namespace {

TEST(FreeMemory, AFewBytesCanBeHad) {
  EXPECT_GT(AvailableMemoryBytes(), 1u << 20);
  EXPECT_TRUE(CheckFreeMemory("a small thing", 1).ok());
}

TEST(FreeMemory, TooMuchIsRefusedWithBothFigures) {
  const Status status = CheckFreeMemory("a model of 9 parameters", uint64_t{1} << 62);
  EXPECT_EQ(status.code(), StatusCode::kResourceExhausted);
  EXPECT_THAT(status.message(),
              testing::StartsWith("a model of 9 parameters needs 4294967296.00 GiB"));
  EXPECT_THAT(status.message(), testing::HasSubstr("are free"));
}

}  // namespace
}  // namespace interlude
