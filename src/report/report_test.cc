#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "analysis/analyze_run.h"
#include "ledger/sample_run.h"
#include "report/golden.h"
#include "report/run_report.h"

namespace interlude {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

RunSummary RecordedRun() {
  auto run = AnalyzeRunDirectory(INTERLUDE_SOURCE_DIR "/testdata/run_db");
  EXPECT_TRUE(run.ok()) << run.status().ToString();
  return std::move(run).value();
}

/// A run of `rounds` rounds of one second. Each worker trains for 900 ms; then worker w exchanges
/// for (1 + 100 w) * 2.8 ms.
RunSummary LongRun(uint32_t rounds, int32_t workers = 1) {
  auto database = *RunDatabase::Create(":memory:");
  for (uint32_t i = 1; i <= rounds; ++i) {
    std::vector<Span> spans;
    for (int32_t worker = 0; worker < workers; ++worker) {
      const int64_t exchange = (1 + 100 * worker) * 2'800'000;
      spans.push_back({Phase::kTrain, i, worker, kNoWorker, 0, 900'000'000, 900'000'000});
      spans.push_back(
          {Phase::kVerify, i, worker, kNoWorker, 900'000'000, 900'000'000 + exchange, exchange});
    }
    EXPECT_TRUE(
        database
            ->AddRound(
                {.round = i, .begin_ns = i * 1'000'000'000ll, .end_ns = (i + 1) * 1'000'000'000ll},
                {}, {.spans = spans})
            .ok());
  }
  return *AnalyzeRun(*database);
}

TEST(RunReport, OfTheRecordedRunIsTheGoldenText) {
  ExpectGolden("sample.txt", FormatRunReport(RecordedRun()));
}

TEST(RunReport, AsJsonOfTheRecordedRunIsTheGoldenText) {
  ExpectGolden("sample.json", FormatRunJson(RecordedRun()));
}

TEST(RunReport, NamesTheClassesThatAreToldWorst) {
  auto database = *RunDatabase::Create(":memory:");
  ASSERT_TRUE(database->AddRound({.round = 1, .end_ns = 1'000'000'000}, {}, {}).ok());
  ASSERT_TRUE(database->SetMeta(kMetaClasses, "[\"cat\", \"dog\"]").ok());
  ASSERT_TRUE(database
                  ->AddEvaluation({.after_rounds = 1,
                                   .samples = 8,
                                   .correct = 6,
                                   .classes = 2,
                                   .top5 = 8,
                                   .confusion = {{0, 0, 5}, {1, 0, 2}, {1, 1, 1}}})
                  .ok());
  const RunSummary run = *AnalyzeRun(*database);
  const std::string text = FormatRunReport(run);
  EXPECT_THAT(text, HasSubstr("Test accuracy 75.00 %, top 5: 100.00 %; training loss"));
  EXPECT_THAT(text, HasSubstr("  dog          3    33.33    cat (66.7 %)\n"));
  EXPECT_THAT(text, HasSubstr("  dog            cat              2\n"));
  const auto json = nlohmann::json::parse(FormatRunJson(run));
  EXPECT_EQ(json["evaluations"][0]["classes"][1]["name"], "dog");
}

TEST(RunReport, FitsTheWidthAndIsPlainAscii) {
  const std::string text = FormatRunReport(RecordedRun());
  EXPECT_LE(WidestLine(text), kReportWidth);
  EXPECT_EQ(
      text.find_first_not_of("\n !\"#$%&'()*+,-./0123456789:;<=>?@ABCDEFGHIJKLMNOPQRSTUVWXYZ[\\]^_`"
                             "abcdefghijklmnopqrstuvwxyz{|}~"),
      std::string::npos);
}

TEST(RunReport, FitsTheWidthWithTheFiguresOfALargeModelToo) {
  auto database = *RunDatabase::Create(":memory:");
  constexpr int64_t kSecond = 1'000'000'000;
  for (uint32_t i = 1000; i < 1003; ++i) {
    std::vector<Span> spans;
    std::vector<WorkerRoundRecord> parts;
    for (int32_t worker = 0; worker < 16; ++worker) {
      for (const Phase phase : kAllPhases) {
        if (phase == Phase::kPrepare) continue;  // in no round
        if (phase == Phase::kMerge) continue;    // a run has either this or the four before it
        const bool of_worker = IsWorkerPhase(phase);
        spans.push_back({phase, i, of_worker ? worker : kNoWorker, of_worker ? kNoWorker : worker,
                         0, 99 * kSecond, 98 * kSecond, 1500 * kSecond, 97 * kSecond, 335'750'000,
                         632, false});
      }
      parts.push_back({i, worker, 640, 1, "x", 0, 335'750'000, 335'750'000});
    }
    ASSERT_TRUE(database
                    ->AddRound({i, i * 1108 * kSecond, (i + 1) * 1108 * kSecond, 0, 0, 0, 0, "x",
                                16, 10'240'000, 12.3456},
                               parts, {.spans = spans})
                    .ok());
  }
  ASSERT_TRUE(database->AddEvaluation({2, 10, 10, 0}).ok());
  ASSERT_TRUE(database
                  ->AddWorker({12, "a-very-long-host-name.example.org", 1, 128, 127.5, 64, 64, "",
                               0, 5, "lost"})
                  .ok());
  const std::string text = FormatRunReport(*AnalyzeRun(*database));
  EXPECT_LE(WidestLine(text), kReportWidth) << text;
}

TEST(RunReport, SaysThatParallelTimesAreNotToBeAddedAndThatClocksAreNotCompared) {
  const std::string text = FormatRunReport(RecordedRun());
  EXPECT_THAT(text, HasSubstr("must not be added up"));
  EXPECT_THAT(text, HasSubstr("clocks of different processes are not compared"));
}

TEST(RunReport, TheHeadlineSaysWhereAMedianRoundWent) {
  const std::string text = FormatRunReport(LongRun(12));
  EXPECT_THAT(text, HasSubstr("12 rounds in 12.0 s"));
  EXPECT_THAT(
      text,
      HasSubstr("A median round took 1.00 s, of which 900 ms (90 %) was training on the slowest "
                "worker;\nthe exchange took 2.8 ms.\n"));
}

TEST(RunReport, WithSeveralWorkersTheHeadlineSaysOnWhichOfThemTheExchangeIsMeasured) {
  EXPECT_THAT(
      FormatRunReport(LongRun(3, 2)),
      HasSubstr("the exchange took 2.8 ms on the worker where it was shortest, 283 ms where "
                "longest.\n"));
}

TEST(RunReport, WithoutAnExchangeFigureNoneIsClaimed) {
  auto database = *RunDatabase::Create(":memory:");
  const Span train{Phase::kTrain, 1, 0, kNoWorker, 0, 900'000'000, 900'000'000};
  ASSERT_TRUE(
      database->AddRound({.round = 1, .end_ns = 1'000'000'000}, {}, {.spans = {train}}).ok());
  const RunSummary run = *AnalyzeRun(*database);
  EXPECT_THAT(FormatRunReport(run), Not(HasSubstr("the exchange took")));
  const auto json = nlohmann::json::parse(FormatRunJson(run));
  for (const auto& part : {json["rounds"][0], json["typical_round"], json["total"]})
    EXPECT_TRUE(part.at("exchange_seconds").is_null());
}

TEST(RunReport, ColourOnlyAddsToTheHeadings) {
  const RunSummary run = RecordedRun();
  std::string colored = FormatRunReport(run, {.color = true});
  EXPECT_THAT(colored, HasSubstr("\x1b[1mRounds"));
  for (const std::string code : {"\x1b[1m", "\x1b[0m"}) {
    for (size_t at; (at = colored.find(code)) != std::string::npos;) colored.erase(at, code.size());
  }
  EXPECT_EQ(colored, FormatRunReport(run));
}

TEST(RunReport, ALongRunListsTheFirstRoundAndTheLastOnes) {
  const RunSummary run = LongRun(100);
  const std::string text = FormatRunReport(run, {.max_rounds = 5, .phases_by_round = false});
  EXPECT_THAT(text, HasSubstr("... 95 rounds left out; interlude report --all lists them"));
  EXPECT_THAT(text, HasSubstr("\n      1   1.000"));
  EXPECT_THAT(text, HasSubstr("\n     97   1.000"));
  EXPECT_THAT(text, Not(HasSubstr("\n     96   1.000")));
  EXPECT_THAT(FormatRunReport(run, {.max_rounds = 0}), Not(HasSubstr("left out")));
  EXPECT_EQ(nlohmann::json::parse(FormatRunJson(run))["rounds"].size(), 100u);
}

TEST(RunReport, EveryFieldOfTheJsonIsOnTheDocsPages) {
  EXPECT_GT(ExpectDocumented(FormatRunJson(RecordedRun())), 100u);
}

TEST(RunReport, DifferingParametersAreSaidLoudlyAndWithWhoAndWhen) {
  auto database = *RunDatabase::Create(":memory:");
  ASSERT_TRUE(database
                  ->AddRound({.round = 3, .end_ns = 1'000'000'000, .root_hash = "aa"},
                             {{.round = 3, .worker = 5, .root_hash = "bb"}}, {})
                  .ok());
  const std::string text = FormatRunReport(*AnalyzeRun(*database));
  EXPECT_THAT(text, HasSubstr("PARAMETERS DIFFER: another root hash from worker 5 in round 3."));
  EXPECT_THAT(text, Not(HasSubstr("agree")));
}

TEST(RunReport, TheHeadlineCountsWhatWentWrongAndWhatIsNotOnRecord) {
  auto database = *RunDatabase::Create(":memory:");
  for (const uint32_t round : {1u, 4u}) {
    ASSERT_TRUE(database
                    ->AddRound({.round = round,
                                .begin_ns = round * 1'000'000'000,
                                .end_ns = (round + 1) * 1'000'000'000},
                               {}, {})
                    .ok());
  }
  ASSERT_TRUE(database->AddEvent({5, 1, 1, "late", "closed chunk 3 without it"}).ok());
  ASSERT_TRUE(database->AddEvent({6, 1, 0, "late", "closed chunk 4 without it"}).ok());
  ASSERT_TRUE(database->AddEvent({7, 2, -1, "coordinator_restarted", "went on"}).ok());
  const std::string text = FormatRunReport(*AnalyzeRun(*database));
  EXPECT_THAT(text, HasSubstr("Troubles: 2 x time that a round went on without a worker, 1 x "
                              "restart of the coordinator"));
  EXPECT_THAT(text, HasSubstr("2 committed rounds without a record, the first is 2"));
  EXPECT_THAT(text, HasSubstr("... committed without a record"));
}

TEST(RunReport, OfMoreUnrecordedRoundsThanAreKeptItSaysAtLeast) {
  RunSummary run = RecordedRun();
  run.unrecorded_rounds.resize(kMostUnrecorded, 3);
  EXPECT_THAT(FormatRunReport(run), HasSubstr("At least 10,000 committed rounds"));
  run.unrecorded_rounds.pop_back();
  EXPECT_THAT(FormatRunReport(run), Not(HasSubstr("At least")));
}

TEST(RunReport, ARunThatKeptNoAccountIsNamedAsOne) {
  RunSummary run = RecordedRun();
  EXPECT_THAT(FormatRunReport(run), Not(HasSubstr("without an account")));
  EXPECT_EQ(nlohmann::json::parse(FormatRunJson(run))["notes"].size(), 2u);
  run.meta[kMetaAccount] = kNoAccount;
  EXPECT_THAT(FormatRunReport(run), HasSubstr("Recorded without an account"));
  EXPECT_THAT(nlohmann::json::parse(FormatRunJson(run))["notes"][2].get<std::string>(),
              HasSubstr("Recorded without an account"));
}

TEST(RunReport, ARunWithoutAFinishedRoundStillSaysWhatHappened) {
  auto database = *RunDatabase::Create(":memory:");
  ASSERT_TRUE(database->AddEvent({5, {}, 1, "worker_left", "worker 1 left: killed"}).ok());
  const RunSummary run = *AnalyzeRun(*database);
  const std::string text = FormatRunReport(run);
  EXPECT_THAT(text, HasSubstr("No round has finished."));
  EXPECT_THAT(text, HasSubstr("worker_left: worker 1 left: killed"));
  EXPECT_TRUE(nlohmann::json::parse(FormatRunJson(run))["total"]["final_root_hash"].is_null());
}

TEST(RunReport, TextFromOtherMachinesCannotWriteToTheTerminalNorBreakTheJson) {
  auto database = *RunDatabase::Create(":memory:");
  ASSERT_TRUE(database->SetMeta(kMetaTitle, "\x1b[2Jtitle").ok());
  ASSERT_TRUE(database->AddWorker({.worker = 0, .host = "\x1b]0;evil\xff"}).ok());
  ASSERT_TRUE(database->AddEvent({5, {}, 0, "k\x1b", "text\r\xff"}).ok());
  ASSERT_TRUE(database
                  ->AddRound({.round = 1,
                              .end_ns = 5,
                              .root_hash = "\x1b\xff",
                              .mean_loss = std::numeric_limits<double>::quiet_NaN()},
                             {}, {})
                  .ok());
  const RunSummary run = *AnalyzeRun(*database);
  EXPECT_EQ(FormatRunReport(run).find_first_of("\x1b\r\xff"), std::string::npos);
  const auto json = nlohmann::json::parse(FormatRunJson(run));
  EXPECT_TRUE(json["rounds"][0]["mean_loss"].is_null());
  EXPECT_EQ(json["workers"][0]["host"], "\x1b]0;evil\xef\xbf\xbd");
}

}  // namespace
}  // namespace interlude
