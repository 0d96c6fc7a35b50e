// The worker when the coordinator, the line or the model is not as it should be.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <limits>

#include "worker/scripted_coordinator.h"
#include "worker/test_trainer.h"

namespace interlude {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

struct Played {
  StatusOr<WorkerOutcome> outcome;
  Seen seen;
};

Played Play(
    Script script, AfterTraining after_training = {},
    std::function<bool()> stop = [] { return false; }) {
  ScriptedCoordinator coordinator(std::move(script));
  WorkerOptions options{.coordinator = coordinator.address(), .threads = 1};
  StatusOr<WorkerOutcome> outcome =
      RunWorker(options, SyntheticFactory(std::move(after_training)), ManualClock(), stop);
  return {std::move(outcome), coordinator.Finish()};
}

Script SmallScript(ExchangeMode mode = ExchangeMode::kPipelined) {
  Script script{.config = SmallConfig()};
  script.config.round.exchange = mode;
  return script;
}

class WorkerFaults : public ::testing::TestWithParam<ExchangeMode> {};
INSTANTIATE_TEST_SUITE_P(BothModes, WorkerFaults,
                         ::testing::Values(ExchangeMode::kPipelined, ExchangeMode::kBarrier));

TEST(Worker, ARefusalPassesThroughUnchanged) {
  Script script = SmallScript();
  script.refuse_join =
      ResourceExhaustedError("the run was started for 2 workers, and both are here");
  EXPECT_EQ(Play(script).outcome.status(), script.refuse_join);
  script.refuse_join = UnavailableError("the run is over");
  EXPECT_EQ(Play(script).outcome.status(), script.refuse_join);
}

TEST(Worker, SaysWhatToCheckWhenTheCoordinatorCannotBeReached) {
  const WorkerOptions options{
      .coordinator = "127.0.0.1:1", .threads = 1, .connect_timeout = std::chrono::milliseconds(50)};
  const Status status =
      RunWorker(options, SyntheticFactory(), ManualClock(), [] { return false; }).status();
  EXPECT_EQ(status,
            UnavailableError(
                "cannot reach the coordinator at 127.0.0.1:1 for 0.05 s: is it running, is the "
                "address right, does a firewall block it?"));
}

TEST(Worker, SaysSoWhenTheCoordinatorClosesWithoutAWord) {
  Script script = SmallScript();
  script.silent_goodbye = true;
  const Status status = Play(script).outcome.status();
  EXPECT_EQ(status.code(), StatusCode::kUnavailable);
  EXPECT_THAT(status.message(), HasSubstr("closed the session without a word"));
}

TEST_P(WorkerFaults, ADamagedSyncChunkIsFetchedAgainAndAppliedOnce) {
  Script script = SmallScript(GetParam());
  script.on_sync_piece = [](uint32_t attempt, v1::Piece& piece) {
    if (attempt == 0 && piece.chunk() == 2) (*piece.mutable_payload())[3] ^= 4;
    return true;
  };
  const Played run = Play(script);
  ASSERT_TRUE(run.outcome.ok()) << run.outcome.status().ToString();
  EXPECT_EQ(run.outcome->retries, 3u);  // once in each round
  ASSERT_EQ(run.seen.downloads.size(), 6u);
  EXPECT_THAT(run.seen.downloads[1].chunks, ElementsAre(2, 3, 4, 5));
  EXPECT_EQ(run.seen.reports[2].root, run.seen.roots.at(3));
  EXPECT_EQ(run.seen.reports[2].repaired_chunks, 0u);
}

TEST_P(WorkerFaults, ABrokenDownloadGoesOnWhereItBroke) {
  Script script = SmallScript(GetParam());
  script.on_sync_piece = [](uint32_t attempt, v1::Piece& piece) {
    return attempt > 1 || piece.chunk() < 3 + attempt;
  };
  const Played run = Play(script);
  ASSERT_TRUE(run.outcome.ok()) << run.outcome.status().ToString();
  EXPECT_EQ(run.outcome->retries, 6u);
  EXPECT_EQ(run.seen.reports[2].root, run.seen.roots.at(3));
}

TEST_P(WorkerFaults, ADownloadThatBreaksEveryTimeIsGivenUpAfterThreeAttempts) {
  Script script = SmallScript(GetParam());
  script.on_sync_piece = [](uint32_t, v1::Piece& piece) { return piece.chunk() < 3; };
  const Played run = Play(script);
  EXPECT_EQ(run.outcome.status(), UnavailableError("the line broke at chunk 3"));
  EXPECT_EQ(run.seen.downloads.size(), 3u);
  ASSERT_EQ(run.seen.leaves.size(), 1u);
  EXPECT_TRUE(run.seen.leaves[0].failed);
}

TEST_P(WorkerFaults, ARefusedPayloadIsSentAgainUnchanged) {
  Script script = SmallScript(GetParam());
  script.answer_upload = [](uint32_t attempt) {
    return attempt < 2 ? DataLossError("chunk 1 arrived damaged") : OkStatus();
  };
  const Played run = Play(script);
  ASSERT_TRUE(run.outcome.ok()) << run.outcome.status().ToString();
  EXPECT_EQ(run.outcome->retries, 6u);
  const Played undisturbed = Play(SmallScript(GetParam()));
  EXPECT_EQ(run.seen.deltas, undisturbed.seen.deltas);
  EXPECT_EQ(run.outcome->root_hash, undisturbed.outcome->root_hash);
}

TEST_P(WorkerFaults, AnUploadRefusedForGoodIsNotRepeated) {
  Script script = SmallScript(GetParam());
  script.answer_upload = [](uint32_t) {
    return InvalidArgumentError("worker 0 runs another model");
  };
  const Played run = Play(script);
  EXPECT_EQ(run.outcome.status(), InvalidArgumentError("worker 0 runs another model"));
  EXPECT_EQ(run.seen.uploads.size(), 2u);  // base and delta
}

TEST_P(WorkerFaults, ExactlyTheChunksThatDifferAfterApplyingAreRepaired) {
  Script script = SmallScript(GetParam());
  script.diverging_chunks = {0, 5};
  const Played run = Play(script);
  ASSERT_TRUE(run.outcome.ok()) << run.outcome.status().ToString();
  ASSERT_EQ(run.seen.downloads.size(), 6u);
  EXPECT_EQ(run.seen.downloads[1].kind, DownloadKind::kBase);
  EXPECT_THAT(run.seen.downloads[1].chunks, ElementsAre(0, 5));
  for (uint32_t round = 1; round <= 3; ++round) {
    EXPECT_EQ(run.seen.reports[round - 1].repaired_chunks, 2u);
    EXPECT_EQ(run.seen.reports[round - 1].root, run.seen.roots.at(round));
  }
}

TEST(Worker, AChunkThatStaysWrongAfterItsRepairIsDataLoss) {
  Script script = SmallScript();
  script.diverging_chunks = {4};
  script.on_base_piece = [](v1::Piece& piece) { piece.mutable_base_hash()->set_low(1); };
  const Played run = Play(script);
  EXPECT_EQ(run.outcome.status().code(), StatusCode::kDataLoss);
  EXPECT_THAT(run.outcome.status().message(),
              HasSubstr("round 1, chunk 4: the repaired base hashes to"));
}

TEST(Worker, ABaseThatIsNotTheCoordinatorsIsDataLossBeforeAnyTraining) {
  Script script = SmallScript();
  script.wrong_base_root = true;
  const Played run = Play(script);
  EXPECT_EQ(run.outcome.status().code(), StatusCode::kDataLoss);
  EXPECT_THAT(run.outcome.status().message(), HasSubstr("worker 0: the base of round 1 has root"));
  EXPECT_TRUE(run.seen.progress.empty());
}

TEST(Worker, RoundsOfMoreChunksThanThereAreAreRefused) {
  Script script = SmallScript();
  script.history = 1;
  script.chunk_rounds.resize(7);
  const Played run = Play(script);
  EXPECT_EQ(run.outcome.status().code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(run.outcome.status().message(),
              HasSubstr("the rounds of 7 chunks, the layout has 6"));
}

TEST_P(WorkerFaults, NanInTheParametersIsToldByNameAndNotSent) {
  const Played run = Play(SmallScript(GetParam()), [](uint32_t round, std::span<float> parameters) {
    if (round == 2) parameters[700] = std::numeric_limits<float>::quiet_NaN();
  });
  // 1000 parameters: embedding has 501, encoder 249, head the rest.
  const std::string text =
      "worker 0, round 2: the change of encoder.weight[199] is NaN or infinite";
  EXPECT_EQ(run.outcome.status().code(), StatusCode::kDataLoss);
  EXPECT_THAT(run.outcome.status().message(), HasSubstr(text));
  ASSERT_EQ(run.seen.leaves.size(), 1u);
  EXPECT_TRUE(run.seen.leaves[0].failed);
  EXPECT_THAT(run.seen.leaves[0].reason, HasSubstr(text));
  EXPECT_EQ(run.seen.deltas.size(), 1u);
}

TEST(Worker, ATrainerThatCannotBeMadeIsToldToTheCoordinator) {
  ScriptedCoordinator coordinator(SmallScript());
  const TrainerFactory broken = [](const RunConfig&, WorkerId, uint32_t,
                                   int) -> StatusOr<std::unique_ptr<LocalTrainer>> {
    return NotFoundError("no data set; install dataset-fashion-mnist");
  };
  const WorkerOptions options{.coordinator = coordinator.address(), .threads = 1};
  const Status status = RunWorker(options, broken, ManualClock(), [] { return false; }).status();
  EXPECT_EQ(status, NotFoundError("no data set; install dataset-fashion-mnist"));
}

TEST(Worker, WhatIsWrongWithDataOfItsOwnIsNotToldToTheCoordinator) {
  Script script = SmallScript();
  script.config.data.sharing = SharingKind::kLocal;
  ScriptedCoordinator coordinator(script);
  const TrainerFactory broken = [](const RunConfig&, WorkerId, uint32_t,
                                   int) -> StatusOr<std::unique_ptr<LocalTrainer>> {
    return NotFoundError("/ward/jane-doe.jpg is no picture");
  };
  const WorkerOptions options{.coordinator = coordinator.address(), .threads = 1};
  const Status status = RunWorker(options, broken, ManualClock(), [] { return false; }).status();
  EXPECT_EQ(status, NotFoundError("/ward/jane-doe.jpg is no picture"));
  const auto& left = coordinator.Finish().leaves;
  ASSERT_EQ(left.size(), 1u);
  EXPECT_TRUE(left[0].failed);
  EXPECT_EQ(left[0].reason, "NOT_FOUND; its own log says more (data.sharing = \"local\")");
}

TEST_P(WorkerFaults, BeingDroppedInTheMiddleOfAnExchangeEndsItWithTheReason) {
  Script script = SmallScript(GetParam());
  script.drop_in_round = true;
  script.goodbye = AbortedError("worker 0 was too slow");
  const Played run = Play(script);
  EXPECT_EQ(run.outcome.status(), script.goodbye);
}

TEST(Worker, BeingDroppedWhileItWaitsForTheRunToBeginEndsItWithTheReason) {
  Script script = SmallScript();
  script.drop_while_gathering = true;
  // One code that failed calls have too, and one that they have not.
  for (const Status& goodbye : {UnavailableError("worker 0 joined too late to take part"),
                                InvalidArgumentError("worker 0 has another model")}) {
    script.goodbye = goodbye;
    const Played run = Play(script);
    EXPECT_EQ(run.outcome.status(), goodbye);
    ASSERT_EQ(run.seen.leaves.size(), 1u);
    EXPECT_FALSE(run.seen.leaves[0].failed);
  }
}

TEST_P(WorkerFaults, BeingDroppedBetweenRoundsEndsItWithTheReason) {
  Script script = SmallScript(GetParam());
  script.goodbye = CancelledError("stopped by SIGINT");
  const Played run = Play(script);
  EXPECT_EQ(run.outcome.status(), script.goodbye);
  EXPECT_EQ(run.seen.reports.size(), 3u);
  ASSERT_EQ(run.seen.leaves.size(), 1u);
  EXPECT_FALSE(run.seen.leaves[0].failed);
}

TEST(Worker, AGoodEndBeforeTheRoundsIsNotTaken) {
  Script script = SmallScript();
  script.drop_while_gathering = true;
  const Status status = Play(script).outcome.status();
  EXPECT_EQ(status.code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(status.message(), HasSubstr("'done' came while worker 0 is ready"));
}

TEST_P(WorkerFaults, AGoodEndInTheMiddleOfARoundIsNotTaken) {
  Script script = SmallScript(GetParam());
  script.drop_in_round = true;
  const Status status = Play(script).outcome.status();
  EXPECT_EQ(status.code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(status.message(), HasSubstr("'done' came while worker 0 is in a round (round 1)"));
}

TEST_P(WorkerFaults, StopsPolitelyWhenToldToWhileTraining) {
  std::atomic<bool> stop = false;
  const Played run = Play(
      SmallScript(GetParam()),
      [&](uint32_t round, std::span<float>) {
        if (round == 2) stop = true;
      },
      [&] { return stop.load(); });
  EXPECT_EQ(run.outcome.status(),
            CancelledError("worker 0 was told to stop and has left after 1 rounds"));
  ASSERT_EQ(run.seen.leaves.size(), 1u);
  EXPECT_FALSE(run.seen.leaves[0].failed);
  EXPECT_EQ(run.seen.reports.size(), 1u);
}

}  // namespace
}  // namespace interlude
