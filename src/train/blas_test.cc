#include "train/blas.h"

#include <gtest/gtest.h>

namespace interlude {
namespace {

TEST(BlasTest, AnOldKernelOnANewCpuHasABetterOne) {
  EXPECT_EQ(BetterCoreType("Prescott", true, true), "SKYLAKEX");
  EXPECT_EQ(BetterCoreType("Prescott", true, false), "HASWELL");
  EXPECT_EQ(BetterCoreType("Sandybridge", true, false), "HASWELL");
}

TEST(BlasTest, AnOldKernelOnAnOldCpuStays) {
  EXPECT_EQ(BetterCoreType("Prescott", false, false), std::nullopt);
  EXPECT_EQ(BetterCoreType("Nehalem", false, false), std::nullopt);
}

TEST(BlasTest, AFastOrUnknownKernelStays) {
  for (const char* name : {"SkylakeX", "Haswell", "Zen", "Cooperlake", "SapphireRapids", "neoversen1", ""}) {
    EXPECT_EQ(BetterCoreType(name, true, true), std::nullopt) << name;
  }
}

}  // namespace
}  // namespace interlude
