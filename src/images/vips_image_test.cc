#include "images/vips_image.h"

#include <gtest/gtest.h>

namespace interlude {
namespace {

TEST(WithVips, TellsNoMemoryFromABadFile) {
  int runs = 0;
  const auto failing = [&](const char* message) {
    return WithVips([&runs, message] {
      ++runs;
      vips_error("somewhere", "%s", message);
      return false;
    });
  };
  EXPECT_EQ(failing("cut short"), DataLossError("somewhere: cut short"));
  EXPECT_EQ(runs, 2);
  EXPECT_EQ(failing("out of memory -- size 54MB"),
            ResourceExhaustedError("libvips: somewhere: out of memory -- size 54MB"));
  EXPECT_TRUE(WithVips([] { return true; }).ok());
}

}  // namespace
}  // namespace interlude
