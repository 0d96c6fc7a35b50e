// What one worker, or somebody who only reached the port, may take: time, sessions, streams,
// threads, messages.
#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <deque>
#include <future>

#include "coordinator/call_limits.h"
#include "coordinator/service_test_support.h"

namespace interlude {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;
using Ending = std::future<Status>;

class ServiceLimitsTest : public testing::Test {
 protected:
  ~ServiceLimitsTest() override { coordinator_->Stop("the test is over"); }

  /// How the first of these that ends does; an unknown one, and a failure, when none has after a
  /// minute.
  static Status FirstToEnd(std::deque<Ending>& endings) {
    for (int i = 0; i < 6'000; ++i) {
      for (Ending& ending : endings) {
        if (!ending.valid() || ending.wait_for(milliseconds(0)) != std::future_status::ready)
          continue;
        return ending.get();
      }
      if (endings.back().valid()) endings.back().wait_for(milliseconds(10));
    }
    ADD_FAILURE() << "none has ended";
    return UnknownError("none has ended");
  }
  /// Moves time until it ends.
  Status EndOnceTimePasses(Ending ending, Nanoseconds step) {
    while (ending.wait_for(milliseconds(10)) != std::future_status::ready) clock_.Advance(step);
    return ending.get();
  }

  ManualClock clock_{std::chrono::seconds(1000)};
  std::unique_ptr<Coordinator> coordinator_ =
      Coordinator::Start(TestOptions("limits", 1), clock_, nullptr).value();
  TestConnection connection_{coordinator_->address()};
};

TEST_F(ServiceLimitsTest, ASessionThatSaysNothingIsEnded) {
  TestSession session(connection_);
  const Status status = EndOnceTimePasses(
      std::async(std::launch::async, [&] { return session.End(); }), kFirstMessageWithin);
  EXPECT_EQ(status.code(), StatusCode::kCancelled);
}

TEST_F(ServiceLimitsTest, AnUploadThatSaysNothingIsEnded) {
  grpc::ClientContext context;
  v1::UploadReceipt receipt;
  const auto writer = connection_.stub().Upload(&context, &receipt);
  const Status status =
      EndOnceTimePasses(std::async(std::launch::async, [&] { return FromGrpc(writer->Finish()); }),
                        kFirstMessageWithin);
  EXPECT_EQ(status.code(), StatusCode::kCancelled);
}

TEST_F(ServiceLimitsTest, AWorkerThatHasJoinedMayBeSilentForAsLongAsItLikes) {
  TestSession session(connection_);
  session.Join();
  clock_.Advance(std::chrono::hours(24));
  session.Offer(TestLayout());
  session.Expect<ProvideBaseMessage>();
}

TEST_F(ServiceLimitsTest, AJoinThatIsTooLongIsRefused) {
  grpc::ClientContext context;
  const auto stream = connection_.stub().Session(&context);
  v1::WorkerMessage message;
  message.mutable_join()->set_software(std::string(kMostJoinBytes, 'x'));
  stream->Write(message);
  const Status status = FromGrpc(stream->Finish());
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(status.message(), HasSubstr("the limit is 65536"));
}

TEST_F(ServiceLimitsTest, AFloodOfMessagesEndsTheStayWithItsReasonAndFreesThePlace) {
  TestSession session(connection_);
  session.Join();
  for (int i = 0; i <= MessageRate::kMost; ++i) session.Say(ProgressMessage{.steps = 1});
  const Status status = session.End();
  EXPECT_EQ(status.code(), StatusCode::kResourceExhausted);
  EXPECT_THAT(status.message(), HasSubstr("more than 1000 messages within 10 s"));
  TestSession next(connection_);
  next.Join();
}

TEST_F(ServiceLimitsTest, OneSessionTooManyIsRefusedWhileTheOthersStay) {
  const size_t most = 1 + kSpareSessions;
  std::deque<TestSession> sessions;
  std::deque<Ending> endings;
  for (size_t i = 0; i < most + 1; ++i) {
    TestSession& session = sessions.emplace_back(connection_);
    endings.push_back(std::async(std::launch::async, [&session] { return session.End(); }));
  }
  const Status status = FirstToEnd(endings);
  EXPECT_EQ(status.code(), StatusCode::kResourceExhausted);
  EXPECT_THAT(status.message(), HasSubstr("17 sessions are open"));
  for (TestSession& session : sessions) session.Cancel();
}

TEST_F(ServiceLimitsTest, OneDownloadTooManyOfAWorkerIsRefused) {
  TestSession session(connection_);
  session.Join();
  session.Offer(TestLayout());
  session.Expect<ProvideBaseMessage>();
  ASSERT_TRUE(session.UploadBase(std::vector<float>(TestLayout().total_params(), 0.5f)).ok());
  session.Expect<CatchUpMessage>();
  session.Expect<StartRoundMessage>();
  const DownloadOrder order{
      .worker = 0, .session = session.token(), .kind = DownloadKind::kSync, .round = 1};
  std::deque<Ending> endings;
  for (uint32_t i = 0; i < kMostBulkStreamsOfAWorker + 1; ++i) {
    endings.push_back(std::async(std::launch::async, [&] { return connection_.Download(order); }));
  }
  const Status status = FirstToEnd(endings);
  EXPECT_EQ(status.code(), StatusCode::kResourceExhausted);
  EXPECT_THAT(status.message(), HasSubstr("worker 0 has 16 uploads and downloads under way"));
  coordinator_->Stop("the test is over");  // what lets the others end
}

/// One call of worker 0's for clock probes.
class ClockCall {
 public:
  ClockCall(const TestConnection& connection, uint64_t session)
      : stream_(connection.stub().ProbeClock(&context_)) {
    request_.set_worker(0);
    request_.set_session(session);
  }
  ~ClockCall() { context_.TryCancel(); }

