// A coordinator that is killed and started again: what the machine makes of what was written down.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "protocol/run_machine_test_cluster.h"
#include "protocol/run_machine_test_story.h"

namespace interlude {
namespace {

using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr Nanoseconds kPatience = seconds(15);

/// Two chunks, `committed` rounds, and where there are `members` an open round.
RestoredRun Found(uint32_t committed, std::vector<RestoredRound::Member> members = {},
                  std::vector<MergeOrder> orders = {}) {
  RestoredRun run{.num_chunks = 2,
                  .committed_rounds = committed,
                  .committed_root = RootOf(committed),
                  .open = std::nullopt};
  if (!members.empty()) run.open = {std::move(members), std::move(orders)};
  return run;
}

/// A worker that joins anew, up to where it waits for a round.
std::vector<std::string> ComeAnew(Story& run, WorkerId w, uint32_t committed) {
  EXPECT_THAT(run.Join(w), IsEmpty());
  EXPECT_THAT(run.Ready(w), ElementsAre(fmt::format("CatchUp {}", w)));
  return run.CaughtUp(w, committed);
}

TEST(RunMachineRestore, WithoutAnOpenRoundTheNextOneStartsWhenAllHaveComeAnew) {
  for (const uint32_t committed : {0u, 3u}) {
    Story run({.workers = 2, .rounds = 4}, 2);
    EXPECT_THAT(run.Restore(Found(committed), kPatience), IsEmpty());
    EXPECT_EQ(run.machine().stage(), RunMachine::Stage::kRounds);
    EXPECT_EQ(run.machine().committed_rounds(), committed);
    EXPECT_THAT(ComeAnew(run, 1, committed), IsEmpty());
    EXPECT_THAT(ComeAnew(run, 0, committed),
                ElementsAre(fmt::format("StartRound {} members 0,1", committed + 1)));
  }
}

TEST(RunMachineRestore, WithoutAnOpenRoundTheFirstGoesOnAloneWhenPatienceIsOver) {
  Story run({.workers = 2, .rounds = 4}, 2);
  run.Restore(Found(3), kPatience);
  EXPECT_EQ(run.Ahead(), std::nullopt);  // nobody to go on with
  EXPECT_THAT(ComeAnew(run, 1, 3), IsEmpty());
  EXPECT_THAT(run.Pass(seconds(14)), IsEmpty());
  ASSERT_TRUE(run.Ahead());
  EXPECT_THAT(run.PassToDeadline(), ElementsAre("StartRound 4 members 1"));
}

TEST(RunMachineRestore, WithoutAnOpenRoundTheFirstThatComesAfterPatienceGoesOnAtOnce) {
  Story run({.workers = 2, .rounds = 4}, 2);
  run.Restore(Found(3), kPatience);
  EXPECT_THAT(run.Pass(seconds(60)), IsEmpty());
  EXPECT_THAT(ComeAnew(run, 0, 3), ElementsAre("StartRound 4 members 0"));
}

TEST(RunMachineRestore, WithAllRoundsCommittedThoseThatComeScoreTheFinalBase) {
  for (const bool all : {true, false}) {
    Story run({.workers = 2, .rounds = 3}, 2);
    EXPECT_THAT(run.Restore(Found(3), kPatience), IsEmpty());
    EXPECT_THAT(ComeAnew(run, 0, 3), IsEmpty());
    if (all) {
      EXPECT_THAT(ComeAnew(run, 1, 3), ElementsAre("Finish 0,1"));
      EXPECT_THAT(run.Evaluate(1, 3), IsEmpty());
    } else {
      EXPECT_THAT(run.PassToDeadline(), ElementsAre("Finish 0"));
    }
    EXPECT_THAT(run.Evaluate(0, 3), ElementsAre("EndRun OK"));
  }
}

TEST(RunMachineRestore, TheOpenRoundGoesOnWithWhatWasDelivered) {
  Story run({.workers = 2, .rounds = 4}, 2);
  // Worker 0 has delivered all and worker 1 nothing; it still trains.
  EXPECT_THAT(run.Restore(Found(2, {{0, 10, {0, 1}}, {1, 0, {}}}), kPatience), IsEmpty());
  for (const WorkerId w : {0, 1}) EXPECT_TRUE(run.machine().is_away(w));
  EXPECT_THAT(run.Returned(0), IsEmpty());
  EXPECT_THAT(run.Returned(1), IsEmpty());
  EXPECT_FALSE(*run.machine().ChunkReceived(0, 3, 1, run.Tick()));
  EXPECT_THAT(run.Report(0, 2), IsEmpty());  // of the round that ended with the crash
  EXPECT_THAT(run.Upload(1, 3, 2), ElementsAre("MergeChunk 3/0 from 0:10,1:11", "SendSyncChunk 3/0",
                                               "MergeChunk 3/1 from 0:10,1:11", "SendSyncChunk 3/1",
                                               "CommitRound 3", "StartRound 4 members 0,1"));
}

TEST(RunMachineRestore, OneThatIsBackHasTenMinutesInTheRoundWhoseTimesAreLost) {
  Story run({.workers = 2, .rounds = 4, .patience = 1}, 2);
  run.Restore(Found(2, {{0, 10, {0, 1}}, {1, 0, {}}}), kPatience);
  for (const WorkerId w : {0, 1}) run.Returned(w);
  EXPECT_THAT(run.Pass(seconds(599)), IsEmpty());
  ASSERT_TRUE(run.Ahead());
  EXPECT_LT(*run.Ahead(), seconds(1));
  run.Upload(1, 3, 2);
  run.Report(0, 3);
  // Its commit was seen, so its reports can be late.
  EXPECT_THAT(run.PassToDeadline(),
              ElementsAre("MemberLate 1 3/2 missing 0", "CatchUp 1", "EndRound 3"));
}

TEST(RunMachineRestore, NothingIsLearntFromTheRoundWhoseTimesAreLost) {
  Story run({.workers = 2, .rounds = 5}, 2);
  run.Restore(Found(2, {{0, 10, {0, 1}}, {1, 11, {0, 1}}}), kPatience);
  for (const WorkerId w : {0, 1}) {
    run.Returned(w);
    run.Report(w, 3);
  }
  run.Upload(0, 4, 2);
  const std::vector<Action> actions = run.TakeAtDeadline();
  ASSERT_FALSE(actions.empty());
  EXPECT_THAT(std::get<MemberLate>(actions[0]).reason, HasSubstr("its usual time is not known"));
}

TEST(RunMachineRestore, WhatWasCompleteIsMergedThoughNobodyIsBackYet) {
  Story run({.workers = 2, .rounds = 4}, 2);
  EXPECT_THAT(run.Restore(Found(2, {{0, 10, {0, 1}}, {1, 11, {1}}}), kPatience),
              ElementsAre("MergeChunk 3/1 from 0:10,1:11", "SendSyncChunk 3/1"));
}

TEST(RunMachineRestore, AMergeThatWasOrderedIsNotOrderedAgain) {
  for (const bool barrier : {false, true}) {
    Story run({.workers = 2, .rounds = 4, .barrier = barrier}, 2);
    const MergeOrder order{.round = 3, .chunk = 0, .contributors = {{0, 10}, {1, 11}}};
    std::vector<std::string> expected = {"MergeChunk 3/1 from 0:10,1:11", "SendSyncChunk 3/1",
                                         "CommitRound 3"};
    if (!barrier) expected.emplace_back("StartRound 4 members 0,1");
    EXPECT_EQ(run.Restore(Found(2, {{0, 10, {0, 1}}, {1, 11, {0, 1}}}, {order}), kPatience),
              expected);
  }
}

TEST(RunMachineRestore, WithAllMergedTheRoundIsCommittedAndItsReportsAreAwaited) {
  for (const bool barrier : {false, true}) {
    Story run({.workers = 2, .rounds = 4, .barrier = barrier}, 2);
    run.Pass(std::chrono::hours(5));  // the clock does not begin with the coordinator
    const std::vector<MergeOrder> orders = {{3, 0, {{0, 10}, {1, 11}}}, {3, 1, {{0, 10}, {1, 11}}}};
    std::vector<std::string> expected = {"CommitRound 3"};
    if (!barrier) expected.emplace_back("StartRound 4 members 0,1");
    EXPECT_EQ(run.Restore(Found(2, {{0, 10, {0, 1}}, {1, 11, {0, 1}}}, orders), kPatience),
              expected);
    for (const WorkerId w : {0, 1}) run.Returned(w);
    EXPECT_THAT(run.Report(0, 3), IsEmpty());
    EXPECT_THAT(run.Pass(seconds(2)), IsEmpty());  // three seconds is the least
    EXPECT_THAT(run.Report(1, 3), testing::Contains("EndRound 3"));
  }
}

TEST(RunMachineRestore, AMemberThatDoesNotComeBackInTimeIsDroppedWhereOthersWait) {
  Story run({.workers = 2, .rounds = 4}, 2);
  run.Restore(Found(2, {{0, 0, {}}, {1, 11, {0}}}), kPatience);
  EXPECT_EQ(run.Ahead(), std::nullopt);  // nobody is here for whose sake
  run.Returned(0);
  EXPECT_EQ(run.Ahead(), std::nullopt);  // it trains, and nobody who is here waits for it
  EXPECT_THAT(run.Upload(0, 3, 2),
              ElementsAre("MergeChunk 3/0 from 0:10,1:11", "SendSyncChunk 3/0"));
  ASSERT_TRUE(run.Ahead());
  EXPECT_GT(*run.Ahead(), seconds(14));
  EXPECT_THAT(run.PassToDeadline(),
              ElementsAre("MemberLate 1 3/1 missing 1", "DropWorker 1 UNAVAILABLE",
                          "MergeChunk 3/1 from 0:10", "SendSyncChunk 3/1", "CommitRound 3",
                          "StartRound 4 members 0"));
}

TEST(RunMachineRestore, WhoeverAMergeWentWithoutHasToJoinAnew) {
  for (const bool barrier : {false, true}) {
    Story run({.workers = 2, .rounds = 4, .barrier = barrier}, 2);
    const MergeOrder order{.round = 3, .chunk = 0, .contributors = {{0, 10}}};
    // Its chunk 1 had come before it was late, or when.
    const auto texts = run.Restore(Found(2, {{0, 10, {0}}, {1, 11, {1}}}, {order}), kPatience);
    EXPECT_THAT(texts, ElementsAre("DropWorker 1 UNAVAILABLE"));
    EXPECT_EQ(run.machine().WorkerReturned(1, run.Tick()).code(), StatusCode::kFailedPrecondition);
    run.Returned(0);
    EXPECT_THAT(run.Upload(0, 3, 2),
                testing::IsSupersetOf({"MergeChunk 3/1 from 0:10,1:11", "CommitRound 3"}));
  }
}

TEST(RunMachineRestore, AChunkOfNobodyStaysOne) {
  Story run({.workers = 2, .rounds = 3}, 2);
  const MergeOrder order{.round = 3, .chunk = 0, .contributors = {}};
  EXPECT_THAT(run.Restore(Found(2, {{0, 10, {1}}, {1, 0, {}}}, {order}), kPatience),
              ElementsAre("DropWorker 0 UNAVAILABLE", "DropWorker 1 UNAVAILABLE",
                          "MergeChunk 3/1 from 0:10", "SendSyncChunk 3/1", "CommitRound 3",
                          "EndRound 3", "AwaitWorkers"));
}

TEST(RunMachineRestore, AnEvaluationOfTheOpenRoundIsTaken) {
  Story run({.workers = 1, .rounds = 4, .evaluate_every = 2}, 2);
  run.Restore(Found(2, {{0, 0, {}}}), kPatience);
  run.Returned(0);
  run.Evaluate(0, 2);
  EXPECT_EQ(run.machine().EvaluationReported(0, 2, run.Tick()).code(), StatusCode::kAlreadyExists);
}

TEST(RunMachineRestore, AWrongRootOfTheLastCommittedRoundTakesTheNextDeltaWithIt) {
  Story run({.workers = 2, .rounds = 4}, 2);
  run.Restore(Found(2, {{0, 10, {0}}, {1, 11, {0, 1}}}), kPatience);
  for (const WorkerId w : {0, 1}) run.Returned(w);
  const Status wrong = run.machine().RoundReported(1, 2, RootOf(9), run.Tick());
  EXPECT_EQ(wrong.code(), StatusCode::kDataLoss);
  EXPECT_THAT(wrong.message(), HasSubstr("another root"));
  run.Left(1);
  // Chunk 0 was merged at once, before the report could tell.
  EXPECT_THAT(run.Upload(0, 3, 2), testing::Contains("MergeChunk 3/1 from 0:10"));
}

/// Steps until round 1 is started, so that there is something to restore.
void Begin(Cluster& cluster) {
  while (cluster.machine().open_round(1) == nullptr) cluster.CalmStep();
}

TEST(RunMachineRestore, AfterACrashAtAnyMomentTheMergesAreThoseOfTheRunWithoutIt) {
  for (const uint32_t workers : {1u, 3u}) {
    for (const bool barrier : {false, true}) {
      const Cluster::Options options = {
          .plan = {.workers = workers, .rounds = 3, .evaluate_every = 1, .barrier = barrier},
          .chunks = 3,
          .overtaking = true,
          .honest = true};
      Cluster straight(options, 7);
      ASSERT_TRUE(straight.Drain(10000));
      int crashes = 0;
      for (int actions = 0;; ++actions) {
        SCOPED_TRACE(testing::Message() << workers << " workers, barrier " << barrier << ", after "
                                        << actions << " actions");
        Cluster crashed(options, 7);
        Begin(crashed);
        ASSERT_TRUE(crashed.Crash(actions));
        ASSERT_TRUE(crashed.Drain(10000));
        EXPECT_TRUE(crashed.model().end()->ok());
        EXPECT_EQ(crashed.merges(), straight.merges());
        EXPECT_EQ(crashed.counts().late, 0);
        ASSERT_FALSE(testing::Test::HasFailure());
        if (crashed.counts().crashed == 0) break;
        ++crashes;
      }
      EXPECT_GT(crashes, 20);
    }
  }
}

TEST(RunMachineRestore, AWorkerThatLeftBeforeTheCrashIsMissingAfterItAsItWasWithoutIt) {
  for (const bool barrier : {false, true}) {
    for (int leaves_after = 0; leaves_after < 40; ++leaves_after) {
      for (const int actions : {0, 1, 2, 5, 9}) {
        SCOPED_TRACE(testing::Message() << "barrier " << barrier << ", left after " << leaves_after
                                        << ", crash after " << actions);
        const Cluster::Options options = {
            .plan = {.workers = 3, .rounds = 3, .barrier = barrier}, .chunks = 3, .honest = true};
        Cluster straight(options, 7);
        Cluster crashed(options, 7);
        for (Cluster* cluster : {&straight, &crashed}) {
          Begin(*cluster);
          for (int i = 0; i < leaves_after; ++i) cluster->CalmStep();
          cluster->Leave(0);
        }
        ASSERT_TRUE(straight.Drain(10000));
        crashed.Crash(actions);
        ASSERT_TRUE(crashed.Drain(10000));
        EXPECT_EQ(crashed.merges(), straight.merges());
        ASSERT_FALSE(testing::Test::HasFailure());
      }
    }
  }
}

}  // namespace
}  // namespace interlude
