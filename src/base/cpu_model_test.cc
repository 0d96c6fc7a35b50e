#include "base/cpu_model.h"

#include <gtest/gtest.h>

#include "base/fake_root.h"

namespace interlude {
namespace {

TEST(CpuModel, IsTheFirstCores) {
  FakeRoot root;
  root.File("/proc/cpuinfo", "processor\t: 0\nmodel name\t: A CPU\nmodel name\t: another\n");
  EXPECT_EQ(CpuModel(root.path()), "A CPU");
}

TEST(CpuModel, IsEmptyWhereTheKernelNamesNone) {
  FakeRoot root;
  EXPECT_EQ(CpuModel(root.path()), "");
  root.File("/proc/cpuinfo", "processor\t: 0\nmodel name\n");
  EXPECT_EQ(CpuModel(root.path()), "");
}

}  // namespace
}  // namespace interlude
