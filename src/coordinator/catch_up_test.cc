// What a worker that comes late is told and may fetch, over real gRPC; and that nobody waits for
// it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <utility>

#include "base/clock.h"
#include "coordinator/service_test_support.h"

namespace interlude {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

/// The hashes of TestLayout's chunks when every value is `value`.
std::vector<Hash128> HashesOf(float value) {
  std::vector<Hash128> hashes;
  for (uint32_t chunk = 0; chunk < TestLayout().num_chunks(); ++chunk)
    hashes.push_back(HashFloats(std::vector<float>(TestLayout().chunk(chunk).count, value)));
  return hashes;
}

/// A run of two workers in its first round, in which the second has left.
class LateWorkerTest : public testing::Test {
 protected:
  LateWorkerTest() {
    CoordinatorOptions options = TestOptions("catch-up", 2);
    options.config.round.rounds = 20;
    options.config.round.retained_syncs = 2;
    coordinator_ = Coordinator::Start(options, SystemClock(), nullptr).value();
    connection_.emplace(coordinator_->address());
    first_.emplace(*connection_);
    first_->Join();
    first_->Offer(TestLayout());
    {
      TestSession second(*connection_);
      second.Join();
      second.Offer(TestLayout());
      first_->Expect<ProvideBaseMessage>();
      EXPECT_TRUE(first_->UploadBase(std::vector<float>(TestLayout().total_params(), 0.5f)).ok());
      second.Expect<CatchUpMessage>();
      second.Expect<StartRoundMessage>();
      second.Say(LeaveMessage{});
      second.Expect<GoodbyeMessage>();
    }
    first_->Expect<CatchUpMessage>();
    EXPECT_EQ(first_->Expect<StartRoundMessage>().round, 1u);
  }
  ~LateWorkerTest() override { coordinator_->Stop("the test is over"); }

  /// The first worker alone takes the run through its round. Returns the base's root after it.
  Hash128 PassRound(uint32_t round) {
    const auto pieces = PiecesOf(EncodeTestDelta(1e-3f));
    EXPECT_TRUE(connection_->Upload(first_->DeltaHeader(round), pieces).ok());
    const StartRoundMessage next = first_->Expect<StartRoundMessage>();
    EXPECT_EQ(next.round, round + 1);
    first_->Say(RoundReportMessage{.round = round, .root = next.base_root, .samples = 10});
    return next.base_root;
  }
  DownloadOrder Order(const TestSession& session, DownloadKind kind, uint32_t round = 0) const {
    return {.worker = 1, .session = session.token(), .kind = kind, .round = round};
  }
  /// The late worker, told to catch up.
  CatchUpMessage Come(TestSession& late, float value) {
    late.Join();
    late.Offer(TestLayout(), HashesOf(value));
    return late.Expect<CatchUpMessage>();
  }

