#include "ledger/span_math.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

namespace interlude {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

constexpr int64_t kMs = 1'000'000;

/// On the clock of `worker`, which is years away from the others'.
Span SpanOf(Phase phase, int32_t worker, int64_t begin_ms, int64_t end_ms) {
  const int64_t zero = worker * 1'000'000'000'000'000;
  return {phase, 1, worker, kNoWorker, zero + begin_ms * kMs, zero + end_ms * kMs};
}

TEST(ExchangeSecondsByWorker, IsFromTheEndOfTrainingToTheLastEndOfAnExchangePhase) {
  EXPECT_THAT(ExchangeSecondsByWorker(std::vector<Span>{
                  SpanOf(Phase::kEvaluate, 0, 0, 50), SpanOf(Phase::kTrain, 0, 50, 100),
                  SpanOf(Phase::kEncode, 0, 101, 110), SpanOf(Phase::kUpload, 0, 102, 112),
                  SpanOf(Phase::kWait, 0, 112, 120), SpanOf(Phase::kDownload, 0, 120, 150),
                  SpanOf(Phase::kVerify, 0, 122, 148), SpanOf(Phase::kApply, 0, 121, 145)}),
              ElementsAre(Pair(0, 0.05)));
}

TEST(ExchangeSecondsByWorker, EachExchangePhaseMayBeTheLast) {
  for (const Phase phase : kAllPhases) {
    const auto seconds = ExchangeSecondsByWorker(
        std::vector<Span>{SpanOf(Phase::kTrain, 0, 0, 100), SpanOf(Phase::kVerify, 0, 100, 101),
                          SpanOf(phase, 0, 100, 200)});
    if (phase == Phase::kTrain) {
      EXPECT_THAT(seconds, IsEmpty());
    } else {
      EXPECT_THAT(seconds, ElementsAre(Pair(0, IsExchangePhase(phase) ? 0.1 : 0.001)))
          << PhaseName(phase);
    }
  }
}

TEST(ExchangeSecondsByWorker, NeverComparesTheClocksOfTwoWorkers) {
  EXPECT_THAT(ExchangeSecondsByWorker(std::vector<Span>{
                  SpanOf(Phase::kTrain, 2, 0, 100), SpanOf(Phase::kTrain, 1, 0, 80),
                  SpanOf(Phase::kVerify, 1, 80, 110), SpanOf(Phase::kVerify, 2, 100, 110)}),
              ElementsAre(Pair(1, 0.03), Pair(2, 0.01)));
}

TEST(ExchangeSecondsByWorker, AWorkerThatDidNotGetThroughHasNone) {
  Span failed = SpanOf(Phase::kUpload, 2, 100, 105);
  failed.ok = false;
  EXPECT_THAT(ExchangeSecondsByWorker(std::vector<Span>{
                  SpanOf(Phase::kVerify, 0, 100, 105), SpanOf(Phase::kTrain, 1, 0, 100),
                  SpanOf(Phase::kEncode, 1, 100, 105), SpanOf(Phase::kTrain, 2, 0, 100), failed,
                  SpanOf(Phase::kVerify, 2, 104, 105), SpanOf(Phase::kTrain, 3, 0, 100)}),
              IsEmpty());
}

TEST(ExchangeSecondsByWorker, TheSecondAttemptAtARoundCounts) {
  Span failed = SpanOf(Phase::kUpload, 0, 100, 180);
  failed.ok = false;
  EXPECT_THAT(ExchangeSecondsByWorker(std::vector<Span>{
                  SpanOf(Phase::kTrain, 0, 200, 300), SpanOf(Phase::kVerify, 0, 301, 304),
                  SpanOf(Phase::kTrain, 0, 0, 100), failed, SpanOf(Phase::kVerify, 0, 120, 150)}),
              ElementsAre(Pair(0, 0.004)));
}

TEST(ExchangeSecondsByWorker, SpansThatEndBeforeTheyBeginAreLeftOut) {
  EXPECT_THAT(ExchangeSecondsByWorker(std::vector<Span>{
                  SpanOf(Phase::kTrain, 0, 0, 100), SpanOf(Phase::kTrain, 0, 150, 140),
                  SpanOf(Phase::kVerify, 0, 100, 110), SpanOf(Phase::kApply, 0, 300, 200)}),
              ElementsAre(Pair(0, 0.01)));
}

TEST(ExchangeSecondsByWorker, ExtremeTimesAreNoTrouble) {
  constexpr int64_t kLeast = std::numeric_limits<int64_t>::min();
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  const Span train{Phase::kTrain, 1, 0, kNoWorker, kLeast, kLeast};
  const Span verify{Phase::kVerify, 1, 0, kNoWorker, kLeast, kMost};
  EXPECT_THAT(ExchangeSecondsByWorker(std::vector<Span>{train, verify}),
              ElementsAre(Pair(0, ::testing::DoubleNear(18'446'744'073.7, 1))));
}

}  // namespace
}  // namespace interlude
