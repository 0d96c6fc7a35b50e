#include "report/data_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/analyze_run.h"
#include "report/run_report.h"

namespace interlude {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using Json = nlohmann::json;

RunSummary RunWith(const std::vector<ClassCountsRecord>& counts, const std::string& classes) {
  auto database = *RunDatabase::Create(":memory:");
  EXPECT_TRUE(database->AddRound({.round = 1, .end_ns = 1'000'000'000}, {}, {}).ok());
  EXPECT_TRUE(database->SetMeta(kMetaClasses, classes).ok());
  for (const ClassCountsRecord& record : counts) {
    EXPECT_TRUE(database->AddClassCounts(record).ok());
  }
  return *AnalyzeRun(*database);
}

TEST(DataSection, ShowsWhatEachWorkerHasOfEachClassAndLacks) {
  const RunSummary run = RunWith({{.worker = 0, .counts = {{5, 10, 7}, {1, 2, 3}}},
                                  {.worker = 1, .counts = {{9, 0, 0}, {4, 0, 1}}}},
                                 "[\"cat\", \"dog\", \"eel\"]");
  EXPECT_EQ(internal::DataSection(run),
            "  pictures of  without training pictures  training  test\n"
            "  worker 0     -                                22     6\n"
            "  worker 1     dog, eel                          9     5\n"
            "\n"
            "  training pictures  worker 0  worker 1\n"
            "  cat                       5         9\n"
            "  dog                      10         0\n"
            "  eel                       7         0\n");
  EXPECT_THAT(FormatRunReport(run), HasSubstr("\nData ("));
  const Json data = Json::parse(FormatRunJson(run))["data"];
  EXPECT_EQ(data["classes"], Json({"cat", "dog", "eel"}));
  EXPECT_EQ(data["counts"][1],
            Json({{"worker", 1}, {"train_pictures", {9, 0, 0}}, {"test_pictures", {4, 0, 1}}}));
}

TEST(DataSection, OfOneSetThatIsSplitNamesNoWorker) {
  const RunSummary run = RunWith({{.worker = kNoWorker, .counts = {{5, 10}, {1, 2}}}}, "[\"a\"]");
  EXPECT_THAT(internal::DataSection(run), HasSubstr("  all together  -"));
  EXPECT_THAT(internal::DataSection(run), HasSubstr("  1                            10\n"));
  EXPECT_TRUE(Json::parse(FormatRunJson(run))["data"]["counts"][0]["worker"].is_null());
}

TEST(DataSection, IsNotThereWhereNothingIsKnown) {
  const RunSummary run = RunWith({}, "[\"a\"]");
  EXPECT_EQ(internal::DataSection(run), "");
  EXPECT_THAT(FormatRunReport(run), Not(HasSubstr("\nData (")));
  EXPECT_EQ(Json::parse(FormatRunJson(run))["data"]["counts"], Json::array());
}

TEST(DataSection, SaysHowMuchOfManyClassesAndWorkersItLeavesOut) {
  std::vector<ClassCountsRecord> counts;
  for (int32_t worker = 0; worker < 30; ++worker) {
    ClassCounts of_worker{std::vector<uint64_t>(1000, 1'000'000), std::vector<uint64_t>(1000)};
    for (int label = 0; label < worker; ++label) of_worker.train[100 + label] = 0;
    counts.push_back({worker, of_worker});
  }
  const std::string text = internal::DataSection(RunWith(counts, ""));
  EXPECT_THAT(text, HasSubstr("... and 10 more workers; --json and run.db have them\n"));
  EXPECT_THAT(text, HasSubstr("... and 22 more workers;"));
  EXPECT_THAT(text, HasSubstr("... and 980 more classes;"));
  EXPECT_THAT(text, HasSubstr("100, 101 and 17 more"));
  size_t widest = 0;
  for (size_t at = 0; at < text.size();) {
    const size_t end = text.find('\n', at);
    widest = std::max(widest, end - at);
    at = end + 1;
  }
  EXPECT_LE(widest, 120u);
}

}  // namespace
}  // namespace interlude
