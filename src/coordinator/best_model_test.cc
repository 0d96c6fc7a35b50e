// Which models are kept when scores do not come, or not all of them, or the disk fails; over real
// gRPC.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>

#include "base/clock.h"
#include "base/queue.h"
#include "coordinator/service_test_support.h"
#include "store/model_facts.h"
#include "store/safetensors.h"
#include "store/temporary_directory.h"

namespace interlude {
namespace {

/// Hands on what the round thread says when it has dealt with a message.
class Watch final : public RunObserver {
 public:
  void RoundProgressed(const Progress& progress) override { progress_.Push(progress); }
  void Evaluated(uint32_t after_rounds, double, uint64_t) override {
    evaluated_.Push(after_rounds);
  }
  Progress AwaitProgress() { return progress_.Pop().value(); }
  uint32_t AwaitEvaluation() { return evaluated_.Pop().value(); }

 private:
  Queue<Progress> progress_{1000};
  Queue<uint32_t> evaluated_{1000};
};

class BestModelTest : public testing::Test {
 protected:
  void Start(const std::string& name, uint32_t workers, uint32_t rounds) {
    options_ = TestOptions(name, workers);
    options_.config.round.rounds = rounds;
    options_.config.round.evaluate_every = 1;
    best_ = options_.directory + "/model-best.safetensors";
    StartCoordinator();
  }
  void StartCoordinator() {
    coordinator_ = Coordinator::Start(options_, clock_, &watch_).value();
    connection_.emplace(coordinator_->address());
  }
  ~BestModelTest() override { coordinator_->Stop("the test is over"); }

  /// All are told to begin the first round.
  void BeginRounds(const std::vector<TestSession*>& sessions) {
    for (TestSession* session : sessions) {
      session->Join();
      session->Offer(TestLayout());
    }
    sessions.front()->Expect<ProvideBaseMessage>();
    const std::vector<float> base(TestLayout().total_params(), 0.5f);
    EXPECT_TRUE(sessions.front()->UploadBase(base).ok());
    for (TestSession* session : sessions) {
      session->Expect<CatchUpMessage>();
      session->Expect<StartRoundMessage>();
    }
  }
  void Upload(const TestSession& session, uint32_t round) {
    const auto pieces = PiecesOf(EncodeTestDelta(1e-3f));
    EXPECT_TRUE(connection_->Upload(session.DeltaHeader(round), pieces).ok());
  }
  /// The round before has been merged: reports it.
  void ReportAtStartOf(TestSession& session, uint32_t round) {
    const auto start = session.Expect<StartRoundMessage>();
    EXPECT_EQ(start.round, round);
    EXPECT_TRUE(start.evaluate);
    session.Say(RoundReportMessage{.round = round - 1, .root = start.base_root, .samples = 10});
  }
  void Score(TestSession& session, uint32_t after_rounds, uint64_t correct) {
    session.Say(
        EvaluationReportMessage{.after_rounds = after_rounds, .correct = correct, .samples = 10});
  }

  /// Waits for the round's merges.
  Hash128 RootAfter(const TestSession& session, uint32_t round) {
    DownloadOrder order{.worker = session.DeltaHeader(round).worker,
                        .session = session.token(),
                        .kind = DownloadKind::kSync,
                        .round = round};
    EXPECT_TRUE(connection_->Download(order).ok());
    order.kind = DownloadKind::kBase;
    std::vector<float> base;
    EXPECT_TRUE(connection_->Download(order, &base).ok());
    std::vector<Hash128> hashes;
    for (uint32_t chunk = 0; chunk < TestLayout().num_chunks(); ++chunk) {
      const ChunkRange range = TestLayout().chunk(chunk);
      hashes.push_back(HashFloats(std::span(base).subspan(range.begin, range.count)));
    }
    return RootHash(hashes);
  }

  /// The run is over: the best model is the one of so many rounds.
  void ExpectBest(const std::string& rounds, const std::string& accuracy) {
    ASSERT_TRUE(coordinator_->Wait().ok());
    auto facts = ReadSafetensorsHeader(best_);
    ASSERT_TRUE(facts.ok()) << facts.status().ToString();
    EXPECT_EQ(facts->metadata[kModelRounds], rounds);
    EXPECT_EQ(facts->metadata[kModelAccuracy], accuracy);
  }

