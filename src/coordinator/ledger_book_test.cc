#include "coordinator/ledger_book.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <optional>

namespace interlude {
namespace {

constexpr int64_t kMs = 1'000'000;

Span SpanOf(Phase phase, int64_t begin_ms, int64_t end_ms) {
  return {phase, 1, kNoWorker, kNoWorker, begin_ms * kMs, end_ms * kMs};
}

class LedgerBookTest : public ::testing::Test {
 protected:
  void Report(WorkerId worker, std::vector<Span> spans) {
    RoundReportMessage report;
    report.round = 1;
    report.samples = 10;
    report.account.spans = std::move(spans);
    book_.Report(worker, report);
  }
  RunObserver::RoundLine EndRound() {
    return book_.EndRound(RoundExchange(1, 1, false, {0, 1}, Nanoseconds{0}), Hash128{}, 3);
  }

  ManualClock clock_;
  Recorder recorder_;
  LedgerBook book_{*RunDatabase::Create(":memory:"), recorder_, clock_};
};

TEST_F(LedgerBookTest, ARoundsLineHasTheLongestTrainingAndTheShortestExchange) {
  Report(0, {SpanOf(Phase::kTrain, 0, 80), SpanOf(Phase::kEncode, 80, 85),
             SpanOf(Phase::kVerify, 90, 105)});
  Report(1, {SpanOf(Phase::kTrain, 5000, 5100), SpanOf(Phase::kEncode, 5100, 5102),
             SpanOf(Phase::kVerify, 5102, 5103)});
  const RunObserver::RoundLine line = EndRound();
  EXPECT_DOUBLE_EQ(line.train_seconds, 0.1);
  EXPECT_EQ(line.exchange_seconds, 0.003);
  EXPECT_FALSE(book_.failed());
}

TEST_F(LedgerBookTest, WithoutExchangeSpansTheLineHasNoExchangeRatherThanNought) {
  Report(0, {SpanOf(Phase::kTrain, 0, 80)});
  EXPECT_EQ(EndRound().exchange_seconds, std::nullopt);
}

/// A book whose database can be looked at once it is closed.
class WrittenBook : public ::testing::Test {
 protected:
  WrittenBook()
      : path_(testing::TempDir() + "book-" +
              testing::UnitTest::GetInstance()->current_test_info()->name() + ".db") {
    for (const char* suffix : {"", "-wal", "-shm"}) std::remove((path_ + suffix).c_str());
    book_.emplace(*RunDatabase::Create(path_), recorder_, clock_);
  }
  std::unique_ptr<RunDatabase> Closed() {
    book_->Close();
    book_.reset();
    return *RunDatabase::OpenReadOnly(path_);
  }

  const std::string path_;
  ManualClock clock_;
  Recorder recorder_;
  std::optional<LedgerBook> book_;
};

TEST_F(WrittenBook, AReportOfARoundThatHasEndedLeavesItsAccountAndNoPart) {
  book_->RoundStarted(1);
  book_->EndRound(RoundExchange(1, 1, false, {0}, Nanoseconds{0}), Hash128{}, 3);
  for (int i = 0; i < 2; ++i) {
    RoundReportMessage late{.round = 1, .root = {}, .samples = 5};
    late.account.spans = {SpanOf(Phase::kTrain, 0, 80)};
    book_->Report(0, late);
  }
  const auto database = Closed();
  EXPECT_TRUE(database->WorkerRounds()->empty());
  EXPECT_EQ(std::ranges::count(*database->Spans(), Phase::kTrain, &Span::phase), 2);
}

TEST_F(WrittenBook, AfterARestartSpansOfEarlierRoundsAreKept) {
  book_->Restored(5);
  Span span = SpanOf(Phase::kTrain, 0, 80);
  span.round = 5;
  Span not_begun = span;
  not_begun.round = 7;
  book_->WorkerAccount(0, {.spans = {span, not_begun}});
  const auto database = Closed();
  ASSERT_EQ(database->Spans()->size(), 1u);
  EXPECT_EQ(database->Spans()->at(0).round, 5u);
}

TEST_F(WrittenBook, OfAWorkerThatSendsWithoutEndTheRestIsDroppedUntilTheRoundEnds) {
  const ChunkStamps most{
      .phase = Phase::kEncode, .round = 1, .stamps = std::vector<ChunkStamp>(kMaxStamps)};
  book_->RoundStarted(1);
  for (int i = 0; i < 8; ++i) book_->WorkerAccount(0, {.stamps = {most}});
  book_->WorkerAccount(1, {.spans = {SpanOf(Phase::kTrain, 0, 80)}});
  book_->EndRound(RoundExchange(1, 1, false, {0, 1}, Nanoseconds{0}), Hash128{}, 3);
  book_->WorkerAccount(0, {.spans = {SpanOf(Phase::kTrain, 0, 80)}});
  const auto database = Closed();
  EXPECT_EQ(database->Stamps()->size(), 5u);
  EXPECT_EQ(std::ranges::count(*database->Spans(), Phase::kTrain, &Span::phase), 2);
}

// In processes of their own: the variable is read once.
TEST(LedgerBookDeathTest, ARunThatKeepsNoAccountSaysSoInItsMeta) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto account_of = [](const char* without) {
    ::setenv("INTERLUDE_WITHOUT_ACCOUNT", without, 1);
    const std::string path = testing::TempDir() + "book-without-" + without + ".db";
    for (const char* suffix : {"", "-wal", "-shm"}) std::remove((path + suffix).c_str());
    ManualClock clock;
    Recorder recorder;
    LedgerBook(*RunDatabase::Create(path), recorder, clock).Close();
    const auto account = *(*RunDatabase::OpenReadOnly(path))->GetMeta(kMetaAccount);
    std::fprintf(stderr, "account: %s", account.value_or("kept").c_str());
    std::exit(0);
  };
  EXPECT_EXIT(account_of("1"), ::testing::ExitedWithCode(0), "account: none");
  EXPECT_EXIT(account_of("0"), ::testing::ExitedWithCode(0), "account: kept");
}

}  // namespace
}  // namespace interlude
