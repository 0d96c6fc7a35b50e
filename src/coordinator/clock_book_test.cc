#include "coordinator/clock_book.h"

#include <gtest/gtest.h>

#include <cstdio>

#include "coordinator/ledger_book.h"

namespace interlude {
namespace {

constexpr int64_t kMs = 1'000'000;

/// A probe of 2 ms there and back, to a clock that is an hour ahead.
ClockProbe ProbeAt(WorkerId worker, int64_t sent_ns) {
  const int64_t there = sent_ns + 1 * kMs + 3'600'000 * kMs;
  return {.worker = worker,
          .sent_ns = sent_ns,
          .received_ns = there,
          .replied_ns = there,
          .returned_ns = sent_ns + 2 * kMs};
}

TEST(ClockBook, KeepsEachWorkersProbesApartAndWithinTheirBound) {
  ClockBook book;
  std::vector<ClockProbe> probes;
  for (size_t i = 0; i < 3 * ClockBook::kMostProbes; ++i)
    probes.push_back(ProbeAt(4, static_cast<int64_t>(i) * 10 * kMs));
  probes.push_back(ProbeAt(9, 5 * kMs));
  probes.push_back({.worker = 9, .sent_ns = -1});
  book.Keep(probes);
  const std::vector<ClockEstimate> final = book.Final();
  ASSERT_EQ(final.size(), 2u);
  EXPECT_EQ(final[0].worker, 4);
  EXPECT_EQ(final[0].method, ClockMethod::kEnvelope);
  EXPECT_LE(final[0].probes, ClockBook::kMostProbes);
  EXPECT_GT(final[0].probes, ClockBook::kMostProbes / 4);
  EXPECT_EQ(final[0].offset_ns, 3'600'000 * kMs);
  EXPECT_EQ(final[1].worker, 9);
  EXPECT_EQ(final[1].probes, 1u);
}

class ClocksInTheLedger : public testing::Test {
 protected:
  ClocksInTheLedger()
      : path_(testing::TempDir() + "clocks-" +
              testing::UnitTest::GetInstance()->current_test_info()->name() + ".db") {
    for (const char* suffix : {"", "-wal", "-shm"}) std::remove((path_ + suffix).c_str());
  }
  /// Workers 0 and 1 take part; only worker 1 sends probes.
  static void PlayRound(LedgerBook& book, uint32_t round) {
    book.RoundStarted(round);
    for (const WorkerId worker : {0, 1}) {
      RoundReportMessage report{.round = round, .root = {}, .samples = 1};
      if (worker == 1) report.account.probes = {ProbeAt(9, round * 1'000 * kMs)};
      book.Report(worker, std::move(report));
    }
    book.EndRound(RoundExchange(round, 1, false, {0, 1}, Nanoseconds{0}), Hash128{}, 3);
  }
  std::unique_ptr<RunDatabase> Read() { return *RunDatabase::OpenReadOnly(path_); }

  const std::string path_;
  ManualClock clock_;
  Recorder recorder_;
};

TEST_F(ClocksInTheLedger, EachRoundHasItsEstimatesAndTheRunItsFinalOnes) {
  {
    LedgerBook book(*RunDatabase::Create(path_), recorder_, clock_);
    for (uint32_t round = 1; round <= 3; ++round) PlayRound(book, round);
    book.Close();
    EXPECT_FALSE(book.failed());
  }
  const std::vector<ClockRecord> clocks = Read()->Clocks().value();
  ASSERT_EQ(clocks.size(), 8u);
  for (const ClockRecord& clock : clocks) {
    const ClockEstimate& estimate = clock.estimate;
    if (estimate.worker == 0) {
      EXPECT_EQ(estimate.method, ClockMethod::kNone);
      continue;
    }
    EXPECT_EQ(estimate.method, clock.round ? ClockMethod::kMinimum : ClockMethod::kEnvelope);
    EXPECT_EQ(estimate.probes, clock.round.value_or(3));
    EXPECT_NEAR(static_cast<double>(estimate.offset_ns), 3.6e12, 1e3);
    EXPECT_NEAR(static_cast<double>(estimate.error_ns), 1e6, 1e5);
  }
}

TEST_F(ClocksInTheLedger, AWorkerWithoutAProbeIsNamedOnceAfterItsSecondRound) {
  {
    LedgerBook book(*RunDatabase::Create(path_), recorder_, clock_);
    PlayRound(book, 1);
    EXPECT_TRUE(Read()->Events().value().empty());
    PlayRound(book, 2);
    PlayRound(book, 3);
  }
  const std::vector<EventRecord> events = Read()->Events().value();
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].kind, kClockUnknownEvent);
  EXPECT_EQ(events[0].worker, 0);
  EXPECT_EQ(events[0].round, 2u);
}

TEST_F(ClocksInTheLedger, ProbesOfBeforeTheCoordinatorWasKilledCount) {
  {
    LedgerBook book(*RunDatabase::Create(path_), recorder_, clock_);
    PlayRound(book, 1);
    PlayRound(book, 2);
  }
  LedgerBook book(*RunDatabase::Reopen(path_), recorder_, clock_);
  PlayRound(book, 3);
  book.Close();
  EXPECT_FALSE(book.failed());
  const std::vector<ClockRecord> clocks = Read()->Clocks().value();
  EXPECT_EQ(clocks.back().estimate.worker, 1);
  EXPECT_EQ(clocks.back().round, std::nullopt);
  EXPECT_EQ(clocks.back().estimate.probes, 3u);
}

}  // namespace
}  // namespace interlude
