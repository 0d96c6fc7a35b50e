#include "report/evaluation_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace interlude {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

EvaluationRecord Example() {
  return {.after_rounds = 3,
          .samples = 20,
          .correct = 12,
          .mean_loss = 0.5,
          .classes = 3,
          .top5 = 19,
          .confusion = {{0, 0, 6}, {0, 1, 3}, {0, 2, 1}, {1, 1, 5}, {2, 0, 4}, {2, 2, 1}}};
}

const std::vector<std::string> kNames = {"cat", "d\u00f6g"};

TEST(EvaluationText, ShowsTheWorstClassesAndTheConfusedPairs) {
  EXPECT_EQ(AccuracyText(Example()), "60.00 %, top 5: 95.00 %");
  EXPECT_EQ(ClassScoresText(Example(), kNames, 2),
            "  class  samples  right %  taken for most\n"
            "  2            5    20.00    cat (80.0 %)\n"
            "  cat         10    60.00    d\u00f6g (30.0 %)\n"
            "\n"
            "  confused most  taken for  samples\n"
            "  2              cat              4\n"
            "  cat            d\u00f6g              3\n"
            "  cat            2                1\n");
  EXPECT_THAT(ClassScoresText(Example(), kNames, 0), HasSubstr("d\u00f6g          5   100.00"));
}

TEST(EvaluationText, SaysNothingOfWhatIsNotKnown) {
  EvaluationRecord plain{.after_rounds = 1, .samples = 4, .correct = 3, .mean_loss = 1};
  EXPECT_EQ(AccuracyText(plain), "75.00 %");
  EXPECT_EQ(ClassScoresText(plain, kNames), "");
  EXPECT_EQ(EvaluationJson(plain, {}),
            "{\"after_rounds\":1,\"samples\":4,\"correct\":3,\"mean_loss\":1.0}\n");
  EXPECT_EQ(AccuracyText({}), "0.00 %");
}

TEST(EvaluationText, AsJsonHasAllOfIt) {
  const auto json = nlohmann::json::parse(EvaluationJson(Example(), kNames));
  EXPECT_EQ(json["top5"], 19);
  EXPECT_EQ(json["classes"][1]["name"], kNames[1]);
  EXPECT_EQ(json["classes"][2]["name"], "2");
  EXPECT_EQ(json["classes"][0]["predicted"], 10);
  EXPECT_EQ(json["confusion"][1], (std::vector<int>{0, 1, 3}));
}

TEST(EvaluationText, OfAMatrixWithoutMistakesNamesNoPair) {
  EvaluationRecord right{.samples = 4, .correct = 4, .classes = 2, .confusion = {{0, 0, 4}}};
  EXPECT_THAT(ClassScoresText(right, {}), Not(HasSubstr("confused")));
}

}  // namespace
}  // namespace interlude
