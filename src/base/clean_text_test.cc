#include "base/clean_text.h"

#include <gtest/gtest.h>

namespace interlude {
namespace {

TEST(CleanText, KeepsUtf8AndReplacesTheRest) {
  EXPECT_EQ(CleanText("a\tb\nc", 10), "a\tb\nc");
  EXPECT_EQ(CleanText("d\xc3\xb6g\xf0\x9f\x90\x95", 10), "d\xc3\xb6g\xf0\x9f\x90\x95");
  EXPECT_EQ(CleanText("\x1b[2J\x7f", 10), "?[2J?");
  // A character too long for what it says, one half of a pair, one that is cut off.
  EXPECT_EQ(CleanText("\xc0\x80\xed\xa0\x80\xe2\x82", 10), "???????");
}

TEST(CleanText, IsCutBetweenCharacters) {
  EXPECT_EQ(CleanText("ab\xc3\xb6", 4), "ab\xc3\xb6");
  EXPECT_EQ(CleanText("ab\xc3\xb6", 3), "ab");
  EXPECT_EQ(CleanText("abc", 0), "");
}

}  // namespace
}  // namespace interlude
