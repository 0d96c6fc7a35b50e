// Accounts and clocks in the run database: what comes back, what is refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "base/rng.h"
#include "ledger/run_database.h"

namespace interlude {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr int64_t kLeast = std::numeric_limits<int64_t>::min();
constexpr int64_t kMost = std::numeric_limits<int64_t>::max();

std::unique_ptr<RunDatabase> InMemory() { return *RunDatabase::Create(":memory:"); }

Account ReadAccount(const RunDatabase& database) {
  return {.spans = *database.Spans(),
          .stamps = *database.Stamps(),
          .samples = *database.Samples(),
          .memory = *database.Memory(),
          .probes = *database.Probes()};
}

/// `value` without what samples lose on their way into the file.
int64_t InWholeUnits(const SampleField& field, int64_t value) {
  if (field.name.ends_with("_ns")) return value / 1000 * 1000;
  return field.name.find("rss_") != field.name.npos || field.name == "anonymous_bytes"
             ? value / 1024 * 1024
             : value;
}

/// Each figure of a sample its own, some of them unknown.
ProcessSample RandomSample(Rng& rng) {
  ProcessSample sample;
  sample.recorded_by = static_cast<int32_t>(rng.Below(5)) - 1;
  sample.at_ns = static_cast<int64_t>(rng()) / 1000 * 1000;
  for (const SampleField& field : kSampleFields) {
    const int64_t value = static_cast<int64_t>(rng() >> rng.Below(64));
    sample.*field.value = rng.Below(4) == 0 ? kUnknownFigure : InWholeUnits(field, value);
  }
  return sample;
}

Account RandomAccount(Rng& rng) {
  Account account;
  for (uint64_t i = rng.Below(5); i > 0; --i) {
    const Phase phase = kAllPhases[rng.Below(kAllPhases.size())];
    account.spans.push_back({.phase = phase,
                             .round = static_cast<uint32_t>(rng()),
                             .end_ns = static_cast<int64_t>(rng()),
                             .chunks = static_cast<uint32_t>(rng()),
                             .blocked_ns = static_cast<int64_t>(rng())});
    ChunkStamps stamps{phase, static_cast<uint32_t>(rng()), 7, static_cast<int32_t>(rng()), {}};
    int64_t end = static_cast<int64_t>(rng.Below(1'000'000'000)) * 1000;
    for (uint64_t chunk = rng.Below(20); chunk > 0; --chunk) {
      end += static_cast<int64_t>(rng.Below(10'000)) * 1000;
      const int64_t begin = end - static_cast<int64_t>(rng.Below(20'000)) * 1000;
      stamps.stamps.push_back({static_cast<uint32_t>(rng()), std::max<int64_t>(0, begin), end});
    }
    account.stamps.push_back(stamps);
    account.samples.push_back(RandomSample(rng));
    account.memory.push_back({1, static_cast<int64_t>(rng()), "payloads", 5});
    account.probes.push_back({2, static_cast<int64_t>(rng()), 3, 4, 5, 6});
  }
  return account;
}

TEST(RunDatabaseAccount, ComesBackAsItWas) {
  auto database = InMemory();
  Rng rng(11);
  Account all;
  for (uint32_t round = 1; round <= 60; ++round) {
    const Account account = RandomAccount(rng);
    const Status added = round % 2 == 0 ? database->AddAccount(account)
                                        : database->AddRound({.round = round}, {}, account);
    ASSERT_TRUE(added.ok()) << added.ToString();
    all.Append(account);
  }
  EXPECT_EQ(ReadAccount(*database), all);
}

TEST(RunDatabaseAccount, TheLargestAndSmallestValuesComeBack) {
  constexpr int32_t kLow = std::numeric_limits<int32_t>::min();
  constexpr int32_t kHigh = std::numeric_limits<int32_t>::max();
  constexpr int64_t kLastMicrosecond = kMost / 1000 * 1000;
  Account account;
  account.spans = {{.recorded_by = kLow, .blocked_ns = kLeast}, {.blocked_ns = kMost}};
  account.stamps = {{Phase::kSend, UINT32_MAX, kLow, kHigh, {{UINT32_MAX, 0, kLastMicrosecond}}},
                    {Phase::kEncode, 0, kHigh, kLow, {}}};
  ProcessSample most{.recorded_by = kHigh, .at_ns = kLastMicrosecond};
  ProcessSample least{.recorded_by = kLow, .at_ns = -kLastMicrosecond};
  for (const SampleField& field : kSampleFields) {
    most.*field.value = InWholeUnits(field, kMost);
    least.*field.value = InWholeUnits(field, kLeast);
  }
  account.samples = {most, least};
  account.memory = {{kLow, kLeast, std::string("a\0b\xff\x1b", 5), kLeast},
                    {kHigh, kMost, "", kMost}};
  account.probes = {{kLow, kLeast, kMost, kLeast, kMost, kLeast},
                    {kHigh, kMost, kLeast, kMost, kLeast, kMost}};
  auto database = InMemory();
  ASSERT_TRUE(database->AddAccount(account).ok());
  EXPECT_EQ(ReadAccount(*database), account);
}

TEST(RunDatabaseAccount, SamplesLoseWhatIsBelowAMicrosecondOrAKiB) {
  auto database = InMemory();
  const ProcessSample sample{.recorded_by = 1,
                             .at_ns = 5'999,
                             .interval_ns = 999,
                             .cpu_ns = 1'001,
                             .threads = 1'001,
                             .rss_bytes = 2'047,
                             .disk_read_bytes = 1'001};
  ProcessSample cut = sample;
  cut.at_ns = 5'000;
  cut.interval_ns = 0;
  cut.cpu_ns = 1'000;
  cut.rss_bytes = 1'024;
  ASSERT_TRUE(database->AddAccount({.samples = {sample}}).ok());
  EXPECT_EQ(*database->Samples(), std::vector{cut});
}

TEST(RunDatabaseAccount, WhatAWorkerMergedComesBack) {
  auto database = InMemory();
  WorkerRoundRecord part{.round = 1, .worker = 3};
  part.scaled_chunks = UINT32_MAX;
  part.cut_share = 0.375;
  ASSERT_TRUE(database->AddRound({.round = 1}, {part}, {}).ok());
  EXPECT_EQ(database->WorkerRounds()->at(0).scaled_chunks, UINT32_MAX);
  EXPECT_EQ(database->WorkerRounds()->at(0).cut_share, 0.375);
}

TEST(RunDatabaseAccount, StampsOfARangeAreThoseOfItsRoundsAndNoOthers) {
  Rng rng(4);
  auto database = InMemory();
  std::vector<ChunkStamps> all;
  for (uint32_t i = 0; i < 60; ++i) {  // late ones too: a report may come after its round
    all.push_back(
        {Phase::kEncode, static_cast<uint32_t>(rng.Below(12)), 1, kNoWorker, {{i, 0, 0}}});
    ASSERT_TRUE(database->AddAccount({.stamps = {all.back()}}).ok());
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const ChunkStamps& a, const ChunkStamps& b) { return a.round < b.round; });
  for (const RoundRange range :
       {RoundRange{}, {0, 0}, {3, 3}, {2, 7}, {11, 900}, {12, 900}, {7, 6}}) {
    std::vector<ChunkStamps> expected = all;
    std::erase_if(expected, [&](const ChunkStamps& stamps) {
      return stamps.round < range.first || stamps.round > range.last;
    });
    EXPECT_EQ(*database->StampsOf(range), expected) << range.first << " to " << range.last;
  }
}

TEST(RunDatabaseAccount, IsStoredWholeOrNotAtAll) {
  const ChunkStamps good{Phase::kEncode, 1, 0, kNoWorker, {{0, 5, 9}}};
  ChunkStamps no_phase = good;
  no_phase.phase = static_cast<Phase>(99);
  ChunkStamps backwards = good;
  backwards.stamps.push_back({1, 10, 9});
  ChunkStamps before_zero = good;
  before_zero.stamps[0].begin_ns = -1;
  ChunkStamps too_many = good;
  too_many.stamps.resize(kMaxStamps + 1);
  auto database = InMemory();
  for (const ChunkStamps& bad : {no_phase, backwards, before_zero, too_many}) {
    const Account account{.spans = {{}}, .stamps = {good, bad}, .samples = {{}}};
    const Status status = database->AddAccount(account);
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument) << status.ToString();
    EXPECT_THAT(status.message(), HasSubstr("chunk stamps"));
    EXPECT_EQ(database->AddRound({.round = 1}, {}, account).code(), StatusCode::kInvalidArgument);
  }
  EXPECT_TRUE(ReadAccount(*database).empty());
  EXPECT_THAT(*database->Rounds(), IsEmpty());
}

TEST(RunDatabaseClocks, ComeBackByWorkerAndRoundTheFinalOneLast) {
  auto database = InMemory();
  const ClockEstimate first{1, ClockMethod::kMinimum, -5, kLeast, -1e-5, 7, 3};
  const ClockEstimate last{1, ClockMethod::kEnvelope, kMost, kMost, 0.125, kMost, UINT32_MAX};
  const ClockEstimate none{.worker = 0};
  ASSERT_TRUE(database->AddClock(std::nullopt, last).ok());
  ASSERT_TRUE(database->AddClock(UINT32_MAX, first).ok());
  ASSERT_TRUE(database->AddClock(2u, first).ok());
  ASSERT_TRUE(database->AddClock(2u, none).ok());
  EXPECT_EQ(*database->Clocks(),
            (std::vector<ClockRecord>{{2u, none}, {2u, first}, {UINT32_MAX, first}, {{}, last}}));
}

TEST(RunDatabaseClocks, ANewerEstimateOfTheSameRoundReplacesTheOlder) {
  auto database = InMemory();
  for (const std::optional<uint32_t> round : {std::optional<uint32_t>(), std::optional(4u)}) {
    for (const uint32_t probes : {1u, 2u}) {
      ASSERT_TRUE(
          database
              ->AddClock(round, {.worker = 3, .method = ClockMethod::kMinimum, .probes = probes})
              .ok());
    }
  }
  const auto clocks = *database->Clocks();
  ASSERT_EQ(clocks.size(), 2u);
  EXPECT_EQ(clocks[0].estimate.probes, 2u);
  EXPECT_EQ(clocks[1].estimate.probes, 2u);
}

TEST(RunDatabaseClocks, AreRefusedWithoutAMethodOrADrift) {
  auto database = InMemory();
  for (const double drift :
       {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    EXPECT_EQ(database->AddClock(1u, {.drift = drift}).code(), StatusCode::kInvalidArgument);
  }
  const Status status = database->AddClock(1u, {.method = static_cast<ClockMethod>(9)});
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(status.message(), HasSubstr("method 9"));
  EXPECT_THAT(*database->Clocks(), IsEmpty());
}

}  // namespace
}  // namespace interlude