  std::unique_ptr<Coordinator> coordinator_;
  std::optional<TestConnection> connection_;
  std::optional<TestSession> first_;
};

TEST_F(LateWorkerTest, IsToldOfEachChunkWhichBaseItHasAndTheRoundsOfTheOthersPass) {
  PassRound(1);
  TestSession late(*connection_);
  const CatchUpMessage message = Come(late, 0.5f);
  EXPECT_EQ(message.committed_rounds, 1u);
  EXPECT_THAT(message.chunk_rounds, ElementsAre(0, 0));
  PassRound(2);
  late.Say(CaughtUpMessage{.round = 1});
  EXPECT_TRUE(connection_->Download(Order(late, DownloadKind::kSync, 2)).ok());
  const Hash128 root = PassRound(3);
  const StartRoundMessage start = late.Expect<StartRoundMessage>();
  EXPECT_EQ(start.round, 4u);
  EXPECT_EQ(start.base_root, root);
}

TEST_F(LateWorkerTest, IsToldThatNoBaseIsKnownWhereItsHashesAreOthers) {
  TestSession late(*connection_);
  EXPECT_THAT(Come(late, 0.25f).chunk_rounds, ElementsAre(kNoBase, kNoBase));
}

TEST_F(LateWorkerTest, IsAskedAgainFromWhereItStandsWhenItTookTooLong) {
  TestSession late(*connection_);
  Come(late, 0.5f);
  PassRound(1);
  PassRound(2);
  late.Say(CaughtUpMessage{.round = 0});
  const CatchUpMessage again = late.Expect<CatchUpMessage>();
  EXPECT_EQ(again.committed_rounds, 2u);
  EXPECT_THAT(again.chunk_rounds, ElementsAre());
}

TEST_F(LateWorkerTest, MayDownloadOnlyOnceItIsToldToCatchUp) {
  PassRound(1);
  TestSession late(*connection_);
  late.Join();
  for (const DownloadKind kind : {DownloadKind::kBase, DownloadKind::kSync}) {
    const Status refused = connection_->Download(Order(late, kind, 1));
    EXPECT_EQ(refused.code(), StatusCode::kFailedPrecondition);
    EXPECT_THAT(refused.message(), HasSubstr("may not download"));
  }
  late.Offer(TestLayout());
  late.Expect<CatchUpMessage>();
  for (const DownloadKind kind : {DownloadKind::kBase, DownloadKind::kSync}) {
    EXPECT_TRUE(connection_->Download(Order(late, kind, 1)).ok());
  }
}

TEST_F(LateWorkerTest, IsToldWhenASyncDeltaIsNoLongerRetained) {
  TestSession late(*connection_);
  Come(late, 0.5f);
  for (const uint32_t round : {1u, 2u, 3u}) PassRound(round);
  EXPECT_EQ(connection_->Download(Order(late, DownloadKind::kSync, 1)).code(),
            StatusCode::kNotFound);
  EXPECT_TRUE(connection_->Download(Order(late, DownloadKind::kSync, 2)).ok());
}

TEST_F(LateWorkerTest, GetsEachBaseChunkWithTheRoundAfterWhichItStands) {
  PassRound(1);
  PassRound(2);
  TestSession late(*connection_);
  Come(late, 0.25f);
  grpc::ClientContext context;
  auto reader = connection_->stub().Download(&context, ToProto(Order(late, DownloadKind::kBase)));
  std::vector<uint32_t> rounds;
  v1::Piece piece;
  while (reader->Read(&piece)) rounds.push_back(piece.base_round());
  EXPECT_TRUE(reader->Finish().ok());
  EXPECT_THAT(rounds, ElementsAre(2, 2));
}

TEST_F(LateWorkerTest, ThatLiesIsDroppedAndTheRunGoesOn) {
  TestSession late(*connection_);
  Come(late, 0.5f);
  late.Say(CaughtUpMessage{.round = 7});
  const GoodbyeMessage goodbye = late.Expect<GoodbyeMessage>();
  EXPECT_EQ(goodbye.code, StatusCode::kInvalidArgument);
  EXPECT_THAT(goodbye.reason, HasSubstr("round 7"));
  PassRound(1);
}

/// Which evaluation was the first to be complete.
class EvaluationWatch final : public RunObserver {
 public:
  void Evaluated(uint32_t after_rounds, double, uint64_t samples) override {
    if (!told_) first_.set_value({after_rounds, samples});
    told_ = true;
  }
  std::future<std::pair<uint32_t, uint64_t>> First() { return first_.get_future(); }

 private:
  bool told_ = false;
  std::promise<std::pair<uint32_t, uint64_t>> first_;
};

TEST(LateMember, ItsPartOfAnEvaluationIsNoLongerAwaited) {
  CoordinatorOptions options = TestOptions("late-evaluation", 2);
  options.config.round.rounds = 20;
  options.config.round.evaluate_every = 1;
  options.config.round.patience = 1;
  ManualClock clock;
  EvaluationWatch watch;
  const auto coordinator = Coordinator::Start(options, clock, &watch).value();
  const TestConnection connection(coordinator->address());
  TestSession first(connection);
  TestSession second(connection);
  for (TestSession* session : {&first, &second}) {
    session->Join();
    session->Offer(TestLayout());
  }
  first.Expect<ProvideBaseMessage>();
  EXPECT_TRUE(first.UploadBase(std::vector<float>(TestLayout().total_params(), 0.5f)).ok());
  for (TestSession* session : {&first, &second}) {
    session->Expect<CatchUpMessage>();
    session->Expect<StartRoundMessage>();
    const auto pieces = PiecesOf(EncodeTestDelta(1e-3f));
    EXPECT_TRUE(connection.Upload(session->DeltaHeader(1), pieces).ok());
  }
  for (TestSession* session : {&first, &second}) {
    const auto start = session->Expect<StartRoundMessage>();
    EXPECT_TRUE(start.evaluate);
    session->Say(RoundReportMessage{.round = 1, .root = start.base_root, .samples = 10});
  }
  first.Say(EvaluationReportMessage{.after_rounds = 1, .correct = 3, .samples = 7});
  const auto pieces = PiecesOf(EncodeTestDelta(1e-3f));
  EXPECT_TRUE(connection.Upload(first.DeltaHeader(2), pieces).ok());
  // What was said may be heard only after the clock was moved, and then counts as usual.
  auto evaluated = watch.First();
  while (evaluated.wait_for(std::chrono::milliseconds(20)) != std::future_status::ready) {
    clock.Advance(std::chrono::seconds(10));
    first.Say(ProgressMessage{.round = 2});
  }
  second.Expect<CatchUpMessage>();
  EXPECT_EQ(evaluated.get(), std::make_pair(1u, uint64_t{7}));
  coordinator->Stop("the test is over");
}

}  // namespace
}  // namespace interlude
