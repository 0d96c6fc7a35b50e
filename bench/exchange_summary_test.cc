#include "bench/exchange_summary.h"

#include <gtest/gtest.h>

#include "ledger/sample_run.h"

namespace interlude {
namespace {

constexpr int64_t kMs = 1'000'000;

Span Of(uint32_t round, int32_t by, Phase phase, int64_t begin_ms, int64_t end_ms,
        int64_t busy_ms) {
  return {.phase = phase,
          .round = round,
          .recorded_by = by,
          .about_worker = phase == Phase::kSend ? 0 : kNoWorker,
          .begin_ns = begin_ms * kMs,
          .end_ns = end_ms * kMs,
          .busy_ns = busy_ms * kMs,
          .cpu_ns = busy_ms * kMs};
}

/// Worker 0 trains until 100, worker 1 until 110; all is done `length` ms after the first.
std::vector<Span> SpansOf(uint32_t round, int64_t length) {
  std::vector<Span> spans;
  for (const int32_t worker : {0, 1}) {
    spans.push_back(Of(round, worker, Phase::kTrain, 0, 100 + 10 * worker, 100));
    spans.push_back(Of(round, worker, Phase::kEncode, 110, 130, 15 + worker));
    spans.push_back(Of(round, worker, Phase::kApply, 140, 90 + length, 20));
    spans.push_back(Of(round, worker, Phase::kVerify, 140, 100 + length, 5));
  }
  spans.push_back(Of(round, kNoWorker, Phase::kMerge, 120, 150, 17));
  spans.push_back(Of(round, kNoWorker, Phase::kSend, 124, 160, 9));
  return spans;
}

class ExchangeSummaryTest : public testing::Test {
 protected:
  ExchangeSummaryTest() : database_(*RunDatabase::Create(":memory:")) {
    for (const int32_t worker : {0, 1}) {
      EXPECT_TRUE(database_->AddWorker({.worker = worker}).ok());
    }
  }
  void AddRound(uint32_t round, int64_t length, const std::string& hash_of_1 = "aa") {
    const RoundRecord record{.round = round,
                             .begin_ns = round * 1000 * kMs,
                             .end_ns = (round + 1) * 1000 * kMs,
                             .root_hash = "aa",
                             .workers = 2};
    const WorkerRoundRecord zero{
        .round = round, .worker = 0, .root_hash = "aa", .upload_bytes = 10, .download_bytes = 20};
    WorkerRoundRecord one = zero;
    one.worker = 1;
    one.root_hash = hash_of_1;
    one.repaired_chunks = 3;
    const Status added =
        database_->AddRound(record, {zero, one}, {.spans = SpansOf(round, length)});
    EXPECT_TRUE(added.ok()) << added.ToString();
  }
  ExchangeSummary Summarize() {
    auto summary = SummarizeExchange(*database_);
    EXPECT_TRUE(summary.ok()) << summary.status().ToString();
    return summary.ok() ? *std::move(summary) : ExchangeSummary{};
  }

  std::unique_ptr<RunDatabase> database_;
};

TEST_F(ExchangeSummaryTest, TakesEachWorkersExchangeAndKeepsTheWarmUpApart) {
  AddRound(1, 900);
  AddRound(2, 100);
  AddRound(3, 140);
  const ExchangeSummary summary = Summarize();
  ASSERT_EQ(summary.rounds.size(), 3u);
  EXPECT_TRUE(summary.hashes_agree);
  EXPECT_EQ(summary.final_root, "aa");
  EXPECT_DOUBLE_EQ(summary.rounds[0].wall_seconds, 1.0);
  EXPECT_DOUBLE_EQ(*summary.rounds[1].longest_exchange(), 0.100);
  EXPECT_DOUBLE_EQ(*summary.rounds[1].shortest_exchange(), 0.090);
  EXPECT_EQ(summary.rounds[1].upload_bytes.at(1), 10u);
  EXPECT_EQ(summary.rounds[1].download_bytes.at(0), 20u);
  EXPECT_EQ(summary.rounds[1].repaired_chunks, 3u);
  EXPECT_EQ(summary.warm().size(), 2u);
  EXPECT_DOUBLE_EQ(
      *summary.Typical([](const ExchangeRound& round) { return round.longest_exchange(); }), 0.120);
}

TEST_F(ExchangeSummaryTest, MeasuresFromTheFirstMergeToTheFirstSend) {
  AddRound(1, 100);
  EXPECT_DOUBLE_EQ(*Summarize().rounds[0].merge_to_sync_seconds, 0.004);
}

TEST_F(ExchangeSummaryTest, AStageIsItsLongestProcess) {
  AddRound(1, 100);
  const ExchangeSummary summary = Summarize();
  const auto encode = StageOf(summary.rounds[0], "encode");
  ASSERT_TRUE(encode.has_value());
  EXPECT_DOUBLE_EQ(encode->inside_seconds, 0.020);
  EXPECT_DOUBLE_EQ(encode->busy_seconds, 0.016);
  EXPECT_DOUBLE_EQ(encode->cpu_seconds, 0.031) << "of both";
  EXPECT_DOUBLE_EQ(StageOf(summary.rounds[0], "merge")->busy_seconds, 0.017);
  EXPECT_DOUBLE_EQ(StageOf(summary.rounds[0], "apply")->busy_seconds, 0.025) << "its phases' sum";
  EXPECT_FALSE(StageOf(summary.rounds[0], "save").has_value());
  EXPECT_FALSE(StageOf(summary.rounds[0], "no such stage").has_value());
}

TEST_F(ExchangeSummaryTest, AWorkerWithOtherParametersIsSeen) {
  AddRound(1, 100);
  AddRound(2, 100, "bb");
  EXPECT_FALSE(Summarize().hashes_agree);
}

TEST_F(ExchangeSummaryTest, ARunWithoutARoundHasNone) {
  EXPECT_EQ(SummarizeExchange(*database_).status().code(), StatusCode::kFailedPrecondition);
}

TEST(ExchangeSummary, EveryStageThatIsCountedOccursInARealLedger) {
  const auto database = *RunDatabase::Create(":memory:");
  ASSERT_TRUE(WriteSampleRun(*database).ok());
  const auto summary = SummarizeExchange(*database);
  ASSERT_TRUE(summary.ok()) << summary.status().ToString();
  EXPECT_EQ(summary->rounds.size(), kSampleRounds);
  for (const char* stage : {"encode", "upload", "merge", "download", "apply", "wait", "send"}) {
    EXPECT_TRUE(StageOf(summary->rounds[1], stage).has_value()) << stage;
  }
  EXPECT_TRUE(summary->rounds[1].merge_to_sync_seconds.has_value());
}

}  // namespace
}  // namespace interlude
