#include "worker/clock_prober.h"

#include <gmock/gmock.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>
#include <gtest/gtest.h>

#include <atomic>
#include <functional>

#include "base/check.h"
#include "base/queue.h"
#include "ledger/clock_fit.h"

namespace interlude {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using testing::Each;
using testing::Field;
using ProbeStream = grpc::ServerReaderWriter<v1::ClockProbeReply, v1::ClockProbeRequest>;

/// A coordinator's clock alone; `handler` says how it answers.
class ClockService final : public v1::Coordinator::Service {
 public:
  using Handler = std::function<grpc::Status(grpc::ServerContext&, ProbeStream&)>;

  explicit ClockService(Handler handler) : handler_(std::move(handler)) {
    grpc::ServerBuilder builder;
    int port = 0;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
    builder.RegisterService(this);
    server_ = builder.BuildAndStart();
    INTERLUDE_CHECK(server_ != nullptr, "no port for the test's coordinator");
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    channel_ = grpc::CreateCustomChannel("127.0.0.1:" + std::to_string(port),
                                         grpc::InsecureChannelCredentials(), arguments);
  }
  ~ClockService() override { End(); }
  void End() {
    server_->Shutdown(std::chrono::system_clock::now());
    server_->Wait();
  }

  grpc::Status ProbeClock(grpc::ServerContext* context, ProbeStream* stream) override {
    return handler_ ? handler_(*context, *stream) : Service::ProbeClock(context, stream);
  }
  const std::shared_ptr<grpc::Channel>& channel() const { return channel_; }

