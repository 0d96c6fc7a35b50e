#include "cli/worker_program/prediction_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "images/csv_text.h"

namespace interlude {
namespace {

using ::testing::ElementsAre;

const std::vector<std::string> kNames = {"cat", "a \"big\" dog, brown", "Käse"};
const FilePrediction kPrediction = {.file = "x/a, \"b\"\nc.jpg",
                                    .top = {{1, 0.75}, {2, 0.2499}, {0, 0.0001}, {3, 0}}};

TEST(PredictionText, NamesTheFileAndAClassALine) {
  EXPECT_EQ(PredictionText(kPrediction, kNames),
            "x/a, \"b\"?c.jpg\n"
            "   75.00 %  a \"big\" dog, brown\n"
            "   24.99 %  Käse\n"
            "    0.01 %  cat\n"
            "    0.00 %  3\n");
  EXPECT_EQ(PredictionText({.file = "a", .top = {{0, 1}}}, {}), "a\n  100.00 %  0\n");
}

TEST(PredictionText, JsonIsOneLineThatGivesEverythingBack) {
  const std::string line = PredictionJson(kPrediction, kNames);
  EXPECT_EQ(line.find('\n'), line.size() - 1);
  const auto json = nlohmann::json::parse(line);
  EXPECT_EQ(json["file"], kPrediction.file);
  ASSERT_EQ(json["top"].size(), 4u);
  EXPECT_EQ(json["top"][0],
            (nlohmann::json{{"class", kNames[1]}, {"label", 1}, {"probability", 0.75}}));
  EXPECT_EQ(json["top"][1]["probability"].get<double>(), 0.2499);
  EXPECT_EQ(json["top"][3]["class"], "3") << "a label without a name is its number";
}

TEST(PredictionText, JsonOfAPathThatIsNoUtf8IsStillJson) {
  const auto json = nlohmann::json::parse(PredictionJson({.file = "a\xff.jpg"}, kNames));
  EXPECT_EQ(json["file"], "a\xEF\xBF\xBD.jpg");
  EXPECT_TRUE(json["top"].empty());
}

TEST(PredictionText, CsvGivesEverythingBack) {
  const auto rows =
      ReadCsv(PredictionCsvHeader(4) + PredictionCsv(kPrediction, kNames), "csv").value();
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_THAT(rows[0].fields,
              ElementsAre("file", "class_1", "probability_1", "class_2", "probability_2", "class_3",
                          "probability_3", "class_4", "probability_4"));
  EXPECT_THAT(rows[1].fields, ElementsAre(kPrediction.file, kNames[1], "0.75", "Käse", "0.2499",
                                          "cat", "0.0001", "3", "0"));
}

TEST(PredictionText, NothingCommandsTheTerminal) {
  EXPECT_EQ(WithoutControls("a\x1b[2Jb\x7f\tc"), "a?[2Jb??c");
  EXPECT_EQ(WithoutControls("\xC2\x9B"
                            "1m \xC2\xA9 \xC3\x9B \xC2"),
            "?1m \xC2\xA9 \xC3\x9B \xC2");
}

}  // namespace
}  // namespace interlude
