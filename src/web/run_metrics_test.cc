#include "web/run_metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>

#include "ledger/sample_run.h"

namespace interlude {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string FormatRunMetrics(const RunDatabase& database,
                             const std::map<std::string, double>& path_seconds = {}) {
  RunMetrics metrics;
  const Status read = metrics.Read(database);
  EXPECT_TRUE(read.ok()) << read.ToString();
  return metrics.Format(path_seconds);
}

std::set<std::string> ValuesOf(const std::string& label, const std::string& text) {
  std::set<std::string> values;
  const std::regex pattern("[{,]" + label + "=\"([^\"]*)\"");
  for (std::sregex_iterator at(text.begin(), text.end(), pattern), end; at != end; ++at)
    values.insert((*at)[1]);
  return values;
}

// tests/live_page_test.py reads the same file with Prometheus's own parser, and compares its
// figures with SQL's.
TEST(RunMetricsTest, OfTheRecordedRunAreAsTheyWere) {
  const auto database =
      RunDatabase::OpenReadOnly(INTERLUDE_SOURCE_DIR "/testdata/run_db/run.db").value();
  const std::string text = FormatRunMetrics(*database);
  const std::string path = INTERLUDE_SOURCE_DIR "/testdata/report/metrics.txt";
  if (std::getenv("INTERLUDE_UPDATE_GOLDEN") != nullptr) {
    std::ofstream(path) << text;
    return;
  }
  std::ifstream file(path);
  EXPECT_EQ(text, std::string(std::istreambuf_iterator<char>(file), {}))
      << path << " differs; run again with INTERLUDE_UPDATE_GOLDEN=1 if the new text is right";
}

TEST(RunMetricsTest, BeforeTheFirstRoundThereAreTheFiguresThatThereAre) {
  const auto database = RunDatabase::Create(":memory:").value();
  const std::string text = FormatRunMetrics(*database);
  EXPECT_THAT(text, HasSubstr("\ninterlude_rounds_total 0\n"));
  EXPECT_THAT(text, HasSubstr("\ninterlude_workers 0\n"));
  EXPECT_THAT(text, Not(HasSubstr("interlude_loss")));
  EXPECT_THAT(text, Not(HasSubstr("interlude_accuracy")));
}

TEST(RunMetricsTest, ManyWorkersShareALabelAndNothingOfThemIsLost) {
  const auto database = RunDatabase::Create(":memory:").value();
  std::vector<WorkerRoundRecord> parts;
  Account account;
  for (int32_t worker = 0; worker < 1024; ++worker) {
    parts.push_back({.round = 1, .worker = worker, .samples = 10});
    account.spans.push_back(
        {.phase = Phase::kTrain, .round = 1, .recorded_by = worker, .end_ns = 1'000'000'000});
  }
  ASSERT_TRUE(database->AddRound({.round = 1, .end_ns = 5}, parts, account).ok());
  const std::string text = FormatRunMetrics(*database);
  EXPECT_EQ(ValuesOf("worker", text).size(), 257u);
  EXPECT_THAT(text, HasSubstr("interlude_samples_total{worker=\"255\"} 10\n"));
  EXPECT_THAT(text, HasSubstr("interlude_samples_total{worker=\"other\"} 7680\n"));
  EXPECT_THAT(text,
              HasSubstr("interlude_phase_seconds_total{worker=\"other\",phase=\"train\"} 768\n"));
}

TEST(RunMetricsTest, APhaseDoneForEachWorkerIsThatWorkers) {
  const auto database = RunDatabase::Create(":memory:").value();
  Account account;
  const auto add = [&](Phase phase, uint32_t round, int32_t about, int64_t end_ns) {
    account.spans.push_back(
        {.phase = phase, .round = round, .about_worker = about, .end_ns = end_ns});
  };
  add(Phase::kReceive, 1, 4, 2'000'000'000);
  add(Phase::kReceive, 1, 4, 500'000'000);  // a second stream
  add(Phase::kMerge, 1, kNoWorker, 250'000'000);
  add(Phase::kMerge, 2, kNoWorker, 125'000'000);
  add(Phase::kMerge, 2, kNoWorker, -1);  // impossible: in nothing
  ASSERT_TRUE(database->AddRound({.round = 1}, {}, {}).ok());
  ASSERT_TRUE(database->AddRound({.round = 2}, {}, account).ok());
  const std::string text = FormatRunMetrics(*database);
  EXPECT_THAT(text,
              HasSubstr("interlude_phase_seconds_total{worker=\"4\",phase=\"receive\"} 2.5\n"));
  EXPECT_THAT(text, HasSubstr("interlude_phase_seconds_total{worker=\"coordinator\","
                              "phase=\"merge\"} 0.375\n"));
  EXPECT_THAT(text, HasSubstr("interlude_last_round_phase_seconds{worker=\"coordinator\","
                              "phase=\"merge\"} 0.125\n"));
  EXPECT_THAT(text, Not(HasSubstr("interlude_last_round_phase_seconds{worker=\"4\"")));
}

TEST(RunMetricsTest, MemoryIsTheNewestKnownFigureOfEachProcess) {
  const auto database = RunDatabase::Create(":memory:").value();
  Account account;
  account.samples = {{.recorded_by = kNoWorker, .at_ns = 1000, .rss_bytes = 102400},
                     {.recorded_by = 0, .at_ns = 1000, .rss_bytes = 7168},
                     {.recorded_by = kNoWorker, .at_ns = 2000, .rss_bytes = 204800},
                     {.recorded_by = kNoWorker, .at_ns = 3000}};
  ASSERT_TRUE(database->AddAccount(account).ok());
  const std::string text = FormatRunMetrics(*database);
  EXPECT_THAT(text, HasSubstr("interlude_resident_memory_bytes{worker=\"coordinator\"} 204800\n"));
  EXPECT_THAT(text, HasSubstr("interlude_resident_memory_bytes{worker=\"0\"} 7168\n"));
}

TEST(RunMetricsTest, TheCriticalPathIsThereWhereItIsKnown) {
  const auto database = RunDatabase::Create(":memory:").value();
  EXPECT_THAT(FormatRunMetrics(*database), Not(HasSubstr("critical_path")));
  EXPECT_THAT(FormatRunMetrics(*database, {{"train", 1.5}}),
              HasSubstr("interlude_last_round_critical_path_seconds{what=\"train\"} 1.5\n"));
}

/// One round of three workers, and what comes beside rounds.
void AddRound(RunDatabase& database, uint32_t round) {
  std::vector<WorkerRoundRecord> parts;
  Account account, late;
  const int64_t begin_ns = int64_t{round} * 1'000'000'000;
  for (int32_t worker = 0; worker < 3; ++worker) {
    parts.push_back({.round = round, .worker = worker, .samples = 10 * round, .upload_bytes = 7});
    const auto span_of = [&](Phase phase, int64_t length_ns) {
      return Span{.phase = phase,
                  .round = round,
                  .recorded_by = worker,
                  .begin_ns = begin_ns,
                  .end_ns = begin_ns + length_ns};
    };
    account.spans.push_back(span_of(Phase::kTrain, 500'000'000 + worker));
    late.spans.push_back(span_of(Phase::kVerify, 1'000'000 * round));
    account.samples.push_back({.recorded_by = worker, .rss_bytes = 100 * round});
  }
  ASSERT_TRUE(
      database
          .AddRound({.round = round, .begin_ns = begin_ns, .end_ns = begin_ns + 900'000'000}, parts,
                    account)
          .ok());
  ASSERT_TRUE(database.AddAccount(late).ok());
  ASSERT_TRUE(database.AddEvent({.at_ns = begin_ns + 5, .kind = "late"}).ok());
}

TEST(RunMetricsTest, FollowingARunGivesWhatReadingItAtOnceGives) {
  const auto database = RunDatabase::Create(":memory:").value();
  RunMetrics metrics;
  for (uint32_t round = 1; round <= 20; ++round) {
    AddRound(*database, round);
    if (round % 3 != 0) continue;  // not after each
    ASSERT_TRUE(metrics.Read(*database).ok());
    EXPECT_EQ(metrics.Format(), FormatRunMetrics(*database));
    EXPECT_EQ(metrics.newest_round()->round, round);
    EXPECT_EQ(metrics.newest_events().size(), 1u);
  }
}

TEST(RunMetricsTest, OfTheSamplesThoseOfTheNewestRoundAreKept) {
  const auto database = RunDatabase::Create(":memory:").value();
  for (uint32_t round = 1; round <= 2; ++round) {
    const int64_t begin_ns = 1'000'000 * round;
    const Account account = {
        .spans = {{.phase = Phase::kTrain,
                   .round = round,
                   .recorded_by = 4,
                   .begin_ns = begin_ns,
                   .end_ns = begin_ns + 900'000}},
        .samples = {{.recorded_by = 4, .at_ns = begin_ns - 500'000, .interval_ns = 400'000},
                    {.recorded_by = 4, .at_ns = begin_ns + 100'000, .interval_ns = 600'000}}};
    ASSERT_TRUE(database->AddRound({.round = round, .end_ns = 5}, {}, account).ok());
  }
  RunMetrics metrics;
  ASSERT_TRUE(metrics.Read(*database).ok());
  ASSERT_EQ(metrics.newest_samples().size(), 1u);
  EXPECT_EQ(metrics.newest_samples()[0].at_ns, 2'100'000);
  ASSERT_TRUE(metrics.Read(*database).ok());
  EXPECT_EQ(metrics.newest_samples().size(), 1u) << "nothing is new";
}

TEST(RunMetricsTest, ALookReadsWhatIsNewHoweverLongTheRunIs) {
  const auto database = RunDatabase::Create(":memory:").value();
  RunMetrics metrics;
  constexpr size_t kRecordsOfARound = 1 + 3 + 6 + 3 + 1;
  for (uint32_t round = 1; round <= 20; ++round) {
    AddRound(*database, round);
    ASSERT_TRUE(metrics.Read(*database).ok());
    EXPECT_EQ(metrics.records_read(), kRecordsOfARound * round);
    ASSERT_TRUE(metrics.Read(*database).ok());
    EXPECT_EQ(metrics.records_read(), kRecordsOfARound * round);
  }
}

}  // namespace
}  // namespace interlude