 private:
  const Handler handler_;
  std::unique_ptr<grpc::Server> server_;
  std::shared_ptr<grpc::Channel> channel_;
};

/// Answers at most `most` requests with the machine's clock and an hour more; tells `asked` of
/// each.
bool Answer(ProbeStream& stream, int most, Queue<v1::ClockProbeRequest>& asked) {
  v1::ClockProbeRequest request;
  while (most-- > 0 && stream.Read(&request)) {
    v1::ClockProbeReply reply;
    reply.set_received_ns((SystemClock().Now() + hours(1)).count());
    reply.set_replied_ns((SystemClock().Now() + hours(1)).count());
    // Before the reply: who has heard of the request knows that the ones before were answered.
    asked.TryPush(request);
    if (!stream.Write(reply)) return false;
  }
  return true;
}

constexpr ClockProberOptions kQuick{
    .burst = 3, .burst_every = milliseconds(1), .every = milliseconds(2)};
constexpr ClockProberOptions kRare{.burst = 1, .every = hours(24)};

TEST(ClockProber, MakesProbesFromWhichTheOtherClockIsKnown) {
  Queue<v1::ClockProbeRequest> asked(1'000);
  ClockService service([&](auto&, ProbeStream& stream) {
    Answer(stream, 1'000'000, asked);
    return grpc::Status::OK;
  });
  ClockProber prober(service.channel(), SystemClock(), 7, 0xfeed, kQuick);
  for (int i = 0; i < 10; ++i) {
    const auto request = asked.Pop();
    EXPECT_EQ(request->worker(), 7);
    EXPECT_EQ(request->session(), 0xfeedu);
  }
  prober.Stop();
  const std::vector<ClockProbe> probes = prober.Take();
  ASSERT_GE(probes.size(), 9u);
  EXPECT_THAT(probes, Each(Field(&ClockProbe::worker, 7)));
  EXPECT_TRUE(std::ranges::is_sorted(probes, {}, &ClockProbe::sent_ns));
  const ClockEstimate estimate = EstimateMinimum(probes, probes.back().returned_ns);
  const int64_t hour_ns = Nanoseconds(hours(1)).count();
  EXPECT_LE(std::abs(estimate.offset_ns - hour_ns), estimate.error_ns);
  EXPECT_TRUE(prober.Take().empty()) << "they are taken once";
}

TEST(ClockProber, GoesOnByItselfAfterABrokenCall) {
  Queue<v1::ClockProbeRequest> asked(1'000);
  std::atomic<int> calls = 0;
  ClockService service([&](auto&, ProbeStream& stream) {
    ++calls;
    Answer(stream, 2, asked);
    return grpc::Status(grpc::StatusCode::UNAVAILABLE, "a bad line");
  });
  ClockProber prober(service.channel(), SystemClock(), 7, 1, kQuick);
  for (int i = 0; i < 7; ++i) asked.Pop();
  prober.Stop();
  EXPECT_GE(calls, 4);
  EXPECT_GE(prober.Take().size(), 6u);
}

TEST(ClockProber, AfterARefusalItComesBackWithTheTokenOfTheNewStay) {
  Queue<uint64_t> tokens(1'000);
  ClockService service([&](auto&, ProbeStream& stream) {
    v1::ClockProbeRequest request;
    stream.Read(&request);
    tokens.TryPush(request.session());
    return grpc::Status(grpc::StatusCode::PERMISSION_DENIED, "no such session");
  });
  ClockProber prober(service.channel(), SystemClock(), 7, 1, kQuick);
  EXPECT_EQ(tokens.Pop(), 1u);
  prober.SetSession(2);
  while (tokens.Pop() != 2u) {
  }
  EXPECT_TRUE(prober.Take().empty());
}

TEST(ClockProber, WhereThereIsAnotherStayTheOldCallIsGivenUp) {
  Queue<v1::ClockProbeRequest> asked(1'000);
  ClockService service([&](auto&, ProbeStream& stream) {
    Answer(stream, 1'000'000, asked);
    return grpc::Status::OK;
  });
  ClockProber prober(service.channel(), SystemClock(), 7, 1, kQuick);
  EXPECT_EQ(asked.Pop()->session(), 1u);
  prober.SetSession(2);
  while (asked.Pop()->session() != 2u) {
  }
}

TEST(ClockProber, AnOlderCoordinatorKnowsNoProbesAndIsNotAskedAgain) {
  ClockService service({});
  ClockProber prober(service.channel(), SystemClock(), 7, 1, kQuick);
  prober.Stop();
  EXPECT_TRUE(prober.Take().empty());
}

TEST(ClockProber, StopsAtOnceWhereACoordinatorSaysNothing) {
  Queue<bool> begun(1);
  ClockService service([&](grpc::ServerContext& context, ProbeStream& stream) {
    v1::ClockProbeRequest request;
    while (stream.Read(&request)) begun.TryPush(true);
    EXPECT_TRUE(context.IsCancelled());
    return grpc::Status::OK;
  });
  ClockProber prober(service.channel(), SystemClock(), 7, 1, kRare);
  begun.Pop();
  prober.Stop();
}

TEST(ClockProber, StopsAtOnceWhereTheNextProbeIsADayAway) {
  Queue<v1::ClockProbeRequest> asked(10);
  ClockService service([&](auto&, ProbeStream& stream) {
    Answer(stream, 10, asked);
    return grpc::Status::OK;
  });
  ClockProber prober(service.channel(), SystemClock(), 7, 1, kRare);
  asked.Pop();
  prober.Stop();
}

TEST(ClockProber, StopsAtOnceWhereNobodyIsThere) {
  ClockService service({});
  service.End();
  ClockProber prober(service.channel(), SystemClock(), 7, 1, kQuick);
  prober.Stop();
  EXPECT_TRUE(prober.Take().empty());
}

TEST(ClockProber, KeepsABoundedNumberUntilTheyAreTaken) {
  Queue<v1::ClockProbeRequest> asked(1'000);
  ClockService service([&](auto&, ProbeStream& stream) {
    Answer(stream, 1'000'000, asked);
    return grpc::Status::OK;
  });
  ClockProber prober(service.channel(), SystemClock(), 7, 1,
                     {.burst = 1'000'000, .burst_every = milliseconds(0)});
  for (size_t i = 0; i < 3 * ClockProber::kMostKept; ++i) asked.Pop();
  prober.Stop();
  const std::vector<ClockProbe> probes = prober.Take();
  EXPECT_LE(probes.size(), ClockProber::kMostKept);
  EXPECT_GT(probes.size(), ClockProber::kMostKept / 2 - 2);
}

TEST(ClockProber, RepliesThatNoClockCanHaveShownAreDropped) {
  std::atomic<int> replies = 0;
  Queue<bool> done(1);
  ClockService service([&](auto&, ProbeStream& stream) {
    v1::ClockProbeRequest request;
    while (stream.Read(&request)) {
      v1::ClockProbeReply reply;
      reply.set_received_ns(INT64_MAX);
      reply.set_replied_ns(INT64_MIN);
      stream.Write(reply);
      if (++replies == 3) done.TryPush(true);
    }
    return grpc::Status::OK;
  });
  ClockProber prober(service.channel(), SystemClock(), 7, 1, kQuick);
  done.Pop();
  prober.Stop();
  EXPECT_TRUE(prober.Take().empty());
}

}  // namespace
}  // namespace interlude
