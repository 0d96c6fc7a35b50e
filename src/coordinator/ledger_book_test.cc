#include "coordinator/ledger_book.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace interlude