  ManualClock clock_;
  Watch watch_;
  CoordinatorOptions options_;
  std::string best_;
  std::unique_ptr<Coordinator> coordinator_;
  std::optional<TestConnection> connection_;
};

TEST_F(BestModelTest, AWorkerThatNeverScoresHoldsNoRoundUp) {
  Start("no-score", 1, 20);
  TestSession worker(*connection_);
  BeginRounds({&worker});
  Upload(worker, 1);
  ReportAtStartOf(worker, 2);
  while (watch_.AwaitProgress().chunks_merged < 2) {
  }
  Upload(worker, 2);
  // What was said before it has been heard by the time that it is answered.
  worker.Say(ProgressMessage{.round = 2});
  EXPECT_EQ(watch_.AwaitProgress().chunks_merged, 0u) << "the score may still come";
  clock_.Advance(std::chrono::seconds(4));
  worker.Say(ProgressMessage{.round = 2});
  EXPECT_EQ(watch_.AwaitProgress().chunks_merged, 0u);
  clock_.Advance(std::chrono::seconds(2));
  worker.Say(ProgressMessage{.round = 2});
  ReportAtStartOf(worker, 3);
  // Of the next round the wait is its own, and ends with the score.
  while (watch_.AwaitProgress().chunks_merged < 2) {
  }
  Upload(worker, 3);
  worker.Say(ProgressMessage{.round = 3});
  EXPECT_EQ(watch_.AwaitProgress().chunks_merged, 0u);
  Score(worker, 2, 5);
  ReportAtStartOf(worker, 4);
}

TEST_F(BestModelTest, AScoreOfAPartOfTheTestSetIsNotComparedWithScoresOfAllOfIt) {
  Start("part-of-a-score", 2, 3);
  TestSession stays(*connection_);
  TestSession leaves(*connection_);
  BeginRounds({&stays, &leaves});
  Upload(stays, 1);
  Upload(leaves, 1);
  ReportAtStartOf(stays, 2);
  ReportAtStartOf(leaves, 2);
  Score(stays, 1, 9);
  leaves.Say(LeaveMessage{});
  leaves.Expect<GoodbyeMessage>();
  leaves.Cancel();
  EXPECT_EQ(watch_.AwaitEvaluation(), 1u);
  Upload(stays, 2);
  ReportAtStartOf(stays, 3);
  Score(stays, 2, 5);
  Upload(stays, 3);
  stays.Say(RoundReportMessage{.round = 3, .root = RootAfter(stays, 3), .samples = 10});
  EXPECT_EQ(stays.Expect<FinishMessage>().after_rounds, 3u);
  Score(stays, 3, 4);
  EXPECT_EQ(stays.Expect<GoodbyeMessage>().code, StatusCode::kOk);
  stays.Cancel();
  ExpectBest("2", "0.5");
}

TEST_F(BestModelTest, ACoordinatorThatComesBackAwaitsTheScoresOfItsOpenRound) {
  Start("score-after-a-restart", 1, 2);
  TestSession before(*connection_);
  BeginRounds({&before});
  Upload(before, 1);
  ReportAtStartOf(before, 2);
  Upload(before, 2);  // the score has not come when the coordinator goes
  coordinator_->Stop("as if it was killed");
  before.Expect<GoodbyeMessage>();
  before.Cancel();
  EXPECT_FALSE(coordinator_->Wait().ok());
  coordinator_.reset();
  WriteWholeFile(best_ + ".partial", "what a killed one leaves");

  StartCoordinator();
  EXPECT_FALSE(std::filesystem::exists(best_ + ".partial"));
  TestSession again(*connection_);
  again.Resume(before);
  EXPECT_TRUE(again.Expect<StartRoundMessage>().evaluate);
  Score(again, 1, 9);
  again.Say(RoundReportMessage{.round = 2, .root = RootAfter(again, 2), .samples = 10});
  EXPECT_EQ(again.Expect<FinishMessage>().after_rounds, 2u);
  Score(again, 2, 4);
  EXPECT_EQ(again.Expect<GoodbyeMessage>().code, StatusCode::kOk);
  again.Cancel();
  ExpectBest("1", "0.9");
}

TEST_F(BestModelTest, AnAverageThatCannotBeWrittenIsSaidToBeThatAndTheModelIsThere) {
  options_ = TestOptions("average-without-a-place", 1);
  options_.config.round.rounds = 1;
  options_.config.outer.ema_decay = 0.5;
  StartCoordinator();
  std::filesystem::create_directories(options_.directory + "/model-ema.safetensors.partial");
  TestSession worker(*connection_);
  BeginRounds({&worker});
  Upload(worker, 1);
  worker.Say(RoundReportMessage{.round = 1, .root = RootAfter(worker, 1), .samples = 10});
  worker.Expect<FinishMessage>();
  Score(worker, 1, 5);
  worker.Expect<GoodbyeMessage>();
  worker.Cancel();
  EXPECT_THAT(coordinator_->Wait().status().message(),
              testing::HasSubstr("the average of the models cannot be written"));
  EXPECT_TRUE(ReadSafetensorsHeader(options_.directory + "/model.safetensors").ok());
}

}  // namespace
}  // namespace interlude
