// What a measurement of the link may cost the coordinator: hostile callers, and workers that have
// something to exchange.
#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <future>

#include "coordinator/call_limits.h"
#include "coordinator/service_test_support.h"

namespace interlude {
namespace {

using testing::HasSubstr;

/// One call of MeasureLink.
class Measurement {
 public:
  explicit Measurement(const TestConnection& connection)
      : stream_(connection.stub().MeasureLink(&context_)) {}
  ~Measurement() { context_.TryCancel(); }

  /// Nothing when the call has ended.
  std::optional<v1::LinkReply> Ask(size_t payload_bytes, uint32_t reply_bytes) {
    v1::LinkRequest request;
    request.set_payload(std::string(payload_bytes, 'x'));
    request.set_reply_bytes(reply_bytes);
    v1::LinkReply reply;
    if (!stream_->Write(request) || !stream_->Read(&reply)) return std::nullopt;
    return reply;
  }
  Status End() {
    stream_->WritesDone();
    return AwaitEnd();
  }
  Status AwaitEnd() {
    v1::LinkReply reply;
    while (stream_->Read(&reply)) {
    }
    return FromGrpc(stream_->Finish());
  }

 private:
  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientReaderWriter<v1::LinkRequest, v1::LinkReply>> stream_;
};

class LinkHandlerTest : public testing::Test {
 protected:
  ~LinkHandlerTest() override { coordinator_->Stop("the test is over"); }

  /// A worker that takes part in round 1.
  void BeginRound(TestSession& session) {
    session.Join();
    session.Offer(TestLayout());
    session.Expect<ProvideBaseMessage>();
    ASSERT_TRUE(session.UploadBase(std::vector<float>(TestLayout().total_params(), 0.5f)).ok());
    session.Expect<CatchUpMessage>();
    session.Expect<StartRoundMessage>();
  }
  ManualClock clock_{std::chrono::seconds(1000)};
  std::unique_ptr<Coordinator> coordinator_ =
      Coordinator::Start(TestOptions("link", 1), clock_, nullptr).value();
  TestConnection connection_{coordinator_->address()};
  TestConnection other_{coordinator_->address()};
};

TEST_F(LinkHandlerTest, ARequestIsAnsweredWithTheTimeAndAsManyBytesAsWereAskedFor) {
  Measurement measurement(connection_);
  for (const uint32_t bytes : {0u, 1u, 65536u, static_cast<uint32_t>(kMostLinkPieceBytes)}) {
    const auto reply = measurement.Ask(kMostLinkPieceBytes - bytes, bytes);
    ASSERT_TRUE(reply.has_value());
    EXPECT_EQ(reply->payload().size(), bytes);
    EXPECT_EQ(Nanoseconds(reply->wall_ns()), clock_.WallTime());
  }
  EXPECT_TRUE(measurement.End().ok());
}

TEST_F(LinkHandlerTest, PiecesBeyondTheirBoundAreRefusedEitherWay) {
  for (const auto& [payload, reply] : {std::pair<size_t, uint32_t>{kMostLinkPieceBytes + 1, 0},
                                       {0, kMostLinkPieceBytes + 1},
                                       {0, UINT32_MAX}}) {
    Measurement measurement(connection_);
    EXPECT_FALSE(measurement.Ask(payload, reply).has_value());
    const Status end = measurement.End();
    EXPECT_EQ(end.code(), StatusCode::kInvalidArgument);
    EXPECT_THAT(end.message(), HasSubstr("the limit of both is 1048576"));
  }
}

TEST_F(LinkHandlerTest, TooManyBytesInAllEndTheCall) {
  Measurement measurement(connection_);
  uint64_t bytes = 0;
  while (const auto reply = measurement.Ask(0, kMostLinkPieceBytes))
    bytes += reply->payload().size();
  EXPECT_EQ(bytes, kMostLinkBytes);
  EXPECT_EQ(measurement.End().code(), StatusCode::kResourceExhausted);
}

TEST_F(LinkHandlerTest, TooManyRequestsEndTheCall) {
  Measurement measurement(connection_);
  uint32_t requests = 0;
  while (measurement.Ask(0, 0)) ++requests;
  EXPECT_EQ(requests, kMostLinkRequests);
  EXPECT_EQ(measurement.End().code(), StatusCode::kResourceExhausted);
}

TEST_F(LinkHandlerTest, OneThatTakesTooLongIsEndedThoughItSaysNothing) {
  Measurement measurement(connection_);
  ASSERT_TRUE(measurement.Ask(0, 0).has_value());
  auto ending = std::async(std::launch::async, [&] { return measurement.AwaitEnd(); });
  while (ending.wait_for(std::chrono::milliseconds(10)) != std::future_status::ready)
    clock_.Advance(kLinkMeasurementWithin);
  EXPECT_EQ(ending.get().code(), StatusCode::kCancelled);
}

TEST_F(LinkHandlerTest, ASecondOneAtATimeIsRefusedAndTheFirstGoesOn) {
  Measurement first(connection_);
  ASSERT_TRUE(first.Ask(0, 0).has_value());
  Measurement second(other_);
  const Status end = second.End();
  EXPECT_EQ(end.code(), StatusCode::kResourceExhausted);
  EXPECT_THAT(end.message(), HasSubstr("another machine measures its link"));
  EXPECT_TRUE(first.Ask(0, 10).has_value());
  EXPECT_TRUE(first.End().ok());
  Measurement third(other_);
  EXPECT_TRUE(third.Ask(0, 0).has_value());
}

TEST_F(LinkHandlerTest, WhatIsUnderWayEndsWhenWorkersExchangeAndNothingBeginsMeanwhile) {
  TestSession session(connection_);
  BeginRound(session);
  Measurement measurement(other_);
  ASSERT_TRUE(measurement.Ask(0, 0).has_value()) << "nobody exchanges anything yet";
  // Nothing is uploaded, so there is nothing to download and it waits.
  auto exchange = std::async(std::launch::async, [&] {
    return connection_.Download(
        {.worker = 0, .session = session.token(), .kind = DownloadKind::kSync, .round = 1});
  });
  while (measurement.Ask(0, 0)) {
  }
  Measurement late(other_);
  for (Measurement* each : {&measurement, &late}) {
    const Status end = each->End();
    EXPECT_EQ(end.code(), StatusCode::kResourceExhausted);
    EXPECT_THAT(end.message(), HasSubstr("workers are exchanging a round"));
  }
  coordinator_->Stop("the test is over");  // ends the download
  exchange.wait();
}

}  // namespace
}  // namespace interlude
