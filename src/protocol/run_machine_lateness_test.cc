// Members that others wait for: away, hung, late, and back again; and a run that nobody is left in.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "protocol/run_machine_test_story.h"

namespace interlude {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::IsSupersetOf;
using testing::Not;

/// The reason of the first MemberLate.
std::string ReasonIn(const std::vector<Action>& actions) {
  for (const Action& action : actions) {
    if (const auto* late = std::get_if<MemberLate>(&action)) return late->reason;
  }
  return "nobody is late";
}

/// A calm round of workers 0 .. n - 1: each delivers after `train` and reports after `apply`.
void Round(Story& run, uint32_t workers, uint32_t round, uint32_t chunks, Nanoseconds train,
           Nanoseconds apply) {
  EXPECT_THAT(run.Pass(train), IsEmpty());
  for (uint32_t w = 0; w < workers; ++w) run.Upload(static_cast<WorkerId>(w), round, chunks);
  EXPECT_THAT(run.Pass(apply), IsEmpty());
  for (uint32_t w = 0; w < workers; ++w) run.Report(static_cast<WorkerId>(w), round);
}

TEST(RunMachineLateness, AMemberThatIsAwayAndBackInTimeGoesOnAsIfNothingHadBeen) {
  Story run({.workers = 2, .rounds = 2}, 2);
  run.Begin(2);
  run.Upload(1, 1, 1);
  EXPECT_THAT(run.Lost(1), IsEmpty());
  EXPECT_THAT(run.Upload(0, 1, 2),
              ElementsAre("MergeChunk 1/0 from 0:10,1:11", "SendSyncChunk 1/0"));
  EXPECT_THAT(run.Pass(milliseconds(1900)), IsEmpty());
  EXPECT_THAT(run.Returned(1), IsEmpty());
  EXPECT_THAT(run.Pass(milliseconds(200)), IsEmpty());
  EXPECT_FALSE(*run.machine().ChunkReceived(1, 1, 0, run.Tick()));
  ASSERT_TRUE(*run.machine().ChunkReceived(1, 1, 1, run.Tick()));
  EXPECT_THAT(run.Pass(seconds(0)), Contains("MergeChunk 1/1 from 0:10,1:11"));
}

TEST(RunMachineLateness, AMemberThatIsAwayIsDroppedOnlyOnceOthersWait) {
  Story run({.workers = 2, .rounds = 2}, 2);
  run.Begin(2);
  run.Upload(1, 1, 1);
  run.Lost(1);
  EXPECT_EQ(run.Ahead(), std::nullopt);
  EXPECT_THAT(run.Pass(hours(1)), IsEmpty());  // worker 0 still trains
  EXPECT_THAT(run.Upload(0, 1, 2),
              ElementsAre("MergeChunk 1/0 from 0:10,1:11", "SendSyncChunk 1/0"));
  const auto actions = run.TakeAtDeadline();
  ASSERT_EQ(actions.size(), 3u);
  EXPECT_EQ(ActionText(actions[0]), "MemberLate 1 1/1 missing 1");
  EXPECT_THAT(ReasonIn(actions), HasSubstr("chunk 1 of round 1 is closed without worker 1: its "
                                           "connection broke and it has not come back in time; 1 "
                                           "other(s) are done"));
  EXPECT_EQ(ActionText(actions[1]), "DropWorker 1 UNAVAILABLE");
  EXPECT_EQ(ActionText(actions[2]), "MergeChunk 1/1 from 0:10");
  EXPECT_EQ(run.machine().membership().stage(1), std::nullopt);
  EXPECT_EQ(run.machine().WorkerReturned(1, run.Tick()).code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(*run.machine().Join(1, run.Tick()), 1);
}

TEST(RunMachineLateness, AMemberThatIsAwayNeedsNoQuorumToBeDropped) {
  Story run({.workers = 4, .rounds = 2, .quorum = 1}, 1);
  run.Begin(4);
  for (const WorkerId w : {1, 2, 3}) run.Lost(w);
  EXPECT_THAT(run.Upload(0, 1, 1), IsEmpty());
  EXPECT_THAT(run.PassToDeadline(), Not(Contains(HasSubstr("StartRound"))));
  while (const auto ahead = run.Ahead()) run.Pass(*ahead);
  EXPECT_THAT(run.machine().open_round(2)->present(), ElementsAre(0));
}

TEST(RunMachineLateness, AMemberThatIsAwayTooLongIsNotInTheNextRound) {
  for (const bool barrier : {false, true}) {
    Story run({.workers = 2, .rounds = 2, .barrier = barrier}, 1);
    run.Begin(2);
    run.Upload(1, 1, 1);
    run.Lost(1);
    EXPECT_THAT(run.Pass(seconds(3)), IsEmpty());
    auto texts = run.Upload(0, 1, 1);
    if (barrier) texts = run.Report(0, 1);
    while (const auto ahead = run.Ahead()) texts = run.Pass(*ahead);
    EXPECT_THAT(run.machine().open_round(2)->present(), ElementsAre(0));
  }
}

TEST(RunMachineLateness, WhereAllAreAwayNobodyIsDroppedAndTheFirstThatIsBackGivesTheOthersTime) {
  Story run({.workers = 3, .rounds = 2}, 1);
  run.Begin(3);
  run.Upload(0, 1, 1);
  for (const WorkerId w : {0, 1, 2}) run.Lost(w);
  EXPECT_EQ(run.Ahead(), std::nullopt);
  EXPECT_THAT(run.Pass(hours(1)), IsEmpty());
  run.Returned(0);
  EXPECT_THAT(run.Pass(seconds(1)), IsEmpty());
  run.Returned(1);
  EXPECT_THAT(run.Pass(seconds(1)),
              IsSupersetOf({"MemberLate 2 1/0 missing 1", "DropWorker 2 UNAVAILABLE"}));
}

TEST(RunMachineLateness, WhereAllAreAwayAWorkerThatWaitsForARoundTakesTheirPlace) {
  for (const bool barrier : {false, true}) {
    Story run({.workers = 2, .rounds = 3, .barrier = barrier}, 2);
    run.Begin(2);
    run.Left(1);
    run.Upload(0, 1, 1);
    run.Lost(0);
    run.Join(1);
    run.Ready(1);
    ASSERT_TRUE(run.Ahead());
    EXPECT_THAT(run.PassToDeadline(),
                IsSupersetOf({"MemberLate 0 1/1 missing 1", "DropWorker 0 UNAVAILABLE",
                              "MergeChunk 1/1 from ", "CommitRound 1", "EndRound 1"}));
    EXPECT_THAT(run.CaughtUp(1, 1), ElementsAre("StartRound 2 members 1"));
  }
}

TEST(RunMachineLateness, AHungMemberIsClosedOutAfterPatienceTimesItsUsualTime) {
  Story run({.workers = 3, .rounds = 9, .patience = 2}, 2);
  run.Begin(3);
  for (const uint32_t round : {1u, 2u}) Round(run, 3, round, 2, seconds(10), seconds(1));
  run.Pass(seconds(9));
  for (const WorkerId w : {0, 1}) run.Upload(w, 3, 2);
  // 3 s and twice 11 s: the round was started at the commit, and the first second went by with the
  // report of the one before.
  const Nanoseconds started = run.machine().open_round(3)->started();
  run.Pass(started + seconds(24) - run.now());
  ASSERT_TRUE(run.Ahead());
  const auto actions = run.TakeAtDeadline();
  EXPECT_EQ(ActionText(actions.at(0)), "MemberLate 2 3/0 missing 2");
  EXPECT_THAT(ReasonIn(actions), HasSubstr("chunk 0 of round 3 is closed without worker 2: 25.0 s "
                                           "have passed, its p95 of 2 rounds is 11.0 s; 2 other(s) "
                                           "are done, the last after 10.0 s"));
  EXPECT_EQ(ActionText(actions.at(1)), "CatchUp 2");
  EXPECT_EQ(ActionText(actions.at(2)), "MergeChunk 3/0 from 0:10,1:11");
  EXPECT_EQ(ActionText(actions.at(3)), "MergeChunk 3/1 from 0:10,1:11");
  EXPECT_EQ(run.machine().membership().stage(2), WorkerStage::kReady);
}

TEST(RunMachineLateness, InTheFirstRoundTheOthersAreTheMeasure) {
  Story run({.workers = 2, .rounds = 2, .patience = 3}, 1);
  run.Begin(2);
  run.Pass(seconds(20));
  run.Upload(0, 1, 1);
  ASSERT_TRUE(run.Ahead());
  EXPECT_NEAR(static_cast<double>(run.Ahead()->count()), 43e9, 1e6);  // 3 s + 3 * 20 s - 20 s
  EXPECT_THAT(ReasonIn(run.TakeAtDeadline()), HasSubstr("its usual time is not known"));
}

TEST(RunMachineLateness, WithABarrierTheWholeDeltaIsAwaited) {
  Story run({.workers = 2, .rounds = 2, .barrier = true, .patience = 1}, 2);
  run.Begin(2);
  run.Pass(seconds(5));
  run.Upload(1, 1, 1);
  run.Upload(0, 1, 2);
  EXPECT_THAT(run.PassToDeadline(),
              ElementsAre("MemberLate 1 1/1 missing 1", "CatchUp 1",
                          "MergeChunk 1/0 from 0:10,1:11", "MergeChunk 1/1 from 0:10",
                          "SendSyncChunk 1/0", "SendSyncChunk 1/1", "CommitRound 1"));
}

TEST(RunMachineLateness, WithoutPatienceNobodyThatIsConnectedIsLate) {
  Story run({.workers = 2, .rounds = 2, .patience = 0}, 1);
  run.Begin(2);
  run.Upload(0, 1, 1);
  EXPECT_EQ(run.Ahead(), std::nullopt);
  EXPECT_THAT(run.Pass(hours(10)), IsEmpty());
  run.Lost(1);
  EXPECT_THAT(run.Pass(seconds(2)), Contains("MemberLate 1 1/0 missing 1"));
}

TEST(RunMachineLateness, WithoutAQuorumNobodyThatIsConnectedIsLate) {
  Story run({.workers = 4, .rounds = 2}, 1);
  run.Begin(4);
  run.Upload(0, 1, 1);
  EXPECT_THAT(run.Pass(hours(10)), IsEmpty());
  run.Upload(1, 1, 1);
  EXPECT_THAT(run.Pass(hours(50)), IsSupersetOf({"CatchUp 2", "CatchUp 3"}));
}

TEST(RunMachineLateness, NobodyIsClosedOutForTheSakeOfThoseThatAreGone) {
  for (const bool away : {true, false}) {
    Story run({.workers = 2, .rounds = 2}, 1);
    run.Begin(2);
    run.Upload(0, 1, 1);
    if (away) run.Lost(0);
    if (!away) run.Left(0);
    EXPECT_EQ(run.Ahead(), std::nullopt);
    EXPECT_THAT(run.Pass(hours(1)), IsEmpty());
    if (away) run.Returned(0);
    if (!away) run.Join(0);
    if (!away) run.Ready(0);
    EXPECT_THAT(run.Pass(seconds(0)), Contains("CatchUp 1"));
  }
}

TEST(RunMachineLateness, OneThatDeliveredAndLeftIsNoMeasureForThoseThatAreStillThere) {
  Story run({.workers = 3, .rounds = 2}, 1);
  run.Begin(3);
  run.Upload(0, 1, 1);
  run.Left(0);
  EXPECT_THAT(run.Pass(hours(1)), IsEmpty());
  run.Upload(1, 1, 1);
  EXPECT_THAT(run.Pass(hours(2)), IsEmpty());  // three times as long as worker 1 has taken
  EXPECT_THAT(run.Pass(seconds(4)), Contains("CatchUp 2"));
}

TEST(RunMachineLateness, OneThatIsSlowerForGoodIsGivenTwiceThePatienceEachTimeUntilItIsInTime) {
  Story run({.workers = 3, .rounds = 9}, 1);
  run.Begin(3);
  std::vector<int64_t> waited;
  for (uint32_t round = 1; round <= 3; ++round) {
    run.Pass(seconds(10));
    for (const WorkerId w : {0, 1}) run.Upload(w, round, 1);
    ASSERT_TRUE(run.Ahead());
    waited.push_back((*run.Ahead() + Nanoseconds(500'000'000)) / seconds(1));
    EXPECT_THAT(run.Pass(*run.Ahead()), Contains("CatchUp 2"));
    for (const WorkerId w : {0, 1}) run.Report(w, round);
    run.CaughtUp(2, round);
    run.Pass(seconds(10));  // the round without it
    ++round;
    for (const WorkerId w : {0, 1}) run.Upload(w, round, 1);
    for (const WorkerId w : {0, 1}) run.Report(w, round);
  }
  EXPECT_THAT(waited, ElementsAre(23, 53));
  run.Pass(seconds(10));
  for (const WorkerId w : {0, 1, 2}) run.Upload(w, 5, 1);
  for (const WorkerId w : {0, 1, 2}) run.Report(w, 5);
  run.Pass(seconds(10));
  for (const WorkerId w : {0, 1}) run.Upload(w, 6, 1);
  ASSERT_TRUE(run.Ahead());
  EXPECT_LE(*run.Ahead(), seconds(24));
}

TEST(RunMachineLateness, OneThatHangsInTheLastEvaluationIsNotAwaitedForLong) {
  Story run({.workers = 3, .rounds = 1}, 1);
  run.Begin(3);
  for (const WorkerId w : {0, 1, 2}) run.Upload(w, 1, 1);
  for (const WorkerId w : {0, 1, 2}) run.Report(w, 1);
  EXPECT_THAT(run.Pass(hours(1)), IsEmpty());  // nobody has shown how long it takes
  run.Evaluate(0, 1);
  EXPECT_THAT(run.Pass(hours(2)), IsEmpty());
  EXPECT_THAT(run.Pass(seconds(31)),
              ElementsAre("DropWorker 1 UNAVAILABLE", "DropWorker 2 UNAVAILABLE", "EndRun OK"));
}

TEST(RunMachineLateness, WhatALateMemberSaysOfItsRoundIsNoFault) {
  Story run({.workers = 3, .rounds = 4, .evaluate_every = 1}, 2);
  run.Begin(3);
  for (const WorkerId w : {0, 1, 2}) run.Upload(w, 1, 2);
  for (const WorkerId w : {0, 1, 2}) run.Report(w, 1);
  for (const WorkerId w : {0, 1}) {
    run.Evaluate(w, 1);
    run.Upload(w, 2, 1);
  }
  run.Upload(0, 2, 2);
  EXPECT_THAT(run.PassToDeadline(),
              ElementsAre("MemberLate 2 2/0 missing 2", "CatchUp 2",
                          "MergeChunk 2/0 from 0:10,1:11", "SendSyncChunk 2/0"));
  // It evaluated for too long, and goes on before it hears that it is late.
  run.Evaluate(2, 1);
  ASSERT_TRUE(run.machine().UploadBegun(2, 2, 12, run.Tick()).ok());
  EXPECT_FALSE(*run.machine().ChunkReceived(2, 2, 0, run.Tick()));
  EXPECT_TRUE(*run.machine().ChunkReceived(2, 2, 1, run.Tick()));  // not ordered yet
  EXPECT_THAT(run.Upload(1, 2, 2),
              IsSupersetOf({"MergeChunk 2/1 from 0:10,1:11,2:12", "CommitRound 2"}));
  run.Report(2, 2);
  for (const WorkerId w : {0, 1}) run.Report(w, 2);
  // And when the round is over.
  run.Report(2, 2);
  run.Evaluate(2, 1);
  EXPECT_EQ(run.machine().UploadBegun(2, 2, 12, run.Tick()).code(), StatusCode::kAborted);
  EXPECT_EQ(run.machine().ChunkReceived(2, 2, 1, run.Tick()).status().code(), StatusCode::kAborted);
  EXPECT_EQ(run.machine().RoundReported(2, 2, RootOf(9), run.Tick()).code(), StatusCode::kDataLoss);
}

TEST(RunMachineLateness, TheNextDeltaOfALateReporterIsDiscarded) {
  Story run({.workers = 3, .rounds = 4}, 1);
  run.Begin(3);
  for (const WorkerId w : {0, 1, 2}) run.Upload(w, 1, 1);
  for (const WorkerId w : {0, 1}) run.Report(w, 1);
  run.Upload(2, 2, 1);  // overtakes the report that does not come
  const auto actions = run.TakeAtDeadline();
  EXPECT_THAT(ReasonIn(actions), HasSubstr("round 1 goes on without the report of worker 2"));
  ASSERT_EQ(actions.size(), 3u);
  EXPECT_EQ(ActionText(actions[0]), "MemberLate 2 1/1 missing 0");
  EXPECT_EQ(ActionText(actions[1]), "CatchUp 2");
  EXPECT_EQ(ActionText(actions[2]), "EndRound 1");
  EXPECT_EQ(run.machine().ChunkReceived(2, 2, 0, run.Tick()).status().code(), StatusCode::kAborted);
  run.Upload(0, 2, 1);
  EXPECT_THAT(run.Upload(1, 2, 1), Contains("MergeChunk 2/0 from 0:10,1:11"));
}

TEST(RunMachineLateness, ALateMemberCatchesUpAndIsAMemberAgain) {
  Story run({.workers = 3, .rounds = 4}, 1);
  run.Begin(3);
  for (const WorkerId w : {0, 1}) run.Upload(w, 1, 1);
  EXPECT_THAT(
      run.PassToDeadline(),
      ElementsAre("MemberLate 2 1/0 missing 1", "CatchUp 2", "MergeChunk 1/0 from 0:10,1:11",
                  "SendSyncChunk 1/0", "CommitRound 1", "StartRound 2 members 0,1"));
  EXPECT_THAT(run.CaughtUp(2, 1), IsEmpty());
  for (const WorkerId w : {0, 1}) run.Report(w, 1);
  run.Upload(0, 2, 1);
  EXPECT_THAT(run.Upload(1, 2, 1), Contains("StartRound 3 members 0,1,2"));
}

TEST(RunMachineLateness, AMemberThatIsLateInTheFinishIsDropped) {
  Story run({.workers = 3, .rounds = 1}, 1);
  run.Begin(3);
  for (const WorkerId w : {0, 1, 2}) run.Upload(w, 1, 1);
  for (const WorkerId w : {0, 1}) {
    run.Report(w, 1);
    run.Evaluate(w, 1);
  }
  EXPECT_THAT(run.PassToDeadline(),
              ElementsAre("MemberLate 2 1/1 missing 0", "DropWorker 2 UNAVAILABLE", "EndRound 1",
                          "EndRun OK"));
}

TEST(RunMachineLateness, AMemberThatIsAwayInTheFinishIsDropped) {
  Story run({.workers = 2, .rounds = 1}, 1);
  run.Begin(2);
  for (const WorkerId w : {0, 1}) run.Upload(w, 1, 1);
  for (const WorkerId w : {0, 1}) run.Report(w, 1);
  run.Evaluate(0, 1);
  run.Lost(1);
  EXPECT_THAT(run.PassToDeadline(), ElementsAre("DropWorker 1 UNAVAILABLE", "EndRun OK"));
}

TEST(RunMachineLateness, ALostWorkerThatIsNoMemberHasLeft) {
  Story run({.workers = 2, .rounds = 2}, 1);
  run.Begin(2);
  run.Left(1);
  run.Join(1);
  run.Ready(1);
  EXPECT_THAT(run.Lost(1), IsEmpty());
  EXPECT_FALSE(run.machine().is_away(1));
  EXPECT_EQ(run.machine().membership().stage(1), std::nullopt);
}

TEST(RunMachineLateness, AWorkerThatJoinsTakesThePlaceOfOneThatIsAway) {
  Story run({.workers = 2, .rounds = 1}, 1);
  run.Begin(2);
  EXPECT_EQ(run.machine().ReplacedBy(1), std::nullopt);  // is there
  run.Lost(1);
  EXPECT_EQ(run.machine().ReplacedBy(1), 1);
  EXPECT_EQ(run.machine().ReplacedBy(0), std::nullopt);
  EXPECT_EQ(run.machine().ReplacedBy({}), 1);  // all ids are taken
  run.Left(0);
  EXPECT_EQ(run.machine().ReplacedBy({}), std::nullopt);
  run.Returned(1);
  run.Upload(1, 1, 1);
  run.Lost(1);
  EXPECT_EQ(run.machine().ReplacedBy(1), 1) << "somebody has to score";
  run.Returned(1);
  EXPECT_EQ(run.machine().stage(), RunMachine::Stage::kFinishing);
  EXPECT_EQ(run.machine().ReplacedBy(1), std::nullopt) << "nobody can join any more";
}

TEST(RunMachineLateness, EachTickAtItsDeadlineDoesSomethingAndLeavesALaterOneOrNone) {
  for (const bool barrier : {false, true}) {
    Story run({.workers = 5, .rounds = 3, .barrier = barrier, .quorum = 0.2}, 3);
    run.Begin(5);
    run.Upload(0, 1, 3);
    run.Upload(1, 1, 2);
    run.Pass(milliseconds(100));
    run.Lost(2);
    run.Pass(milliseconds(100));
    run.Lost(3);
    int ticks = 0;
    while (const auto ahead = run.Ahead()) {
      EXPECT_GT(*ahead, Nanoseconds(0));
      EXPECT_THAT(run.Pass(*ahead - Nanoseconds(1)), IsEmpty());
      EXPECT_THAT(run.Pass(Nanoseconds(1)), Not(IsEmpty()));
      ASSERT_LT(++ticks, 10);
    }
    EXPECT_GE(ticks, 3);
    EXPECT_EQ(run.machine().committed_rounds(), 1u);
  }
}

}  // namespace
}  // namespace interlude