  bool Ask() { return stream_->Write(request_); }
  bool Hear() { return stream_->Read(&reply); }
  Status End() { return FromGrpc(stream_->Finish()); }

  v1::ClockProbeReply reply;

 private:
  grpc::ClientContext context_;
  v1::ClockProbeRequest request_;
  std::unique_ptr<grpc::ClientReaderWriter<v1::ClockProbeRequest, v1::ClockProbeReply>> stream_;
};

TEST_F(ServiceLimitsTest, AClockProbeIsAnsweredWithTheCoordinatorsTime) {
  TestSession session(connection_);
  session.Join();
  ClockCall call(connection_, session.token());
  for (const int64_t seconds : {1000, 1007}) {
    ASSERT_TRUE(call.Ask() && call.Hear());
    EXPECT_EQ(call.reply.received_ns(), seconds * 1'000'000'000);
    EXPECT_EQ(call.reply.replied_ns(), seconds * 1'000'000'000);
    clock_.Advance(std::chrono::seconds(7));
  }
}

TEST_F(ServiceLimitsTest, AClockProbeNeedsTheSessionsToken) {
  TestSession session(connection_);
  session.Join();
  ClockCall call(connection_, session.token() ^ 1);
  call.Ask();
  EXPECT_FALSE(call.Hear());
  EXPECT_EQ(call.End().code(), StatusCode::kPermissionDenied);
}

TEST_F(ServiceLimitsTest, ACallForClockProbesThatSaysNothingIsEnded) {
  ClockCall call(connection_, 1);
  const Status status = EndOnceTimePasses(
      std::async(std::launch::async, [&] { return call.End(); }), kFirstMessageWithin);
  EXPECT_EQ(status.code(), StatusCode::kCancelled);
}

TEST_F(ServiceLimitsTest, OneCallForClockProbesTooManyOfAWorkerIsRefused) {
  TestSession session(connection_);
  session.Join();
  std::deque<ClockCall> calls;
  for (uint32_t i = 0; i < kMostClockStreamsOfAWorker; ++i) {
    ClockCall& call = calls.emplace_back(connection_, session.token());
    ASSERT_TRUE(call.Ask() && call.Hear());
  }
  ClockCall& one_more = calls.emplace_back(connection_, session.token());
  one_more.Ask();
  EXPECT_FALSE(one_more.Hear());
  const Status status = one_more.End();
  EXPECT_EQ(status.code(), StatusCode::kResourceExhausted);
  EXPECT_THAT(status.message(), HasSubstr("worker 0 has 2 calls for clock probes"));
}

TEST_F(ServiceLimitsTest, AFloodOfClockProbesEndsTheirCallAndNotTheStay) {
  TestSession session(connection_);
  session.Join();
  ClockCall call(connection_, session.token());
  for (int i = 0; i < MessageRate::kMost; ++i) ASSERT_TRUE(call.Ask() && call.Hear()) << i;
  call.Ask();
  EXPECT_FALSE(call.Hear());
  EXPECT_EQ(call.End().code(), StatusCode::kResourceExhausted);
  session.Offer(TestLayout());
  session.Expect<ProvideBaseMessage>();
}

/// Uploads that never say anything, on a connection of their own.
class SilentUploads {
 public:
  explicit SilentUploads(const std::string& address)
      : stub_(v1::Coordinator::NewStub(Open(address))) {
    for (int i = 0; i < kMostStreamsOfAConnection; ++i) {
      writers_.push_back(stub_->Upload(&contexts_.emplace_back(), &receipts_.emplace_back()));
    }
  }
  void AwaitEnds(std::deque<Ending>& endings) {
    for (auto& writer : writers_)
      endings.push_back(
          std::async(std::launch::async, [&writer] { return FromGrpc(writer->Finish()); }));
  }
  void Cancel() {
    for (grpc::ClientContext& context : contexts_) context.TryCancel();
  }

 private:
  static std::shared_ptr<grpc::Channel> Open(const std::string& address) {
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    return grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), arguments);
  }

  const std::unique_ptr<v1::Coordinator::Stub> stub_;
  std::deque<grpc::ClientContext> contexts_;
  std::deque<v1::UploadReceipt> receipts_;
  std::deque<std::unique_ptr<grpc::ClientWriter<v1::UploadMessage>>> writers_;
};

TEST_F(ServiceLimitsTest, ManyConnectionsCannotTakeManyThreads) {
  SilentUploads one(coordinator_->address());
  SilentUploads two(coordinator_->address());  // 64 calls; a run of one worker has 35 threads
  std::deque<Ending> endings;
  one.AwaitEnds(endings);
  two.AwaitEnds(endings);
  EXPECT_EQ(FirstToEnd(endings).code(), StatusCode::kResourceExhausted);
  one.Cancel();
  two.Cancel();
  for (Ending& ending : endings) {
    if (ending.valid()) ending.wait();
  }
  TestSession session(connection_);
  session.Join();
}

}  // namespace
}  // namespace interlude
