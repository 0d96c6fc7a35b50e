#include "config/toml_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace interlude {
namespace {

using testing::HasSubstr;

TEST(TomlText, ListsKeysInTheOrderOfTheText) {
  const auto entries = ReadTomlText("zeta = 1\n[round]\nrounds = 2\ncodec = \"q4\"\n", "x.toml");
  ASSERT_TRUE(entries.ok()) << entries.status().ToString();
  std::vector<std::string> keys;
  for (const TomlEntry& entry : *entries) keys.push_back(entry.key);
  EXPECT_THAT(keys, testing::ElementsAre("zeta", "round", "round.rounds", "round.codec"));
}

TEST(TomlText, GivesThePlacesOfKeyAndValue) {
  const auto entries = ReadTomlText("\n[round]\n  codec = \"q4\"\n", "x.toml");
  ASSERT_TRUE(entries.ok());
  const TomlEntry& entry = entries->at(1);
  EXPECT_EQ(entry.key_line, 3u);
  EXPECT_EQ(entry.key_column, 3u);
  EXPECT_EQ(entry.value_line, 3u);
  EXPECT_EQ(entry.value_column, 11u);
}

TEST(TomlText, NamesTheTypeOfEveryValue) {
  const auto entries = ReadTomlText(
      "a = 1\nb = 1.5\nc = true\nd = \"x\"\ne = [1]\nf = 2024-01-01\n[g]\nh = {i = 1}\n", "x.toml");
  ASSERT_TRUE(entries.ok()) << entries.status().ToString();
  std::vector<std::string> types;
  for (const TomlEntry& entry : *entries) types.emplace_back(TomlTypeName(entry.value));
  EXPECT_THAT(types, testing::ElementsAre("an integer", "a floating-point number", "a truth value",
                                          "a string", "an array", "a date or time", "a section",
                                          "a table"));
}

TEST(TomlText, SaysWhereTheSyntaxIsWrong) {
  const auto entries = ReadTomlText("a = 1\nb = \"open\n", "x.toml");
  ASSERT_FALSE(entries.ok());
  EXPECT_EQ(entries.status().code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(entries.status().message(), HasSubstr("x.toml:2:"));
}

TEST(TomlText, TurnsTheLibrarysAssertionsIntoErrors) {
  const auto entries = ReadTomlText("[ = 1\n", "x.toml");
  ASSERT_FALSE(entries.ok());
  EXPECT_EQ(entries.status().message(), "x.toml: not TOML: a [section] or key has no name");
}

// The library's tables of characters ran into undefined behaviour, which a build with sanitizers
// sees.
TEST(TomlText, RefusesLettersOutsideAsciiWhereANameIsExpected) {
  for (const char* letter : {"\u00e9", "\u0301", "\u4e2d", "\u3001", "\uff0e"}) {
    EXPECT_FALSE(ReadTomlText(fmt::format("{} = 1", letter), "x.toml").ok()) << letter;
    EXPECT_FALSE(ReadTomlText(fmt::format("a = {}", letter), "x.toml").ok()) << letter;
  }
}

TEST(TomlText, RefusesTextLongerThanItsLimit) {
  EXPECT_TRUE(ReadTomlText(std::string(24 * 1024, '\n'), "x.toml").ok());
  const auto entries = ReadTomlText(std::string(24 * 1024 + 1, '\n'), "x.toml");
  ASSERT_FALSE(entries.ok());
  EXPECT_THAT(entries.status().message(), HasSubstr("24577 bytes"));
}

TEST(TomlText, SurvivesTheDeepestNestingThatFitsTheLimit) {
  std::string key;
  while (key.size() + 8 < 24 * 1024) key += "a.";
  const auto entries = ReadTomlText(key + "a = 1", "x.toml");
  if (entries.ok()) {
    EXPECT_EQ(entries->size(), 2u);
  }
  EXPECT_FALSE(ReadTomlText("a = " + std::string(24'000, '['), "x.toml").ok());
}

}  // namespace
}  // namespace interlude
