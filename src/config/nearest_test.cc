#include "config/nearest.h"

#include <gtest/gtest.h>

#include <array>

namespace interlude {
namespace {

TEST(EditDistance, CountsEachKindOfChangeOnce) {
  EXPECT_EQ(EditDistance("codec", "codec"), 0u);
  EXPECT_EQ(EditDistance("codec", "codecs"), 1u);
  EXPECT_EQ(EditDistance("codec", "code"), 1u);
  EXPECT_EQ(EditDistance("codec", "codex"), 1u);
  EXPECT_EQ(EditDistance("codec", "coedc"), 1u);  // neighbours swapped
  EXPECT_EQ(EditDistance("kitten", "sitting"), 3u);
}

TEST(EditDistance, OfAnEmptyWordIsTheOthersLength) {
  EXPECT_EQ(EditDistance("", "round"), 5u);
  EXPECT_EQ(EditDistance("round", ""), 5u);
  EXPECT_EQ(EditDistance("", ""), 0u);
}

TEST(EditDistance, TouchesNoLetterTwice) { EXPECT_EQ(EditDistance("ca", "abc"), 3u); }

constexpr std::array<std::string_view, 3> kWords = {"rounds", "round", "bound"};

TEST(NearestWord, PrefersFewerChangesToAnEarlierPlace) {
  EXPECT_EQ(NearestWord("roundz", kWords), "rounds");
  EXPECT_EQ(NearestWord("roun", kWords), "round");
}

TEST(NearestWord, TakesTheFirstOfEquallyNearWords) {
  EXPECT_EQ(NearestWord("sound", kWords), "round");
}

TEST(NearestWord, FindsNothingWhenTooMuchDiffers) {
  EXPECT_EQ(NearestWord("exchange", kWords), std::nullopt);
  EXPECT_EQ(NearestWord("wounder", kWords), std::nullopt);
  EXPECT_EQ(NearestWord("", kWords), std::nullopt);
}

}  // namespace
}  // namespace interlude
