// What a confused or lying worker gets to hear, over real gRPC: the right code, a message that
// helps, and a coordinator that goes on.
#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>

#include "codec/chunk_codec.h"
#include "coordinator/coordinator.h"
#include "coordinator/delta_store.h"
#include "coordinator/service_test_support.h"
#include "ledger/run_database.h"
#include "wire/chunk_stream.h"
#include "wire/convert.h"

namespace interlude {
namespace {

using testing::HasSubstr;

class ServiceTest : public testing::Test {
 protected:
  ServiceTest() : coordinator_(StartTestCoordinator("service", 1)) {}
  ~ServiceTest() override { coordinator_->Stop("the test is over"); }

  std::unique_ptr<Coordinator> coordinator_;
  TestConnection connection_{coordinator_->address()};
};

TEST_F(ServiceTest, ASessionThatDoesNotBeginWithJoinIsRefused) {
  TestSession session(connection_);
  session.Say(ProgressMessage{});
  const Status status = session.End();
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(status.message(), HasSubstr("begins with Join"));
}

TEST_F(ServiceTest, AnotherProtocolVersionIsRefusedWithBothVersions) {
  TestSession session(connection_);
  session.Say(JoinMessage{.protocol_version = 99, .software = "interlude 9"});
  const Status status = session.End();
  EXPECT_EQ(status.code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(status.message(), HasSubstr("version 99"));
}

TEST_F(ServiceTest, OneWorkerTooManyIsRefused) {
  TestSession first(connection_);
  first.Join();
  TestSession second(connection_);
  second.Say(JoinMessage{});
  const Status status = second.End();
  EXPECT_EQ(status.code(), StatusCode::kResourceExhausted);
}

TEST_F(ServiceTest, AWorkerWithAnotherChunkSizeIsToldAndDropped) {
  TestSession session(connection_);
  session.Join();
  session.Offer(Layout::Create({{.name = "w", .shape = {500}}}, 64).value());
  const GoodbyeMessage goodbye = session.Expect<GoodbyeMessage>();
  EXPECT_EQ(goodbye.code, StatusCode::kFailedPrecondition);
  EXPECT_THAT(goodbye.reason, HasSubstr("64"));
}

TEST_F(ServiceTest, AWorkerWithAnotherLayoutThanTheRunIsToldWhichParameterDiffers) {
  const auto coordinator = StartTestCoordinator("two", 2);
  const TestConnection connection(coordinator->address());
  TestSession first(connection);
  first.Join();
  first.Offer(TestLayout());
  TestSession second(connection);
  second.Join();
  second.Offer(Layout::Create({{.name = "other.weight", .shape = {400}}}, 256).value());
  const GoodbyeMessage goodbye = second.Expect<GoodbyeMessage>();
  EXPECT_EQ(goodbye.code, StatusCode::kFailedPrecondition);
  EXPECT_THAT(goodbye.reason, HasSubstr("another layout"));
  EXPECT_THAT(goodbye.reason, HasSubstr("other.weight"));
  coordinator->Stop("the test is over");
}

TEST_F(ServiceTest, AWorkerWhoseDataHaveOtherClassesIsToldWhichDiffers) {
  const auto coordinator = StartTestCoordinator("classes", 3);
  const TestConnection connection(coordinator->address());
  const auto offer = [](std::vector<std::string> classes) {
    BaseOfferMessage message{.layout = TestLayout()};
    message.chunk_hashes.resize(TestLayout().num_chunks());
    message.data.classes = std::move(classes);
    return message;
  };
  TestSession first(connection);
  first.Join();
  first.Say(offer({"cat", "dog"}));
  TestSession second(connection);
  second.Join();
  second.Say(offer({"cat", "cow"}));
  const GoodbyeMessage goodbye = second.Expect<GoodbyeMessage>();
  EXPECT_EQ(goodbye.code, StatusCode::kFailedPrecondition);
  EXPECT_THAT(goodbye.reason, HasSubstr("worker 1's data differ: class 1 is \"cow\", the run's is "
                                        "\"dog\""));
  coordinator->Stop("the test is over");
}

TEST_F(ServiceTest, WhatARefusedWorkerOrOneThatLeftSaysOfItsDataIsForgotten) {
  const auto coordinator = StartTestCoordinator("wrong-classes", 1);
  const TestConnection connection(coordinator->address());
  const auto offer_of = [](const Layout& layout, std::vector<std::string> classes) {
    BaseOfferMessage message{.layout = layout};
    message.chunk_hashes.resize(layout.num_chunks());
    message.data.classes = std::move(classes);
    return message;
  };
  {
    TestSession refused(connection);
    refused.Join();
    refused.Say(offer_of(Layout::Create({{.name = "w", .shape = {500}}}, 64).value(), {"cow"}));
    EXPECT_EQ(refused.Expect<GoodbyeMessage>().code, StatusCode::kFailedPrecondition);
  }
  {
    TestSession left(connection);
    left.Join();
    left.Say(offer_of(TestLayout(), {"cat", "cow"}));
    left.Expect<ProvideBaseMessage>();
    left.Say(LeaveMessage{});
    left.Expect<GoodbyeMessage>();
  }
  TestSession right(connection);
  right.Join();
  right.Say(offer_of(TestLayout(), {"cat", "dog"}));
  right.Expect<ProvideBaseMessage>();
  EXPECT_TRUE(right.UploadBase(std::vector<float>(TestLayout().total_params(), 0.5f)).ok());
  right.Expect<CatchUpMessage>();
  const auto database =
      RunDatabase::OpenReadOnly(TestDirectory("wrong-classes") + "/run.db").value();
  EXPECT_EQ(database->GetMeta(kMetaClasses)->value_or(""), "[\"cat\",\"dog\"]");
  coordinator->Stop("the test is over");
}

TEST_F(ServiceTest, BulkStreamsNeedTheSessionsToken) {
  TestSession session(connection_);
  session.Join();
  UploadHeader header = session.DeltaHeader(0);
  header.session ^= 1;
  EXPECT_EQ(connection_.Upload(header, {}).code(), StatusCode::kPermissionDenied);
  DownloadOrder order{.worker = 0, .session = header.session};
  EXPECT_EQ(connection_.Download(order).code(), StatusCode::kPermissionDenied);
}

/// A session in its first round.
class InRoundTest : public ServiceTest {
 protected:
  InRoundTest() : session_(connection_) {
    session_.Join();
    session_.Offer(TestLayout());
    session_.Expect<ProvideBaseMessage>();
    const std::vector<float> base(TestLayout().total_params(), 0.5f);
    EXPECT_TRUE(session_.UploadBase(base).ok());
    session_.Expect<CatchUpMessage>();
    EXPECT_EQ(session_.Expect<StartRoundMessage>().round, 1u);
    payloads_ = EncodeTestDelta(1e-3f);
  }
  Status Upload(const std::vector<v1::Piece>& pieces) {
    return connection_.Upload(session_.DeltaHeader(1), pieces);
  }
  std::vector<v1::Piece> GoodPieces() { return PiecesOf(payloads_); }

  TestSession session_;
  std::vector<std::vector<std::byte>> payloads_;
};

TEST_F(InRoundTest, AGoodUploadCommitsTheRoundAndTheSyncDeltaComesBack) {
  ASSERT_TRUE(Upload(GoodPieces()).ok());
  const DownloadOrder order{
      .worker = 0, .session = session_.token(), .kind = DownloadKind::kSync, .round = 1};
  EXPECT_TRUE(connection_.Download(order).ok());
  EXPECT_EQ(session_.Expect<StartRoundMessage>().round, 2u)
      << "the next round starts at the commit";
}

TEST_F(InRoundTest, AFirstBaseThatIsSentAgainCountsAsDoneAndChangesNothing) {
  EXPECT_TRUE(session_.UploadBase(std::vector<float>(TestLayout().total_params(), 9.0f)).ok());
  ASSERT_TRUE(Upload(GoodPieces()).ok());
  const StartRoundMessage next = session_.Expect<StartRoundMessage>();
  // 0.5 and a sync delta of about 1e-3: nowhere near the second base
  const DownloadOrder order{.worker = 0, .session = session_.token(), .kind = DownloadKind::kBase};
  std::vector<float> base;
  ASSERT_TRUE(connection_.Download(order, &base).ok());
  ASSERT_EQ(base.size(), TestLayout().total_params());
  for (const float value : base) ASSERT_NEAR(value, 0.5f, 0.01f);
  EXPECT_EQ(next.base_root,
            RootHash(std::vector<Hash128>{HashFloats(std::span(base).first(256)),
                                          HashFloats(std::span(base).subspan(256))}));
}

TEST_F(InRoundTest, AReportThatIsSentTwiceCountsOnce) {
  ASSERT_TRUE(Upload(GoodPieces()).ok());
  const StartRoundMessage next = session_.Expect<StartRoundMessage>();
  const RoundReportMessage report{.round = 1, .root = next.base_root, .samples = 10};
  session_.Say(report);
  session_.Say(report);
  // The second one comes when round 1 is over, and changes nothing; one that lies ends the stay.
  session_.Say(RoundReportMessage{.round = 1, .root = {1, 2}, .samples = 10});
  EXPECT_EQ(session_.Expect<GoodbyeMessage>().code, StatusCode::kDataLoss);
  const auto database = RunDatabase::OpenReadOnly(TestDirectory("service") + "/run.db");
  ASSERT_TRUE(database.ok());
  EXPECT_EQ((*database)->WorkerRounds().value().size(), 1u);
}

TEST_F(InRoundTest, AWrongChecksumIsRefusedAndTheUploadMayBeRepeated) {
  std::vector<v1::Piece> pieces = GoodPieces();
  (*pieces[0].mutable_payload())[5] ^= 1;
  const Status status = Upload(pieces);
  EXPECT_EQ(status.code(), StatusCode::kDataLoss);
  EXPECT_THAT(status.message(), HasSubstr("delta from worker 0, round 1"));
  EXPECT_TRUE(Upload(GoodPieces()).ok());
  EXPECT_EQ(session_.Expect<StartRoundMessage>().round, 2u);
}

TEST_F(InRoundTest, ATruncatedUploadIsRefusedAndMayBeRepeated) {
  std::vector<v1::Piece> pieces = GoodPieces();
  pieces.pop_back();
  const Status status = Upload(pieces);
  EXPECT_EQ(status.code(), StatusCode::kDataLoss);
  EXPECT_THAT(status.message(), HasSubstr("ended early"));
  EXPECT_TRUE(Upload(GoodPieces()).ok());
}

TEST_F(InRoundTest, AnOversizedPieceIsRefused) {
  std::vector<v1::Piece> pieces = GoodPieces();
  pieces[0].mutable_payload()->assign(kMaxPieceBytes + 1, 'x');
  EXPECT_EQ(Upload(pieces).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(session_.Expect<GoodbyeMessage>().code, StatusCode::kInvalidArgument);
}

TEST_F(InRoundTest, AWorkerWhoseUpdatesAreWrongIsExcludedAfterAStatedNumberOfTimes) {
  std::vector<v1::Piece> pieces = GoodPieces();
  pieces[0].mutable_payload()->append(8, 'x');
  EXPECT_EQ(Upload(pieces).code(), StatusCode::kOutOfRange);
  EXPECT_EQ(session_.Expect<GoodbyeMessage>().code, StatusCode::kOutOfRange);
  const auto lie = [this] {
    TestSession again(connection_);
    again.Join();
    again.Offer(Layout::Create({{.name = "x", .shape = {3}}}, 256).value());
    EXPECT_EQ(again.Expect<GoodbyeMessage>().code, StatusCode::kFailedPrecondition);
  };
  lie();  // another model is a mistake and no offence
  for (int time = 2; time <= 3; ++time) {
    TestSession again(connection_);
    again.Join();
    again.Say(BaseOfferMessage{.layout = TestLayout(),
                               .chunk_hashes = std::vector<Hash128>(2),
                               .account = {},
                               .threads = 1});
    again.Expect<CatchUpMessage>();
    again.Say(CaughtUpMessage{.round = 77});
    EXPECT_EQ(again.Expect<GoodbyeMessage>().code, StatusCode::kInvalidArgument) << time;
  }
  TestSession excluded(connection_);
  excluded.Say(JoinMessage{});
  const Status end = excluded.End();
  EXPECT_EQ(end.code(), StatusCode::kPermissionDenied);
  EXPECT_THAT(end.message(), HasSubstr("is excluded from this run after 3"));
}

TEST_F(InRoundTest, AMessageBeyondGrpcsLimitIsRefused) {
  std::vector<v1::Piece> pieces = GoodPieces();
  pieces[0].mutable_payload()->assign(size_t{kMaxMessageBytes} + 1, 'x');
  EXPECT_EQ(Upload(pieces).code(), StatusCode::kResourceExhausted);
  EXPECT_TRUE(Upload(GoodPieces()).ok());
}

TEST_F(InRoundTest, BytesThatAreNoMessageAreRefusedAndTheUploadMayBeRepeated) {
  v1::UploadMessage header;
  *header.mutable_header() = ToProto(session_.DeltaHeader(1));
  const grpc::Slice junk(std::string(100'000, '\xff'));
  for (const bool begins_well : {false, true}) {
    grpc::ClientContext context;
    v1::UploadReceipt receipt;
    const auto writer = connection_.raw().Upload(&context, &receipt);
    if (begins_well) writer->Write(EncodeMessage(header));
    writer->Write(grpc::ByteBuffer(&junk, 1));
    writer->WritesDone();
    const Status status = FromGrpc(writer->Finish());
    EXPECT_EQ(status.code(), StatusCode::kDataLoss);
    EXPECT_THAT(status.message(), HasSubstr("are not a valid interlude.v1.UploadMessage"));
  }
  EXPECT_TRUE(Upload(GoodPieces()).ok());
}

TEST_F(InRoundTest, AnotherCodecOrRoundOrNoSamplesAreRefused) {
  UploadHeader header = session_.DeltaHeader(1);
  header.codec = Codec::kFp32;
  EXPECT_EQ(connection_.Upload(header, GoodPieces()).code(), StatusCode::kInvalidArgument);
  header = session_.DeltaHeader(3);
  const Status status = connection_.Upload(header, GoodPieces());
  EXPECT_EQ(status.code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(status.message(), HasSubstr("round 3"));
  header = session_.DeltaHeader(1);
  header.samples = 0;
  EXPECT_EQ(connection_.Upload(header, GoodPieces()).code(), StatusCode::kInvalidArgument);
  EXPECT_TRUE(Upload(GoodPieces()).ok());
}

TEST_F(InRoundTest, AReportWithAnotherRootEndsTheStay) {
  ASSERT_TRUE(Upload(GoodPieces()).ok());
  session_.Expect<StartRoundMessage>();
  session_.Say(RoundReportMessage{.round = 1, .root = {1, 2}, .samples = 10});
  const GoodbyeMessage goodbye = session_.Expect<GoodbyeMessage>();
  EXPECT_EQ(goodbye.code, StatusCode::kDataLoss);
}

TEST_F(InRoundTest, AskingForChunksThatDoNotExistIsRefused) {
  DownloadOrder order{
      .worker = 0, .session = session_.token(), .kind = DownloadKind::kBase, .chunks = {99}};
  EXPECT_EQ(connection_.Download(order).code(), StatusCode::kOutOfRange);
  order.kind = DownloadKind::kSync;
  order.chunks = {};
  order.round = 17;
  EXPECT_EQ(connection_.Download(order).code(), StatusCode::kFailedPrecondition);
}

TEST(CoordinatorStart, APortInUseIsNamed) {
  const auto first = StartTestCoordinator("port", 1);
  CoordinatorOptions options = TestOptions("port-again", 1);
  options.listen = first->address();
  const auto second = Coordinator::Start(options, SystemClock(), nullptr);
  ASSERT_EQ(second.status().code(), StatusCode::kUnavailable);
  EXPECT_THAT(second.status().message(), HasSubstr(first->address()));
  EXPECT_FALSE(std::filesystem::exists(options.directory + "/run.db"))
      << "a failed start leaves no run behind";
}

TEST(CoordinatorStart, AnAddressWithoutAPortIsRefused) {
  CoordinatorOptions options = TestOptions("no-port", 1);
  options.listen = "localhost";
  EXPECT_EQ(Coordinator::Start(options, SystemClock(), nullptr).status().code(),
            StatusCode::kInvalidArgument);
}

class StartCounter : public RunObserver {
 public:
  void RunStarted(size_t /*total_params*/, uint32_t /*num_chunks*/) override { ++started; }
  std::atomic<int> started = 0;
};

// Until then a worker that dies leaves a run that waits, which `interlude run` has to end.
TEST(CoordinatorStart, TheRunHasStartedWhenItsFirstRoundHasNotWhenAModelIsKnown) {
  StartCounter observer;
  const auto coordinator =
      Coordinator::Start(TestOptions("started", 2), SystemClock(), &observer).value();
  const TestConnection connection(coordinator->address());
  TestSession first(connection);
  first.Join();
  first.Offer(TestLayout());
  TestSession second(connection);
  second.Join();
  second.Offer(TestLayout());
  first.Expect<ProvideBaseMessage>();
  EXPECT_EQ(observer.started, 0) << "the base is still missing";
  ASSERT_TRUE(first.UploadBase(std::vector<float>(TestLayout().total_params(), 0.5f)).ok());
  second.Expect<CatchUpMessage>();
  second.Expect<StartRoundMessage>();
  EXPECT_EQ(observer.started, 1);
  coordinator->Stop("the test is over");
}

/// Its wall time is another century's at every look.
class JumpingClock : public Clock {
 public:
  Nanoseconds Now() const override { return SystemClock().Now(); }
  Nanoseconds WallTime() const override {
    return std::chrono::hours(24 * 365 * (1 + ++looks_ % 2 * 200));
  }

 private:
  mutable std::atomic<int> looks_ = 0;
};

TEST(CoordinatorStart, AWallClockThatJumpsDisturbsNoRound) {
  const JumpingClock clock;
  const auto coordinator = Coordinator::Start(TestOptions("jump", 1), clock, nullptr).value();
  const TestConnection connection(coordinator->address());
  TestSession session(connection);
  session.Join();
  session.Offer(TestLayout());
  session.Expect<ProvideBaseMessage>();
  ASSERT_TRUE(session.UploadBase(std::vector<float>(TestLayout().total_params(), 0.5f)).ok());
  session.Expect<CatchUpMessage>();
  for (uint32_t round = 1; round <= 3; ++round) {
    const StartRoundMessage start = session.Expect<StartRoundMessage>();
    EXPECT_EQ(start.round, round);
    if (round > 1)
      session.Say(RoundReportMessage{.round = round - 1, .root = start.base_root, .samples = 10});
    ASSERT_TRUE(
        connection.Upload(session.DeltaHeader(round), PiecesOf(EncodeTestDelta(1e-3f))).ok());
  }
  coordinator->Stop("the test is over");
}

TEST(CoordinatorStart, StopEndsAWaitingRun) {
  const auto coordinator = StartTestCoordinator("stop", 3);
  coordinator->Stop("enough");
  const auto outcome = coordinator->Wait();
  ASSERT_EQ(outcome.status().code(), StatusCode::kCancelled);
  EXPECT_EQ(outcome.status().message(), "enough");
}

}  // namespace
}  // namespace interlude
