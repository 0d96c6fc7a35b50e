#include "base/proc_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/fake_root.h"

namespace interlude {
namespace {

using ::testing::ElementsAre;

TEST(ProcText, AFileLargerThanOneReadComesWhole) {
  FakeRoot root;
  const std::string large(100'000, 'x');
  root.File("/large", large);
  root.File("/empty", "");
  EXPECT_EQ(ReadProcText(root.path() + "/large"), large);
  EXPECT_EQ(ReadProcText(root.path() + "/empty"), "");
  EXPECT_EQ(ReadProcText(root.path() + "/absent"), std::nullopt);
  EXPECT_EQ(ReadProcText(root.path()), std::nullopt) << "a directory";
}

TEST(ProcText, LinesAndWords) {
  std::string_view text = "one two\n\nthree";
  EXPECT_EQ(TakeLine(text), "one two");
  EXPECT_EQ(TakeLine(text), "");
  EXPECT_EQ(TakeLine(text), "three");
  EXPECT_TRUE(text.empty());
  EXPECT_EQ(TakeLine(text), "");
  EXPECT_THAT(Words("  a\tbc   d "), ElementsAre("a", "bc", "d"));
  EXPECT_TRUE(Words(" \t ").empty());
}

TEST(ProcText, NumbersAreDecimalAndFit) {
  EXPECT_EQ(Number("12kB"), 12);
  EXPECT_EQ(Number("-3"), -3);
  EXPECT_EQ(Number("9223372036854775807"), INT64_MAX);
  EXPECT_EQ(Number("9223372036854775808"), std::nullopt);
  EXPECT_EQ(Number("x"), std::nullopt);
  EXPECT_EQ(Number(""), std::nullopt);
  EXPECT_EQ(Times(7, 1000), 7000);
  EXPECT_EQ(Times(INT64_MAX / 2, 3), std::nullopt);
  EXPECT_EQ(Times(std::nullopt, 3), std::nullopt);
}

TEST(ProcText, AKeyStandsAtTheBeginningOfALine) {
  const std::string_view text = "xkey: 1\nkey:\t 22 kB\nkey: 3\nend:";
  EXPECT_EQ(NumberAfter(text, "key:"), 22);
  EXPECT_EQ(NumberAfter(text, "end:"), std::nullopt);
  EXPECT_EQ(NumberAfter(text, "absent:"), std::nullopt);
  EXPECT_EQ(NumberAfter("", "key:"), std::nullopt);
}

}  // namespace
}  // namespace interlude
