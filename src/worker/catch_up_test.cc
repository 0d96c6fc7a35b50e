// A worker that comes when rounds were made already: what it fetches, and that it ends with the
// coordinator's base.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "worker/scripted_coordinator.h"
#include "worker/test_trainer.h"

namespace interlude {
namespace {

using ::testing::ElementsAre;

struct Played {
  StatusOr<WorkerOutcome> outcome;
  Seen seen;
};

Played Play(Script script) {
  ScriptedCoordinator coordinator(std::move(script));
  const WorkerOptions options{.coordinator = coordinator.address(), .threads = 1};
  StatusOr<WorkerOutcome> outcome =
      RunWorker(options, SyntheticFactory(), ManualClock(), [] { return false; });
  return {std::move(outcome), coordinator.Finish()};
}

/// Three rounds were made, and as many as `meanwhile` are before the worker's only one; the layout
/// has six chunks.
Script LateScript(std::vector<uint32_t> chunk_rounds = {}, uint32_t meanwhile = 0) {
  Script script{.config = SmallConfig()};
  script.history = 3;
  script.chunk_rounds = std::move(chunk_rounds);
  script.rounds_meanwhile = meanwhile;
  script.config.round.rounds = 4 + meanwhile;
  return script;
}

/// "base 1,5" or "sync 2: 0,1"; where no chunks stand, all are meant. Without that of its own
/// round.
std::vector<std::string> CatchUpDownloads(const Seen& seen) {
  std::vector<std::string> texts;
  for (const DownloadOrder& order : seen.downloads) {
    const std::string chunks = fmt::format("{}", fmt::join(order.chunks, ","));
    texts.push_back(order.kind == DownloadKind::kBase
                        ? "base " + chunks
                        : fmt::format("sync {}: {}", order.round, chunks));
  }
  if (!texts.empty()) texts.pop_back();
  return texts;
}

void ExpectRightEnd(const Played& run) {
  ASSERT_TRUE(run.outcome.ok()) << run.outcome.status().ToString();
  EXPECT_EQ(run.outcome->retries, 0u);
  ASSERT_EQ(run.seen.reports.size(), 1u);
  const RoundReportMessage& report = run.seen.reports[0];
  EXPECT_EQ(report.root, run.seen.roots.at(report.round));
  EXPECT_EQ(report.repaired_chunks, 0u);
}

constexpr uint32_t kNone = kNoBase;

class CatchUpCodecs : public ::testing::TestWithParam<CodecKind> {};
INSTANTIATE_TEST_SUITE_P(EveryCodec, CatchUpCodecs,
                         ::testing::Values(CodecKind::kQ4, CodecKind::kQ8, CodecKind::kFp32));

TEST_P(CatchUpCodecs, ChunksOfAKnownBaseTakeTheSyncDeltasAndTheOthersAreFetchedWhole) {
  Script script = LateScript({0, kNone, 0, 0, kNone, 0});
  script.config.round.codec = GetParam();
  const Played run = Play(script);
  ExpectRightEnd(run);
  EXPECT_THAT(CatchUpDownloads(run.seen),
              ElementsAre("base 1,4", "sync 1: 0,2,3,5", "sync 2: 0,2,3,5", "sync 3: 0,2,3,5"));
  ASSERT_EQ(run.seen.caught_up.size(), 1u);
  const CaughtUpMessage& caught_up = run.seen.caught_up[0];
  EXPECT_EQ(caught_up.round, 3u);
  EXPECT_EQ(caught_up.base_chunks, 2u);
  EXPECT_EQ(caught_up.sync_chunks, 12u);
  uint64_t bytes = 2 * 192 * sizeof(float);
  for (const uint32_t round : {1u, 2u, 3u}) {
    for (const uint32_t chunk : {0u, 2u, 3u, 5u}) bytes += run.seen.syncs.at(round)[chunk].size();
  }
  EXPECT_EQ(caught_up.bytes, bytes);
  ASSERT_EQ(caught_up.account.spans.size(), 1u);
  EXPECT_EQ(caught_up.account.spans[0].phase, Phase::kShareBase);
  EXPECT_EQ(caught_up.account.spans[0].round, kBeforeRounds);
  EXPECT_EQ(caught_up.account.spans[0].bytes, bytes);
  EXPECT_EQ(caught_up.account.spans[0].chunks, 14u);
}

TEST(CatchUp, AWorkerWithNoBaseOfTheRunFetchesAllChunksWholeAndNoSyncDelta) {
  const Played run = Play(LateScript(std::vector<uint32_t>(6, kNone)));
  ExpectRightEnd(run);
  EXPECT_THAT(CatchUpDownloads(run.seen), ElementsAre("base "));
  EXPECT_EQ(run.seen.caught_up[0].base_chunks, 6u);
}

TEST(CatchUp, OneThatNeverHeardHowItsFirstBaseStandsFetchesAllOfIt) {
  Script script = LateScript({});
  script.history = 0;
  script.config.round.rounds = 1;
  script.differ_at_start = {3};
  script.first_catch_up_is_lost = true;
  const Played run = Play(script);
  ExpectRightEnd(run);
  EXPECT_THAT(CatchUpDownloads(run.seen), ElementsAre("base "));
}

TEST(CatchUp, WhatStandsBehindARoundThatIsNoLongerRetainedIsFetchedWhole) {
  Script script = LateScript({0, kNone, 0, 0, 0, 0});
  script.first_retained = 2;
  const Played run = Play(script);
  ExpectRightEnd(run);
  EXPECT_THAT(CatchUpDownloads(run.seen),
              ElementsAre("base 1", "sync 1: 0,2,3,4,5", "base 0,2,3,4,5"));
  EXPECT_EQ(run.seen.caught_up[0].base_chunks, 6u);
  EXPECT_EQ(run.seen.caught_up[0].sync_chunks, 0u);
}

TEST(CatchUp, ExactlyTheChunkThatIsNotWhatItShouldBeAfterASyncDeltaIsFetchedWhole) {
  const Played run = Play(LateScript({0, 0, 0, 2, 0, 0}));  // chunk 3 stands after 0 rounds too
  ExpectRightEnd(run);
  EXPECT_THAT(CatchUpDownloads(run.seen),
              ElementsAre("sync 1: 0,1,2,4,5", "sync 2: 0,1,2,4,5", "sync 3: ", "base 3"));
  EXPECT_EQ(run.seen.caught_up[0].base_chunks, 1u);
}

TEST(CatchUp, ChunksOfAnOpenRoundSetTheRoundThatTheOthersAreBroughtTo) {
  Script script = LateScript(std::vector<uint32_t>(6, kNone), 1);
  script.merged_of_open_round = 2;
  const Played run = Play(script);
  ExpectRightEnd(run);
  EXPECT_THAT(CatchUpDownloads(run.seen), ElementsAre("base ", "sync 4: 2,3,4,5"));
  EXPECT_EQ(run.seen.caught_up[0].round, 4u);
}

TEST(CatchUp, WhatARoundsStartIsFurtherIsMadeGoodBySyncDeltas) {
  const Played run = Play(LateScript({}, 2));
  ExpectRightEnd(run);
  EXPECT_THAT(CatchUpDownloads(run.seen),
              ElementsAre("sync 1: ", "sync 2: ", "sync 3: ", "sync 4: ", "sync 5: "));
  ASSERT_EQ(run.seen.caught_up.size(), 2u);
  EXPECT_EQ(run.seen.caught_up[1].round, 5u);
  EXPECT_EQ(run.seen.caught_up[1].sync_chunks, 12u);
  EXPECT_EQ(run.seen.caught_up[1].account.spans.at(0).round, 6u);
}

TEST(CatchUp, AWorkerThatComesOnlyToScoreIsBroughtToTheFinalBaseFirst) {
  Script script = LateScript({}, 2);
  script.config.round.rounds = 5;  // all were made
  const Played run = Play(script);
  ASSERT_TRUE(run.outcome.ok()) << run.outcome.status().ToString();
  EXPECT_TRUE(run.seen.reports.empty());
  ASSERT_EQ(run.seen.caught_up.size(), 2u);
  EXPECT_EQ(run.seen.caught_up[0].round, 3u);
  EXPECT_EQ(run.seen.caught_up[1].round, 5u);
  ASSERT_EQ(run.seen.evaluations.size(), 1u);
  EXPECT_EQ(run.seen.evaluations[0].after_rounds, 5u);
}

TEST(CatchUp, BeingDroppedInTheMiddleOfItEndsTheStayWithTheReason) {
  Script script = LateScript();
  script.drop_in_catch_up = true;
  script.goodbye = UnavailableError("worker 0 joined too late to take part");
  EXPECT_EQ(Play(script).outcome.status(), script.goodbye);
}

}  // namespace
}  // namespace interlude
