// Turns of a run that deserve a name: the base, late joining, leaving, overtaking, the end.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "protocol/run_machine_test_story.h"

namespace interlude {
namespace {

using Stage = RunMachine::Stage;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(RunMachineScenario, TheBaseIsAskedForAgainWhenItsGiverIsLost) {
  Story run({.workers = 2}, 1);
  for (const WorkerId w : {0, 1}) run.Join(w);
  run.Ready(0);
  EXPECT_THAT(run.Ready(1), ElementsAre("AskForBase 0"));
  EXPECT_THAT(run.Left(0), IsEmpty());
  EXPECT_EQ(run.machine().stage(), Stage::kGathering);
  run.Join(0);
  EXPECT_THAT(run.Ready(0), ElementsAre("AskForBase 0"));
  run.Left(0);
  EXPECT_EQ(run.machine().BaseReceived(1, run.Tick()).code(), StatusCode::kFailedPrecondition);
}

TEST(RunMachineScenario, TheBaseIsAskedOfOneThatMayProvideIt) {
  Story run({.workers = 3}, 1);
  for (const WorkerId w : {0, 1, 2}) run.Join(w);
  run.Ready(0, false);
  run.Ready(1, false);
  EXPECT_THAT(run.Ready(2), ElementsAre("AskForBase 2"));
  // Whoever comes in the place of one that could not may be able to.
  run.Left(2);
  run.Left(0);
  run.Join(0);
  run.Join(2);
  EXPECT_THAT(run.Ready(2, false), IsEmpty());
  EXPECT_THAT(run.Ready(0), ElementsAre("AskForBase 0"));
}

TEST(RunMachineScenario, ARunWithoutAnybodyWhoMayProvideTheBaseEndsAndSaysWhy) {
  Story run({.workers = 2}, 1);
  for (const WorkerId w : {0, 1}) run.Join(w);
  run.Ready(0, false);
  EXPECT_EQ(run.machine().stage(), Stage::kGathering);
  EXPECT_THAT(run.Ready(1, false), ElementsAre(HasSubstr("EndRun")));
  EXPECT_EQ(run.machine().stage(), Stage::kEnded);
  EXPECT_THAT(run.machine().CaughtUp(0, 0, run.Tick()).message(), HasSubstr("model.pretrained"));
}

TEST(RunMachineScenario, ABaseInTransitOutlivesTheLossOfAnotherWorkerAndIsNotAskedForTwice) {
  Story run({.workers = 2}, 1);
  for (const WorkerId w : {0, 1}) {
    run.Join(w);
    run.Ready(w);
  }
  run.Left(1);
  EXPECT_EQ(run.machine().stage(), Stage::kGathering);
  run.Join(1);
  EXPECT_THAT(run.Ready(1), IsEmpty());
  EXPECT_EQ(run.machine().stage(), Stage::kAwaitingBase);
  EXPECT_THAT(run.Base(0), ElementsAre("CatchUp 0", "CatchUp 1", "StartRound 1 members 0,1"));
}

TEST(RunMachineScenario, ABaseThatCameWhileGatheringIsKept) {
  Story run({.workers = 2}, 1);
  for (const WorkerId w : {0, 1}) {
    run.Join(w);
    run.Ready(w);
  }
  run.Left(1);
  EXPECT_THAT(run.Base(0), IsEmpty());
  run.Left(0);  // even its giver may go
  for (const WorkerId w : {0, 1}) run.Join(w);
  run.Ready(0);
  EXPECT_THAT(run.Ready(1), ElementsAre("CatchUp 0", "CatchUp 1", "StartRound 1 members 0,1"));
}

TEST(RunMachineScenario, ALateWorkerBeginsWithTheRoundThatStartsAfterItHasCaughtUp) {
  Story run({.workers = 2, .rounds = 4}, 1);
  run.Begin(2);
  run.Left(1);
  run.Join(1);
  EXPECT_THAT(run.Ready(1), ElementsAre("CatchUp 1"));
  EXPECT_EQ(run.machine().UploadBegun(1, 1, 11, run.Tick()).code(), StatusCode::kAborted);
  // The round of the others goes on meanwhile.
  EXPECT_THAT(run.Upload(0, 1, 1), ElementsAre("MergeChunk 1/0 from 0:10", "SendSyncChunk 1/0",
                                               "CommitRound 1", "StartRound 2 members 0"));
  EXPECT_THAT(run.Report(0, 1), ElementsAre("EndRound 1"));
  EXPECT_THAT(run.CaughtUp(1, 0), IsEmpty());
  EXPECT_EQ(run.machine().UploadBegun(1, 2, 11, run.Tick()).code(),
            StatusCode::kFailedPrecondition);
  EXPECT_THAT(run.Upload(0, 2, 1), ElementsAre("MergeChunk 2/0 from 0:10", "SendSyncChunk 2/0",
                                               "CommitRound 2", "StartRound 3 members 0,1"));
  // Round 2 awaits only its own members.
  EXPECT_EQ(run.machine().RoundReported(1, 2, RootOf(2), run.Tick()).code(),
            StatusCode::kFailedPrecondition);
  EXPECT_THAT(run.Report(0, 2), ElementsAre("EndRound 2"));
  EXPECT_THAT(run.Upload(0, 3, 1), IsEmpty());
  EXPECT_THAT(run.CaughtUp(1, 2), IsEmpty());  // what it lacked at its first round's start
}

TEST(RunMachineScenario, AWorkerThatIsStillFarBehindIsAskedToCatchUpAgain) {
  Story run({.workers = 2, .rounds = 4}, 1);
  run.Begin(2);
  run.Left(1);
  run.Join(1);
  run.Ready(1);
  for (const uint32_t round : {1u, 2u}) {
    run.Upload(0, round, 1);
    run.Report(0, round);
  }
  EXPECT_THAT(run.CaughtUp(1, 0), ElementsAre("CatchUp 1"));
  EXPECT_THAT(run.Upload(0, 3, 1), Contains("StartRound 4 members 0"));
  EXPECT_THAT(run.CaughtUp(1, 1), ElementsAre("CatchUp 1"));
  EXPECT_THAT(run.CaughtUp(1, 3), IsEmpty());
  EXPECT_EQ(run.machine().membership().stage(1), WorkerStage::kCaughtUp);
}

TEST(RunMachineScenario, AWorkerThatDiesOrLiesWhileItCatchesUpChangesNothingForTheOthers) {
  for (const bool barrier : {false, true}) {
    Story run({.workers = 2, .rounds = 2, .barrier = barrier}, 1);
    run.Begin(2);
    run.Left(1);
    run.Join(1);
    EXPECT_EQ(run.machine().CaughtUp(1, 0, run.Tick()).code(), StatusCode::kFailedPrecondition);
    run.Ready(1);
    EXPECT_EQ(run.machine().CaughtUp(1, 1, run.Tick()).code(), StatusCode::kInvalidArgument);
    EXPECT_THAT(run.Left(1), IsEmpty());
    run.Upload(0, 1, 1);
    run.Report(0, 1);
    run.Upload(0, 2, 1);
    run.Report(0, 2);
    EXPECT_THAT(run.Evaluate(0, 2), ElementsAre("EndRun OK"));
  }
}

TEST(RunMachineScenario, WithABarrierTheNextRoundStartsWhenTheLastReportIsIn) {
  Story run({.workers = 2, .rounds = 2, .barrier = true}, 2);
  run.Begin(2);
  EXPECT_THAT(run.Upload(0, 1, 2), IsEmpty());
  EXPECT_THAT(run.Upload(1, 1, 2),
              ElementsAre("MergeChunk 1/0 from 0:10,1:11", "MergeChunk 1/1 from 0:10,1:11",
                          "SendSyncChunk 1/0", "SendSyncChunk 1/1", "CommitRound 1"));
  EXPECT_THAT(run.Report(1, 1), IsEmpty());
  EXPECT_EQ(run.machine().UploadBegun(1, 2, 11, run.Tick()).code(),
            StatusCode::kFailedPrecondition);
  EXPECT_THAT(run.Report(0, 1), ElementsAre("EndRound 1", "StartRound 2 members 0,1"));
}

TEST(RunMachineScenario, WithABarrierNoSyncChunkIsSentBetweenTwoMerges) {
  Story run({.workers = 1, .rounds = 1, .barrier = true}, 2);
  run.Begin(1);
  RunMachine& machine = run.machine();
  ASSERT_TRUE(machine.UploadBegun(0, 1, 10, run.Tick()).ok());
  for (const uint32_t chunk : {0u, 1u})
    ASSERT_TRUE(machine.ChunkReceived(0, 1, chunk, run.Tick()).ok());
  ASSERT_EQ(machine.TakeActions().size(), 2u);
  machine.ChunkMerged(1, 0, run.Tick());
  EXPECT_THAT(machine.TakeActions(), IsEmpty());
  machine.ChunkMerged(1, 1, run.Tick());
  EXPECT_EQ(machine.TakeActions().size(), 3u);  // two sync chunks and the commit
}

TEST(RunMachineScenario, WithABarrierTheFinishWaitsForTheLastReport) {
  Story run({.workers = 1, .rounds = 1, .barrier = true}, 1);
  run.Begin(1);
  run.Upload(0, 1, 1);
  EXPECT_EQ(run.machine().stage(), Stage::kRounds);
  EXPECT_THAT(run.Report(0, 1), ElementsAre("EndRound 1", "Finish 0"));
  EXPECT_THAT(run.Evaluate(0, 1), ElementsAre("EndRun OK"));
}

TEST(RunMachineScenario, ADeltaCountsThoughItsWorkerLeft) {
  Story run({.workers = 2, .rounds = 2}, 2);
  run.Begin(2);
  run.Upload(1, 1, 1);
  EXPECT_THAT(run.Left(1), IsEmpty());
  EXPECT_THAT(run.Upload(0, 1, 2), ElementsAre("MergeChunk 1/0 from 0:10,1:11", "SendSyncChunk 1/0",
                                               "MergeChunk 1/1 from 0:10", "SendSyncChunk 1/1",
                                               "CommitRound 1", "StartRound 2 members 0"));
}

TEST(RunMachineScenario, AnUploadThatOvertakesAReportWaitsForTheEndOfTheRoundBefore) {
  Story run({.workers = 2, .rounds = 2}, 1);
  run.Begin(2);
  for (const WorkerId w : {0, 1}) run.Upload(w, 1, 1);
  EXPECT_THAT(run.Upload(0, 2, 1), IsEmpty());
  EXPECT_THAT(run.Upload(1, 2, 1), IsEmpty());
  EXPECT_THAT(run.Report(0, 1), IsEmpty());
  EXPECT_THAT(run.Report(1, 1), ElementsAre("EndRound 1", "MergeChunk 2/0 from 0:10,1:11",
                                            "SendSyncChunk 2/0", "CommitRound 2", "Finish 0,1"));
}

TEST(RunMachineScenario, AWrongRootTakesTheNextDeltaOfItsWorkerWithIt) {
  Story run({.workers = 2, .rounds = 2}, 1);
  run.Begin(2);
  for (const WorkerId w : {0, 1}) run.Upload(w, 1, 1);
  run.Upload(1, 2, 1);  // overtakes its report
  const Status wrong = run.machine().RoundReported(1, 1, RootOf(9), run.Tick());
  EXPECT_EQ(wrong.code(), StatusCode::kDataLoss);
  EXPECT_THAT(wrong.message(), HasSubstr(RootOf(9).ToHex().substr(0, 12)));
  EXPECT_THAT(wrong.message(), HasSubstr(RootOf(1).ToHex().substr(0, 12)));
  run.Report(0, 1);
  run.Upload(0, 2, 1);
  EXPECT_THAT(run.Left(1), ElementsAre("EndRound 1", "MergeChunk 2/0 from 0:10",
                                       "SendSyncChunk 2/0", "CommitRound 2", "Finish 0"));
}

TEST(RunMachineScenario, ARoundThatAllLeftIsClosedAsItIsWhereOthersWait) {
  Story run({.workers = 2, .rounds = 2}, 2);
  run.Begin(2);
  run.Left(1);
  run.Join(1);
  run.Ready(1);
  run.Upload(0, 1, 1);
  EXPECT_THAT(run.Left(0), ElementsAre("MergeChunk 1/1 from ", "SendSyncChunk 1/1", "CommitRound 1",
                                       "EndRound 1"));
  EXPECT_THAT(run.CaughtUp(1, 1), ElementsAre("StartRound 2 members 1"));
}

TEST(RunMachineScenario, ARoundThatAllLeftWaitsForAWorkerToBeClosed) {
  for (const bool barrier : {false, true}) {
    Story run({.workers = 2, .rounds = 1, .barrier = barrier}, 2);
    run.Begin(2);
    run.Left(1);
    EXPECT_THAT(run.Left(0), ElementsAre("AwaitWorkers"));
    EXPECT_EQ(run.machine().NextDeadline(), std::nullopt);
    EXPECT_THAT(run.Join(0), IsEmpty());
    EXPECT_THAT(run.Ready(0),
                testing::IsSupersetOf({"CatchUp 0", "MergeChunk 1/0 from ", "MergeChunk 1/1 from ",
                                       "CommitRound 1", "EndRound 1"}));
    EXPECT_THAT(run.CaughtUp(0, 1), ElementsAre("Finish 0"));
    EXPECT_THAT(run.Evaluate(0, 1), ElementsAre("EndRun OK"));
  }
}

TEST(RunMachineScenario, ACommitThatNoMemberOutlivedIsGoneOnFromByTheFirstThatHasCaughtUp) {
  for (const bool barrier : {false, true}) {
    for (const bool caught_up_before : {false, true}) {
      Story run({.workers = 3, .rounds = 3, .barrier = barrier}, 2);
      run.Begin(3);
      run.Left(1);
      run.Join(1);
      run.Ready(1);
      if (caught_up_before) run.CaughtUp(1, 0);
      run.Upload(0, 1, 2);
      run.Left(0);
      std::vector<std::string> texts = run.Left(2);
      if (!caught_up_before) {
        EXPECT_THAT(texts, testing::Not(Contains(HasSubstr("StartRound"))));
        texts.push_back(run.CaughtUp(1, 1).at(0));
      }
      EXPECT_THAT(texts,
                  testing::IsSupersetOf({"MergeChunk 1/0 from 0:10", "MergeChunk 1/1 from 0:10",
                                         "CommitRound 1", "EndRound 1", "StartRound 2 members 1"}));
      EXPECT_EQ(run.machine().stage(), Stage::kRounds);
      // Nobody left round 1 a report, so it ended with its commit, and round 2 begins there.
      EXPECT_GT(run.last_end(), Nanoseconds{0});
      EXPECT_EQ(run.machine().open_round(2)->times().begin, run.last_end());
    }
  }
}

TEST(RunMachineScenario, TheRunWaitsWhenTheLastThatCatchesUpIsLostToo) {
  Story run({.workers = 2, .rounds = 3, .barrier = true}, 1);
  run.Begin(2);
  run.Left(1);
  run.Join(1);
  run.Ready(1);
  run.Upload(0, 1, 1);
  EXPECT_THAT(run.Left(0), ElementsAre("EndRound 1"));
  EXPECT_THAT(run.Left(1), ElementsAre("AwaitWorkers"));
  run.Join(0);
  run.Ready(0);
  EXPECT_THAT(run.Left(0), ElementsAre("AwaitWorkers"));
  run.Join(0);
  run.Ready(0);
  EXPECT_THAT(run.CaughtUp(0, 1), ElementsAre("StartRound 2 members 0"));
}

TEST(RunMachineScenario, TheRunWaitsAtACommitThatNobodyOutlivedAndBeginsItsTimesAnew) {
  Story run({.workers = 2, .rounds = 2, .barrier = true}, 1);
  run.Begin(2);
  for (const WorkerId w : {0, 1}) run.Upload(w, 1, 1);
  run.Left(0);
  EXPECT_THAT(run.Left(1), ElementsAre("EndRound 1", "AwaitWorkers"));
  run.Pass(std::chrono::hours(1));
  for (const WorkerId w : {0, 1}) {
    run.Join(w);
    run.Ready(w);
  }
  run.CaughtUp(0, 1);
  EXPECT_EQ(run.machine().open_round(2)->times().begin, run.last_end());
  EXPECT_GE(run.machine().open_round(2)->started(), std::chrono::hours(1));
}

TEST(RunMachineScenario, WithoutAMemberTheFirstThatHasCaughtUpScoresTheFinalBase) {
  Story run({.workers = 2, .rounds = 1, .barrier = true}, 1);
  run.Begin(2);
  for (const WorkerId w : {0, 1}) run.Upload(w, 1, 1);
  run.Left(0);
  run.Join(0);
  run.Ready(0);
  EXPECT_THAT(run.CaughtUp(0, 1), IsEmpty());
  EXPECT_THAT(run.Left(1), ElementsAre("EndRound 1", "Finish 0"));
  EXPECT_THAT(run.Evaluate(0, 1), ElementsAre("EndRun OK"));
}

TEST(RunMachineScenario, AWorkerThatWaitedTooLongIsDroppedAtTheFinish) {
  Story run({.workers = 3, .rounds = 1}, 1);
  run.Begin(3);
  for (const WorkerId w : {1, 2}) {
    run.Left(w);
    run.Join(w);
  }
  run.Ready(2);
  EXPECT_THAT(run.Upload(0, 1, 1),
              ElementsAre("MergeChunk 1/0 from 0:10", "SendSyncChunk 1/0", "CommitRound 1",
                          "Finish 0", "DropWorker 1 UNAVAILABLE", "DropWorker 2 UNAVAILABLE"));
}

TEST(RunMachineScenario, OneEvaluationIsEnoughToEndWell) {
  Story run({.workers = 2, .rounds = 1}, 1);
  run.Begin(2);
  for (const WorkerId w : {0, 1}) run.Upload(w, 1, 1);
  for (const WorkerId w : {0, 1}) run.Report(w, 1);
  run.Evaluate(0, 1);
  EXPECT_THAT(run.Left(1), ElementsAre("EndRun OK"));
}

TEST(RunMachineScenario, WithoutAnEvaluationTheRunWaitsForAWorkerThatMakesOne) {
  Story run({.workers = 2, .rounds = 1}, 1);
  run.Begin(2);
  for (const WorkerId w : {0, 1}) run.Upload(w, 1, 1);
  for (const WorkerId w : {0, 1}) run.Report(w, 1);
  run.Left(0);
  EXPECT_THAT(run.Left(1), ElementsAre("AwaitWorkers"));
  run.Join(0);
  EXPECT_THAT(run.Ready(0), ElementsAre("CatchUp 0"));
  EXPECT_THAT(run.CaughtUp(0, 1), ElementsAre("Finish 0"));
  EXPECT_THAT(run.Evaluate(0, 1), ElementsAre("EndRun OK"));
}

TEST(RunMachineScenario, TheLastEvaluationWaitsForThoseWhoseConnectionBroke) {
  Story run({.workers = 1, .rounds = 1}, 1);
  run.Begin(1);
  run.Upload(0, 1, 1);
  run.Report(0, 1);
  EXPECT_THAT(run.Lost(0), IsEmpty());
  EXPECT_THAT(run.Pass(std::chrono::hours(1)), IsEmpty());
  EXPECT_THAT(run.Returned(0), ElementsAre("Finish 0"));
  EXPECT_THAT(run.Evaluate(0, 1), ElementsAre("EndRun OK"));
}

TEST(RunMachineScenario, WhoAwaitsTheReportOfOneThatIsGoneNeedNotBeInItsRound) {
  // Worker 0 alone is in round 1; its delta of round 2 overtook its report, which never comes.
  Story run({.workers = 2, .rounds = 3}, 1);
  run.Begin(2);
  run.Left(1);
  run.Join(1);
  run.Ready(1);
  run.CaughtUp(1, 0);
  EXPECT_THAT(run.Upload(0, 1, 1), Contains("StartRound 2 members 0,1"));
  run.Upload(0, 2, 1);
  run.Lost(0);
  run.Upload(1, 2, 1);
  EXPECT_THAT(run.Pass(std::chrono::seconds(3)),
              testing::IsSupersetOf({"EndRound 1", "MergeChunk 2/0 from 1:11"}));
}

TEST(RunMachineScenario, TheEndWaitsForTheLastReportsThoughTheEvaluationsAreIn) {
  Story run({.workers = 1, .rounds = 1}, 1);
  run.Begin(1);
  run.Upload(0, 1, 1);
  EXPECT_THAT(run.Evaluate(0, 1), IsEmpty());
  EXPECT_THAT(run.Report(0, 1), ElementsAre("EndRound 1", "EndRun OK"));
}

TEST(RunMachineScenario, AStopEndsTheRunWithItsReasonOnce) {
  Story run({.workers = 1, .rounds = 1}, 1);
  run.machine().Stop(CancelledError("Ctrl-C"), run.Tick());
  run.machine().Stop(CancelledError("again"), run.Tick());
  const std::vector<Action> actions = run.machine().TakeActions();
  ASSERT_EQ(actions.size(), 1u);
  EXPECT_EQ(std::get<EndRun>(actions[0]).status.message(), "Ctrl-C");
  EXPECT_EQ(run.machine().Join({}, run.Tick()).status().code(), StatusCode::kUnavailable);
}

TEST(RunMachineScenario, TheRecordOfARoundIsThereWhileItsEndIsCarriedOut) {
  Story run({.workers = 1, .rounds = 2}, 1);
  run.Begin(1);
  run.Upload(0, 1, 1);
  ASSERT_TRUE(run.machine().RoundReported(0, 1, RootOf(1), Nanoseconds{500}).ok());
  ASSERT_EQ(run.machine().TakeActions().size(), 1u);  // EndRound 1
  ASSERT_NE(run.machine().open_round(1), nullptr);
  EXPECT_EQ(run.machine().open_round(1)->times().end, Nanoseconds{500});
  EXPECT_EQ(run.machine().open_round(2)->times().begin, Nanoseconds{500});
  EXPECT_THAT(run.machine().TakeActions(), IsEmpty());
  EXPECT_EQ(run.machine().open_round(1), nullptr);
}

}  // namespace
}  // namespace interlude
