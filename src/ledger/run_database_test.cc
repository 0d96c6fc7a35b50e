#include "ledger/run_database.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <limits>

#include "ledger/sample_run.h"

namespace interlude {
namespace {

using ::testing::HasSubstr;
namespace fs = std::filesystem;

/// A directory that is there for one test.
class RunDatabaseTest : public ::testing::Test {
 protected:
  RunDatabaseTest() {
    const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
    directory_ =
        fs::path(::testing::TempDir()) / fmt::format("ledger_{}_{}", test->name(), ::getpid());
    fs::remove_all(directory_);
    fs::create_directories(directory_);
  }
  ~RunDatabaseTest() override { fs::remove_all(directory_); }

  std::string Path() const { return directory_ / "run.db"; }

  fs::path directory_;
};

std::unique_ptr<RunDatabase> InMemory() {
  auto database = RunDatabase::Create(":memory:");
  EXPECT_TRUE(database.ok()) << database.status().ToString();
  return std::move(database).value();
}

TEST_F(RunDatabaseTest, EverythingWrittenIsReadBackTheSame) {
  WorkerRecord worker{3, "host-a", 77, 8, 1.5, 2, 2, "interlude 0.1", 1234, {}, ""};
  RoundRecord round{5, 10, 100, 80, 60, 70, 65, "abc", 2, 640, 0.25};
  WorkerRoundRecord part{5, 3, 320, 0.5, "abd", 4, 1000, 2000};
  Span span{Phase::kReceive, 5, kNoWorker, 3, 1, 9, 7, 6, 2, 1000, 12, false};
  Span other{Phase::kEvaluate, 6, 3, kNoWorker, -5, 5, 10, 9, 0, 0, 0, true};
  {
    auto created = RunDatabase::Create(Path());
    ASSERT_TRUE(created.ok()) << created.status().ToString();
    RunDatabase& database = **created;
    ASSERT_TRUE(database.SetMeta("config", "old").ok());
    ASSERT_TRUE(database.SetMeta("config", "new").ok());
    ASSERT_TRUE(database.AddWorker(worker).ok());
    ASSERT_TRUE(database.WorkerLeft(3, 99, "lost").ok());
    ASSERT_TRUE(database.AddRound(round, {part}, {.spans = {span}}).ok());
    ASSERT_TRUE(database.AddAccount({.spans = {other}}).ok());
    ASSERT_TRUE(database.AddEvaluation({6, 10, 9, 0.125}).ok());
    ASSERT_TRUE(database.AddEvent({50, 5u, 3, "worker_left", "gone"}).ok());
    ASSERT_TRUE(database.AddEvent({40, {}, kNoWorker, "note", "first"}).ok());
  }
  auto opened = RunDatabase::OpenReadOnly(Path());
  ASSERT_TRUE(opened.ok()) << opened.status().ToString();
  const RunDatabase& database = **opened;
  EXPECT_EQ(*database.GetMeta("config"), "new");
  EXPECT_EQ(*database.GetMeta("absent"), std::nullopt);
  EXPECT_EQ(*database.GetMeta("schema_version"), "4");

  const auto workers = *database.Workers();
  ASSERT_EQ(workers.size(), 1u);
  EXPECT_EQ(workers[0].worker, 3);
  EXPECT_EQ(workers[0].host, "host-a");
  EXPECT_EQ(workers[0].process_id, 77);
  EXPECT_EQ(workers[0].visible_cores, 8);
  EXPECT_EQ(workers[0].quota_cores, 1.5);
  EXPECT_EQ(workers[0].usable_cores, 2);
  EXPECT_EQ(workers[0].threads, 2);
  EXPECT_EQ(workers[0].software, "interlude 0.1");
  EXPECT_EQ(workers[0].joined_ns, 1234);
  EXPECT_EQ(workers[0].left_ns, 99);
  EXPECT_EQ(workers[0].left_reason, "lost");

  const auto rounds = *database.Rounds();
  ASSERT_EQ(rounds.size(), 1u);
  EXPECT_EQ(rounds[0].round, 5u);
  EXPECT_EQ(rounds[0].begin_ns, 10);
  EXPECT_EQ(rounds[0].end_ns, 100);
  EXPECT_EQ(rounds[0].committed_ns, 80);
  EXPECT_EQ(rounds[0].first_delta_ns, 60);
  EXPECT_EQ(rounds[0].last_delta_ns, 70);
  EXPECT_EQ(rounds[0].first_sync_ns, 65);
  EXPECT_EQ(rounds[0].root_hash, "abc");
  EXPECT_EQ(rounds[0].workers, 2u);
  EXPECT_EQ(rounds[0].samples, 640u);
  EXPECT_EQ(rounds[0].mean_loss, 0.25);

  const auto parts = *database.WorkerRounds();
  ASSERT_EQ(parts.size(), 1u);
  EXPECT_EQ(parts[0].round, 5u);
  EXPECT_EQ(parts[0].worker, 3);
  EXPECT_EQ(parts[0].samples, 320u);
  EXPECT_EQ(parts[0].mean_loss, 0.5);
  EXPECT_EQ(parts[0].root_hash, "abd");
  EXPECT_EQ(parts[0].repaired_chunks, 4u);
  EXPECT_EQ(parts[0].upload_bytes, 1000u);
  EXPECT_EQ(parts[0].download_bytes, 2000u);

  EXPECT_EQ(*database.Spans(), (std::vector<Span>{span, other}));

  const auto evaluations = *database.Evaluations();
  ASSERT_EQ(evaluations.size(), 1u);
  EXPECT_EQ(evaluations[0].after_rounds, 6u);
  EXPECT_EQ(evaluations[0].samples, 10u);
  EXPECT_EQ(evaluations[0].correct, 9u);
  EXPECT_EQ(evaluations[0].mean_loss, 0.125);

  const auto events = *database.Events();
  ASSERT_EQ(events.size(), 2u);  // in order of time
  EXPECT_EQ(events[0].text, "first");
  EXPECT_EQ(events[0].round, std::nullopt);
  EXPECT_EQ(events[0].worker, kNoWorker);
  EXPECT_EQ(events[1].at_ns, 50);
  EXPECT_EQ(events[1].round, 5u);
  EXPECT_EQ(events[1].worker, 3);
  EXPECT_EQ(events[1].kind, "worker_left");
}

TEST_F(RunDatabaseTest, KeepsHowManyPicturesOfEachClassAWorkerHas) {
  auto database = InMemory();
  EXPECT_TRUE(database->ClassCounts()->empty());
  const ClassCountsRecord first{.worker = 1, .counts = {{4, 0, 6}, {1, 2, 0}}};
  const ClassCountsRecord of_all{.worker = kNoWorker, .counts = {{7, 8}, {0, 0}}};
  ASSERT_TRUE(database->AddClassCounts(first).ok());
  ASSERT_TRUE(database->AddClassCounts(of_all).ok());
  EXPECT_EQ(*database->ClassCounts(), (std::vector<ClassCountsRecord>{of_all, first}));
  // What it says when it joins again replaces all of that.
  const ClassCountsRecord again{.worker = 1, .counts = {{5, 5}, {2, 2}}};
  ASSERT_TRUE(database->AddClassCounts(again).ok());
  EXPECT_EQ(*database->ClassCounts(), (std::vector<ClassCountsRecord>{of_all, again}));
  ASSERT_TRUE(database->AddClassCounts({.worker = 1, .counts = {}}).ok());
  EXPECT_EQ(*database->ClassCounts(), (std::vector<ClassCountsRecord>{of_all}));
  EXPECT_EQ(database->AddClassCounts({.worker = 2, .counts = {{1}, {}}}).code(),
            StatusCode::kInvalidArgument);
}

TEST_F(RunDatabaseTest, KeepsWhichClassesWereConfused) {
  auto database = InMemory();
  EvaluationRecord evaluation{.after_rounds = 2,
                              .samples = 9,
                              .correct = 6,
                              .classes = 3,
                              .top5 = 8,
                              .confusion = {{0, 0, 6}, {0, 2, 1}, {2, 1, 2}}};
  ASSERT_TRUE(database->AddEvaluation(evaluation).ok());
  ASSERT_TRUE(database->AddEvaluation({4, 10, 9, 0.5}).ok());
  auto back = *database->Evaluations();
  ASSERT_EQ(back.size(), 2u);
  EXPECT_EQ(back[0].classes, 3u);
  EXPECT_EQ(back[0].top5, 8u);
  EXPECT_EQ(back[0].confusion, evaluation.confusion);
  EXPECT_EQ(back[1].classes, 0u);
  // A second evaluation replaces all of the first.
  evaluation.confusion = {{1, 1, 6}, {1, 2, 3}};
  ASSERT_TRUE(database->AddEvaluation(evaluation).ok());
  EXPECT_EQ((*database->Evaluations())[0].confusion, evaluation.confusion);
  ASSERT_TRUE(database->AddEvaluation({2, 9, 6, 1}).ok());
  EXPECT_EQ((*database->Evaluations())[0].classes, 0u);
  EXPECT_TRUE((*database->Evaluations())[0].confusion.empty());
  evaluation.correct = 5;
  EXPECT_EQ(database->AddEvaluation(evaluation).code(), StatusCode::kInvalidArgument);
}

TEST_F(RunDatabaseTest, ExtremeValuesAreStoredAndReadBack) {
  constexpr int64_t kLeast = std::numeric_limits<int64_t>::min();
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  constexpr uint64_t kHuge = std::numeric_limits<uint64_t>::max();
  constexpr uint32_t kWide = std::numeric_limits<uint32_t>::max();
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double inf = std::numeric_limits<double>::infinity();
  const std::string odd("a\0b\xff\x1b", 5);
  auto database = InMemory();
  const Span span{Phase::kUpload,
                  kWide,
                  std::numeric_limits<int32_t>::max(),
                  std::numeric_limits<int32_t>::min(),
                  kMost,
                  kLeast,
                  kLeast,
                  kMost,
                  kMost,
                  kHuge,
                  kWide};
  ASSERT_TRUE(database
                  ->AddRound({kWide, kLeast, kMost, 0, 0, 0, 0, odd, kWide, kHuge, nan},
                             {{kWide, -7, kHuge, inf, odd, kWide, kHuge, kHuge}},
                             {.spans = {span, span}})
                  .ok());
  ASSERT_TRUE(database->AddEvent({kLeast, kWide, 0, odd, odd}).ok());

  const auto rounds = *database->Rounds();
  ASSERT_EQ(rounds.size(), 1u);
  EXPECT_EQ(rounds[0].round, kWide);
  EXPECT_EQ(rounds[0].begin_ns, kLeast);
  EXPECT_EQ(rounds[0].root_hash, odd);
  EXPECT_EQ(rounds[0].samples, static_cast<uint64_t>(kMost));  // saturated
  EXPECT_TRUE(std::isnan(rounds[0].mean_loss));
  EXPECT_EQ((*database->WorkerRounds())[0].mean_loss, inf);
  Span stored = span;
  stored.bytes = static_cast<uint64_t>(kMost);
  EXPECT_EQ(*database->Spans(), (std::vector<Span>{stored, stored}));
  EXPECT_EQ((*database->Events())[0].text, odd);
}

TEST_F(RunDatabaseTest, ARoundIsStoredWholeOrNotAtAll) {
  auto database = InMemory();
  const WorkerRoundRecord part{.round = 1, .worker = 0};
  const Span span{.phase = Phase::kTrain, .round = 1};
  const auto expect_empty = [&] {
    EXPECT_TRUE(database->Rounds()->empty());
    EXPECT_TRUE(database->WorkerRounds()->empty());
    EXPECT_TRUE(database->Spans()->empty());
  };

  const Status twice = database->AddRound({.round = 1}, {part, part}, {.spans = {span}});
  EXPECT_EQ(twice.code(), StatusCode::kAlreadyExists) << twice.ToString();
  EXPECT_THAT(twice.message(), HasSubstr("adding round 1"));
  expect_empty();

  const Span unknown{.phase = static_cast<Phase>(77), .round = 1};
  const Status no_phase = database->AddRound({.round = 1}, {part}, {.spans = {span, unknown}});
  EXPECT_EQ(no_phase.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(no_phase.message(), HasSubstr("77"));
  expect_empty();

  EXPECT_EQ(database->AddRound({.round = 2}, {part}, {}).code(), StatusCode::kInvalidArgument);
  expect_empty();

  ASSERT_TRUE(database->AddRound({.round = 1}, {part}, {.spans = {span}}).ok());
  EXPECT_EQ(database->AddRound({.round = 1}, {}, {.spans = {span}}).code(),
            StatusCode::kAlreadyExists);
  EXPECT_EQ(database->Spans()->size(), 1u);
}

TEST_F(RunDatabaseTest, SpansAreAddedAllOrNone) {
  auto database = InMemory();
  const Span good{.phase = Phase::kPrepare};
  EXPECT_EQ(database->AddAccount({.spans = {good, {.phase = static_cast<Phase>(0)}}}).code(),
            StatusCode::kInvalidArgument);
  EXPECT_TRUE(database->Spans()->empty());
}

TEST_F(RunDatabaseTest, AWorkerThatJoinsAgainReplacesItsRow) {
  auto database = InMemory();
  ASSERT_TRUE(database->AddWorker({.worker = 1, .host = "a"}).ok());
  ASSERT_TRUE(database->WorkerLeft(1, 5, "lost").ok());
  ASSERT_TRUE(database->AddWorker({.worker = 1, .host = "b"}).ok());
  const auto workers = *database->Workers();
  ASSERT_EQ(workers.size(), 1u);
  EXPECT_EQ(workers[0].host, "b");
  EXPECT_EQ(workers[0].left_ns, std::nullopt);
  EXPECT_EQ(workers[0].quota_cores, 0);
}

TEST_F(RunDatabaseTest, AWorkerThatNeverJoinedCannotLeave) {
  EXPECT_EQ(InMemory()->WorkerLeft(4, 5, "lost").code(), StatusCode::kNotFound);
}

TEST_F(RunDatabaseTest, TheSchemaVersionCannotBeSetAsMeta) {
  EXPECT_EQ(InMemory()->SetMeta("schema_version", "9").code(), StatusCode::kInvalidArgument);
}

TEST_F(RunDatabaseTest, ASecondEvaluationOfTheSameRoundReplacesTheFirst) {
  auto database = InMemory();
  ASSERT_TRUE(database->AddEvaluation({2, 10, 5, 1}).ok());
  ASSERT_TRUE(database->AddEvaluation({2, 10, 6, 1}).ok());
  ASSERT_EQ(database->Evaluations()->size(), 1u);
  EXPECT_EQ((*database->Evaluations())[0].correct, 6u);
}

TEST_F(RunDatabaseTest, ADirectoryHoldsOneRun) {
  ASSERT_TRUE(RunDatabase::Create(Path()).ok());
  const auto again = RunDatabase::Create(Path());
  EXPECT_EQ(again.status().code(), StatusCode::kAlreadyExists);
  EXPECT_THAT(again.status().message(), HasSubstr("another directory"));
  EXPECT_TRUE(RunDatabase::OpenReadOnly(Path()).ok());  // untouched
}

TEST_F(RunDatabaseTest, AMissingDirectoryIsNotFound) {
  const auto made = RunDatabase::Create(directory_ / "absent" / "run.db");
  EXPECT_EQ(made.status().code(), StatusCode::kNotFound) << made.status().ToString();
}

TEST_F(RunDatabaseTest, AMissingDatabaseIsNotFoundAndNotMade) {
  const auto opened = RunDatabase::OpenReadOnly(Path());
  EXPECT_EQ(opened.status().code(), StatusCode::kNotFound);
  EXPECT_THAT(opened.status().message(), HasSubstr("--dir"));
  EXPECT_FALSE(fs::exists(Path()));
}

TEST_F(RunDatabaseTest, AnOpenedDatabaseIsNotWritten) {
  ASSERT_TRUE(RunDatabase::Create(Path()).ok());
  auto opened = *RunDatabase::OpenReadOnly(Path());
  EXPECT_EQ(opened->SetMeta("a", "b").code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(opened->AddWorker({}).code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(opened->WorkerLeft(0, 0, "").code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(opened->AddRound({}, {}, {}).code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(opened->AddAccount({}).code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(opened->AddClock({}, {}).code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(opened->AddEvaluation({}).code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(opened->AddEvent({}).code(), StatusCode::kFailedPrecondition);
}

TEST_F(RunDatabaseTest, AReaderSeesTheRunAsItWasWhenOpenedWhileItIsStillWritten) {
  auto writer = *RunDatabase::Create(Path());
  ASSERT_TRUE(writer->AddRound({.round = 1}, {}, {}).ok());
  auto reader = *RunDatabase::OpenReadOnly(Path());
  ASSERT_TRUE(writer->AddRound({.round = 2}, {}, {}).ok());
  EXPECT_EQ(reader->Rounds()->size(), 1u);
  EXPECT_EQ((*RunDatabase::OpenReadOnly(Path()))->Rounds()->size(), 2u);
}

TEST_F(RunDatabaseTest, ARunWhoseWriterWasKilledIsReadFromItsLog) {
  auto writer = *RunDatabase::Create(Path());
  ASSERT_TRUE(WriteSampleRun(*writer).ok());
  const fs::path crashed = directory_ / "crashed";
  fs::create_directories(crashed);
  // What kill -9 leaves: the files as they are while the writer is alive.
  ASSERT_TRUE(fs::exists(Path() + "-wal"));
  fs::copy_file(Path(), crashed / "run.db");
  fs::copy_file(Path() + "-wal", crashed / "run.db-wal");
  auto opened = RunDatabase::OpenReadOnly(crashed / "run.db");
  ASSERT_TRUE(opened.ok()) << opened.status().ToString();
  EXPECT_EQ((*opened)->Rounds()->size(), kSampleRounds);
}

TEST_F(RunDatabaseTest, AFinishedRunIsOnePlainFile) {
  {
    auto writer = *RunDatabase::Create(Path());
    ASSERT_TRUE(WriteSampleRun(*writer).ok());
  }
  EXPECT_FALSE(fs::exists(Path() + "-wal"));
  { ASSERT_TRUE(RunDatabase::OpenReadOnly(Path()).ok()); }
  size_t files = 0;
  for ([[maybe_unused]] const auto& entry : fs::directory_iterator(directory_)) ++files;
  EXPECT_EQ(files, 1u);
}

}  // namespace
}  // namespace interlude
