#include "analysis/analyze_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>

#include "ledger/sample_run.h"

namespace interlude {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr int64_t kSecond = 1'000'000'000;

std::unique_ptr<RunDatabase> InMemory() { return *RunDatabase::Create(":memory:"); }

RunSummary Analyze(const RunDatabase& database) {
  auto run = AnalyzeRun(database);
  EXPECT_TRUE(run.ok()) << run.status().ToString();
  return std::move(run).value();
}

/// A span of `worker` that lasts `seconds`, on a clock whose zero is the worker's own.
Span WorkerSpan(Phase phase, uint32_t round, int32_t worker, double seconds) {
  const int64_t begin = worker * 1000 * kSecond;
  const auto length = static_cast<int64_t>(seconds * kSecond);
  return {phase, round, worker, kNoWorker, begin, begin + length, length, length, 0};
}

/// `worker` trains, and then its exchange takes `exchange` seconds.
void AddTrainAndVerify(uint32_t round, int32_t worker, double train, double exchange,
                       std::vector<Span>& spans) {
  spans.push_back(WorkerSpan(Phase::kTrain, round, worker, train));
  Span verify = WorkerSpan(Phase::kVerify, round, worker, exchange);
  const int64_t trained = spans.back().end_ns;
  verify.end_ns += trained - verify.begin_ns;
  verify.begin_ns = trained;
  spans.push_back(verify);
}

RoundRecord Round(uint32_t round, double begin, double end) {
  return {.round = round,
          .begin_ns = static_cast<int64_t>(begin * kSecond),
          .end_ns = static_cast<int64_t>(end * kSecond),
          .root_hash = "good",
          .workers = 2,
          .samples = 100,
          .mean_loss = 1.0};
}

const PhaseSummary* Find(const std::vector<PhaseSummary>& phases, Phase phase) {
  for (const PhaseSummary& summary : phases) {
    if (summary.phase == phase) return &summary;
  }
  return nullptr;
}

TEST(Spread, TakesTheMiddleOrTheMeanOfTheMiddleTwo) {
  EXPECT_EQ(SpreadOf({3, 1, 2}), (Spread{1, 2, 3, 3}));
  EXPECT_EQ(SpreadOf({4, 1, 2, 10}), (Spread{1, 3, 10, 4}));
  EXPECT_EQ(SpreadOf({}), Spread{});
  EXPECT_EQ(SpreadOf({std::numeric_limits<double>::quiet_NaN(), 5}), (Spread{5, 5, 5, 1}));
}

TEST(SummarizePhases, SpreadsOverProcessesAndAddsSpansOfOneProcess) {
  std::vector<Span> spans = {
      WorkerSpan(Phase::kEncode, 1, 0, 1.0), WorkerSpan(Phase::kEncode, 1, 0, 0.5),
      WorkerSpan(Phase::kEncode, 1, 1, 4.0), WorkerSpan(Phase::kEncode, 1, 2, 2.0)};
  spans[0].busy_ns = kSecond / 4;
  spans[1].busy_ns = kSecond / 4;
  spans[2].run_delay_ns = 3 * kSecond;
  spans[3].bytes = 50;
  spans[2].bytes = 70;
  spans[2].ok = false;
  const auto phases = SummarizePhases(spans);
  ASSERT_EQ(phases.size(), 1u);
  EXPECT_EQ(phases[0].inside_seconds, (Spread{1.5, 2, 4, 3}));
  EXPECT_EQ(phases[0].busy_seconds, (Spread{0.5, 2, 4, 3}));
  EXPECT_EQ(phases[0].run_delay_seconds, (Spread{0, 0, 3, 3}));
  EXPECT_EQ(phases[0].bytes, 120);
  EXPECT_EQ(phases[0].failed, 1);
}

TEST(SummarizePhases, TheCoordinatorsPhasesSpreadOverTheWorkersTheyAreAbout) {
  Span near{Phase::kReceive, 1, kNoWorker, 0, 0, kSecond};
  Span far{Phase::kReceive, 1, kNoWorker, 1, 0, 5 * kSecond};
  EXPECT_EQ(SummarizePhases(std::vector<Span>{near, far})[0].inside_seconds, (Spread{1, 3, 5, 2}));
}

TEST(SummarizePhases, ASpanThatEndsBeforeItBeginsIsLeftOut) {
  const Span backwards{Phase::kTrain, 1, 0, kNoWorker, 10, 5};
  EXPECT_THAT(SummarizePhases(std::vector<Span>{backwards}), IsEmpty());
}

TEST(AnalyzeRun, ExchangeIsThatOfTheWorkerWhereItIsShortest) {
  auto database = InMemory();
  std::vector<Span> spans;
  AddTrainAndVerify(4, 0, 6.0, 3.5, spans);
  AddTrainAndVerify(4, 1, 7.0, 1.5, spans);
  AddTrainAndVerify(4, 2, 6.5, 2.0, spans);
  ASSERT_TRUE(database->AddRound(Round(4, 10, 20), {}, {.spans = spans}).ok());
  const RunSummary run = Analyze(*database);
  ASSERT_EQ(run.rounds.size(), 1u);
  const RoundSummary& round = run.rounds[0];
  EXPECT_DOUBLE_EQ(round.wall_seconds, 10);
  EXPECT_DOUBLE_EQ(*round.slowest_train_seconds, 7);
  EXPECT_EQ(round.slowest_worker, 1);
  EXPECT_EQ(round.exchange_of_workers, (Spread{1.5, 2, 3.5, 3}));
  EXPECT_EQ(round.exchange_seconds(), 1.5);
  EXPECT_DOUBLE_EQ(round.train_share.min, 0.6);
  EXPECT_DOUBLE_EQ(round.train_share.max, 0.7);
}

TEST(AnalyzeRun, TrainingThatBeganBeforeTheRoundDidLeavesTheExchangeAsItIs) {
  auto database = InMemory();
  std::vector<Span> spans;
  AddTrainAndVerify(1, 0, 2.1, 0.25, spans);
  ASSERT_TRUE(database->AddRound(Round(1, 0, 2), {}, {.spans = spans}).ok());
  const RunSummary run = Analyze(*database);
  EXPECT_EQ(run.rounds[0].exchange_seconds(), 0.25);
  EXPECT_EQ(run.rounds[0].train_share.max, 1);
}

TEST(AnalyzeRun, RoundsWithoutAnExchangeFigureAreInNeitherSumNorMedian) {
  auto database = InMemory();
  for (uint32_t i = 1; i <= 3; ++i) {
    std::vector<Span> spans = {WorkerSpan(Phase::kTrain, i, 1, 0.5)};
    if (i != 2) AddTrainAndVerify(i, 0, 0.5, 0.25, spans);
    ASSERT_TRUE(database->AddRound(Round(i, i, i + 1), {}, {.spans = spans}).ok());
  }
  const RunSummary run = Analyze(*database);
  EXPECT_EQ(run.rounds[1].exchange_seconds(), std::nullopt);
  EXPECT_EQ(run.exchange_seconds, 0.5);
  EXPECT_EQ(run.typical.exchange_of_workers, (Spread{0.25, 0.25, 0.25, 1}));
}

TEST(AnalyzeRun, ARoundWithoutTrainingSpansHasNoExchangeTime) {
  auto database = InMemory();
  ASSERT_TRUE(database->AddRound(Round(1, 0, 2), {}, {}).ok());
  const RunSummary run = Analyze(*database);
  EXPECT_EQ(run.rounds[0].exchange_seconds(), std::nullopt);
  EXPECT_EQ(run.typical.exchange_seconds(), std::nullopt);
  EXPECT_EQ(run.exchange_seconds, std::nullopt);
  EXPECT_EQ(run.rounds[0].slowest_train_seconds, std::nullopt);
  EXPECT_EQ(run.rounds[0].train_share.count, 0u);
}

TEST(AnalyzeRun, TellsWorkersWithAnotherHashFromThoseThatNeverSaidOne) {
  auto database = InMemory();
  ASSERT_TRUE(database
                  ->AddRound(Round(1, 0, 1),
                             {{.round = 1, .worker = 0, .root_hash = "good"},
                              {.round = 1, .worker = 1, .root_hash = "bad", .repaired_chunks = 2},
                              {.round = 1, .worker = 2, .repaired_chunks = 1}},
                             {})
                  .ok());
  const RunSummary run = Analyze(*database);
  EXPECT_THAT(run.rounds[0].disagreeing_workers, ElementsAre(1));
  EXPECT_THAT(run.rounds[0].unverified_workers, ElementsAre(2));
  EXPECT_FALSE(run.hashes_agree);
  EXPECT_EQ(run.repaired_chunks, 3u);
}

TEST(AnalyzeRun, StagesAddUpToTheWallTime) {
  auto database = InMemory();
  RoundRecord round = Round(1, 1, 9);
  round.first_delta_ns = 3 * kSecond;
  round.last_delta_ns = 6 * kSecond;
  round.first_sync_ns = 5 * kSecond;
  round.committed_ns = 8 * kSecond;
  ASSERT_TRUE(database->AddRound(round, {}, {}).ok());
  const RunSummary run = Analyze(*database);
  ASSERT_TRUE(run.rounds[0].stages.has_value());
  const RoundStages& stages = *run.rounds[0].stages;
  EXPECT_DOUBLE_EQ(stages.until_first_delta_seconds, 2);
  EXPECT_DOUBLE_EQ(stages.deltas_arriving_seconds, 3);
  EXPECT_DOUBLE_EQ(stages.until_committed_seconds, 2);
  EXPECT_DOUBLE_EQ(stages.until_verified_seconds, 1);
  EXPECT_DOUBLE_EQ(*run.rounds[0].first_sync_after_last_delta_seconds, -1);
}

TEST(AnalyzeRun, StagesAreAbsentWhenTheEventsAreOutOfOrder) {
  auto database = InMemory();
  RoundRecord round = Round(1, 1, 9);  // no delta was stamped: 0 lies before the round
  ASSERT_TRUE(database->AddRound(round, {}, {}).ok());
  EXPECT_EQ(Analyze(*database).rounds[0].stages, std::nullopt);
}

TEST(AnalyzeRun, MediansLeaveOutTheFirstRoundWhenThereAreMore) {
  auto database = InMemory();
  const double ends[] = {100, 101, 103, 106};  // rounds of 100, 1, 2 and 3 s
  double begin = 0;
  for (uint32_t i = 1; i <= 4; ++i) {
    const double wall = ends[i - 1] - begin;
    ASSERT_TRUE(
        database
            ->AddRound(Round(i, begin, ends[i - 1]),
                       {{.round = i, .worker = 0, .root_hash = "good", .upload_bytes = 10 * i}},
                       {.spans = {WorkerSpan(Phase::kTrain, i, 0, wall / 2),
                                  WorkerSpan(Phase::kTrain, i, 1, wall / 4)}})
            .ok());
    begin = ends[i - 1];
  }
  ASSERT_TRUE(database->AddWorker({.worker = 0}).ok());
  const RunSummary run = Analyze(*database);
  EXPECT_EQ(run.typical.rounds, 3u);
  EXPECT_DOUBLE_EQ(run.typical.wall_seconds, 2);
  EXPECT_DOUBLE_EQ(run.typical.slowest_train_seconds, 1);
  EXPECT_DOUBLE_EQ(run.typical.slowest_train_share, 0.5);
  EXPECT_DOUBLE_EQ(run.typical.upload_bytes, 30);
  const PhaseSummary* train = Find(run.typical.phases, Phase::kTrain);
  ASSERT_NE(train, nullptr);
  EXPECT_EQ(train->inside_seconds, (Spread{0.5, 0.75, 1, 2}));
  EXPECT_DOUBLE_EQ(run.wall_seconds, 106);
  EXPECT_DOUBLE_EQ(run.gap_seconds, 0);
  EXPECT_EQ(run.upload_bytes, 100u);
  EXPECT_DOUBLE_EQ(run.samples_per_second, 400.0 / 106);
  ASSERT_EQ(run.workers.size(), 1u);
  EXPECT_DOUBLE_EQ(run.workers[0].train_seconds, 1);
  EXPECT_EQ(run.workers[0].rounds, 4u);
}

TEST(AnalyzeRun, APhaseOfTheFirstRoundOnlyIsStillShown) {
  auto database = InMemory();
  ASSERT_TRUE(
      database->AddRound(Round(1, 0, 5), {}, {.spans = {WorkerSpan(Phase::kShareBase, 1, 0, 3)}})
          .ok());
  ASSERT_TRUE(database->AddRound(Round(2, 5, 6), {}, {}).ok());
  const RunSummary run = Analyze(*database);
  const PhaseSummary* share = Find(run.typical.phases, Phase::kShareBase);
  ASSERT_NE(share, nullptr);
  EXPECT_DOUBLE_EQ(share->inside_seconds.max, 3);
}

TEST(AnalyzeRun, WhatCameBeforeTheFirstRoundStandsApart) {
  auto database = InMemory();
  ASSERT_TRUE(database
                  ->AddAccount({.spans = {WorkerSpan(Phase::kPrepare, kBeforeRounds, 0, 3),
                                          WorkerSpan(Phase::kPrepare, kBeforeRounds, 1, 5),
                                          WorkerSpan(Phase::kShareBase, kBeforeRounds, 0, 1)}})
                  .ok());
  ASSERT_TRUE(database->AddRound(Round(1, 5, 6), {}, {}).ok());
  const RunSummary run = Analyze(*database);
  ASSERT_EQ(run.before_rounds.size(), 2u);
  EXPECT_EQ(run.before_rounds[0].phase, Phase::kPrepare);
  EXPECT_EQ(run.before_rounds[0].inside_seconds, (Spread{3, 4, 5, 2}));
  EXPECT_EQ(run.before_rounds[1].phase, Phase::kShareBase);
  EXPECT_THAT(run.rounds[0].phases, IsEmpty());
}

TEST(AnalyzeRun, TimeBetweenRoundsIsAGap) {
  auto database = InMemory();
  ASSERT_TRUE(database->AddRound(Round(1, 0, 5), {}, {}).ok());
  ASSERT_TRUE(database->AddRound(Round(2, 7, 8), {}, {}).ok());
  EXPECT_DOUBLE_EQ(Analyze(*database).gap_seconds, 2);
}

TEST(AnalyzeRun, AnEvaluationBelongsToTheRoundItCameAfter) {
  auto database = InMemory();
  ASSERT_TRUE(database->AddRound(Round(7, 0, 1), {}, {}).ok());
  ASSERT_TRUE(database->AddRound(Round(8, 1, 2), {}, {}).ok());
  ASSERT_TRUE(database->AddEvaluation({0, 10, 1, 2.3}).ok());
  ASSERT_TRUE(database->AddEvaluation({7, 10, 5, 1.3}).ok());
  ASSERT_TRUE(database->AddEvaluation({8, 0, 0, 1.3}).ok());  // of no samples: says nothing
  const RunSummary run = Analyze(*database);
  EXPECT_EQ(run.rounds[0].accuracy, 0.5);
  EXPECT_EQ(run.rounds[1].accuracy, std::nullopt);
  EXPECT_EQ(run.final_accuracy, 0.5);
}

TEST(AnalyzeRun, CommittedRoundsThatLackARecordAreNamed) {
  auto database = InMemory();
  for (const uint32_t round : {4u, 6u, 9u}) {
    ASSERT_TRUE(database->AddRound(Round(round, round, round + 1), {}, {}).ok());
  }
  EXPECT_THAT(Analyze(*database).unrecorded_rounds, ElementsAre(5, 7, 8));
}

TEST(AnalyzeRun, ARunWithoutAFinishedRoundIsEmptyAndNoError) {
  auto database = InMemory();
  ASSERT_TRUE(database->AddAccount({.spans = {WorkerSpan(Phase::kPrepare, 0, 0, 1)}}).ok());
  const RunSummary run = Analyze(*database);
  EXPECT_THAT(run.rounds, IsEmpty());
  EXPECT_EQ(run.typical.rounds, 0u);
  EXPECT_EQ(run.final_loss, std::nullopt);
}

TEST(AnalyzeRun, ExtremeTimesAreNoTrouble) {
  constexpr int64_t kLeast = std::numeric_limits<int64_t>::min();
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  auto database = InMemory();
  const Span wide{Phase::kTrain, 1, 0, kNoWorker, kLeast, kMost, kMost, kLeast, kMost};
  const Span backwards{Phase::kTrain, 1, 0, kNoWorker, kMost, kLeast};
  ASSERT_TRUE(database
                  ->AddRound({.round = 1, .begin_ns = kMost, .end_ns = kLeast}, {},
                             {.spans = {wide, backwards}})
                  .ok());
  const RunSummary run = Analyze(*database);
  EXPECT_EQ(run.rounds[0].wall_seconds, 0);
  EXPECT_EQ(run.impossible_spans, 1u);
}

TEST(AnalyzeRun, SpansOfUnfinishedRoundsAreInNoRound) {
  auto database = InMemory();
  ASSERT_TRUE(database->AddRound(Round(1, 0, 1), {}, {}).ok());
  ASSERT_TRUE(database->AddAccount({.spans = {WorkerSpan(Phase::kTrain, 2, 0, 5)}}).ok());
  const RunSummary run = Analyze(*database);
  EXPECT_EQ(run.slowest_train_seconds, 0);
  EXPECT_THAT(run.typical.phases, IsEmpty());
}

TEST(AnalyzeRun, TheSampleRunsWorkerThatWaitedForItsCpuStandsOut) {
  auto database = InMemory();
  ASSERT_TRUE(WriteSampleRun(*database).ok());
  const RunSummary run = Analyze(*database);
  ASSERT_EQ(run.rounds.size(), kSampleRounds);
  for (const RoundSummary& round : run.rounds) {
    EXPECT_EQ(round.slowest_worker, 2);
    EXPECT_NEAR(*round.exchange_seconds(), 0.050, 1e-5);  // on a clock that drifts
    EXPECT_NEAR(round.exchange_of_workers.max, 0.531, 1e-4);
    ASSERT_TRUE(round.stages.has_value());
  }
  ASSERT_EQ(run.workers.size(), 3u);
  EXPECT_GT(run.workers[2].run_delay_seconds, 100 * run.workers[1].run_delay_seconds);
  EXPECT_TRUE(run.hashes_agree);
  EXPECT_EQ(run.repaired_chunks, 1u);
  EXPECT_EQ(run.workers_left, 1u);
  EXPECT_DOUBLE_EQ(*run.final_accuracy, 0.8123);
  EXPECT_DOUBLE_EQ(*run.rounds[2].accuracy, 0.7412);
}

TEST(AnalyzeRun, OfADamagedFileSaysTheSameWhileItIsCheckedBeside) {
  const auto directory =
      std::filesystem::path(::testing::TempDir()) / fmt::format("analyze_{}", ::getpid());
  std::filesystem::create_directories(directory);
  const auto path = directory / "run.db";
  ASSERT_TRUE(WriteSampleRun(**RunDatabase::Create(path)).ok());
  std::ifstream file(path, std::ios::binary);
  const std::string whole(std::istreambuf_iterator<char>(file), {});
  size_t refused = 0;
  for (size_t at = 100; at < whole.size(); at += 2039) {
    std::string bytes = whole;
    bytes[at] = static_cast<char>(~bytes[at]);
    std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
    const Status alone = AnalyzeRunDirectory(directory, 1).status();
    const Status beside = AnalyzeRunDirectory(directory, 2).status();
    EXPECT_EQ(alone.ToString(), beside.ToString()) << "byte " << at;
    refused += alone.ok() ? 0 : 1;
  }
  EXPECT_GT(refused, 3u);
  std::filesystem::remove_all(directory);
}

}  // namespace
}  // namespace interlude
