#include "base/host_name.h"

#include <gtest/gtest.h>

#include <fstream>

namespace interlude {
namespace {

TEST(HostName, IsTheKernels) {
  std::string name;
  ASSERT_TRUE(std::getline(std::ifstream("/proc/sys/kernel/hostname"), name));
  EXPECT_EQ(HostName("unknown"), name);
}

}  // namespace
}  // namespace interlude
