#include "doctor/check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

namespace interlude {
namespace {

using testing::HasSubstr;
using testing::Not;

Checks Some() {
  return {
      {.name = "cores", .grade = CheckGrade::kOk, .figure = "2 usable", .values = {{"usable", 2}}},
      {.name = "threads",
       .grade = CheckGrade::kWarn,
       .figure = "a figure of many words that do not fit within the eighty columns of a terminal",
       .advice = "an advice that is as long, so that it takes more than one line of the text"},
      {.name = "disk", .grade = CheckGrade::kUnknown, .figure = "cannot be read"}};
}

TEST(CheckText, LinesUpWithinEightyColumnsWithAdviceBelow) {
  EXPECT_EQ(FormatChecks(Some(), false),
            "ok       cores            2 usable\n"
            "warn     threads          a figure of many words that do not fit within the\n"
            "                          eighty columns of a terminal\n"
            "                          -> an advice that is as long, so that it takes more\n"
            "                          than one line of the text\n"
            "unknown  disk             cannot be read\n"
            "\n0 bad, 1 to look at, 1 ok, 1 unknown\n");
}

TEST(CheckText, NoLineIsWiderThanEightyColumns) {
  std::istringstream lines(FormatChecks(Some(), false));
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 80u) << line;
}

TEST(CheckText, ColoursTheGradeAndNothingElse) {
  const std::string text = FormatChecks(Some(), true);
  EXPECT_THAT(text, HasSubstr("\x1b[33mwarn     \x1b[0mthreads"));
  EXPECT_THAT(FormatChecks(Some(), false), Not(HasSubstr("\x1b")));
}

TEST(CheckText, WhatOthersWroteCannotCommandTheTerminal) {
  const Checks checks = {{.name = "a", .figure = "b\x1b[2Jc", .advice = "d\x07"}};
  EXPECT_THAT(FormatChecks(checks, false), Not(HasSubstr("\x1b")));
  EXPECT_THAT(FormatChecks(checks, false), Not(HasSubstr("\x07")));
}

TEST(CheckJson, HoldsEverythingAndTheWorstGrade) {
  const auto json = nlohmann::json::parse(FormatChecksJson(Some()));
  EXPECT_EQ(json["version"], 1);
  EXPECT_EQ(json["worst"], "warn");
  ASSERT_EQ(json["checks"].size(), 3u);
  EXPECT_EQ(json["checks"][0]["name"], "cores");
  EXPECT_EQ(json["checks"][0]["grade"], "ok");
  EXPECT_EQ(json["checks"][0]["values"]["usable"], 2);
  EXPECT_EQ(json["checks"][1]["advice"], Some()[1].advice);
}

TEST(CheckJson, BytesThatAreNoTextAreReplaced) {
  const Checks checks = {{.name = "a", .figure = "\xff"}};
  EXPECT_NO_THROW(nlohmann::json::parse(FormatChecksJson(checks)));
}

TEST(Checks, AreBadWhenOneIs) {
  EXPECT_FALSE(AnyBad({}));
  EXPECT_FALSE(AnyBad(Some()));
  Checks checks = Some();
  checks.push_back({.name = "link", .grade = CheckGrade::kBad});
  EXPECT_TRUE(AnyBad(checks));
}

}  // namespace
}  // namespace interlude
