#include "cli/log_tail.h"

#include <gtest/gtest.h>

#include <fstream>

namespace interlude {
namespace {

std::string WriteLog(const std::string& text) {
  const std::string path = testing::TempDir() + "/log_tail_test.log";
  std::ofstream(path) << text;
  return path;
}

TEST(LogTailTest, GivesTheLastLines) {
  EXPECT_EQ(LastLines(WriteLog("a\nb\nc\n"), 2), (std::vector<std::string>{"b", "c"}));
  EXPECT_EQ(LastLines(WriteLog("a\nb"), 9), (std::vector<std::string>{"a", "b"}));
}

TEST(LogTailTest, NeverBeginsInTheMiddleOfALine) {
  const std::string path = WriteLog(std::string(100'000, 'x') + "\nlast\n");
  EXPECT_EQ(LastLines(path, 5), (std::vector<std::string>{"last"}));
}

TEST(LogTailTest, GivesNothingForAFileThatIsNotThere) {
  EXPECT_TRUE(LastLines(testing::TempDir() + "/no/such.log", 5).empty());
}

}  // namespace
}  // namespace interlude
