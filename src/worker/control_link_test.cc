#include "worker/control_link.h"

#include <grpcpp/create_channel.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>
#include <grpcpp/server_context.h>
#include <gtest/gtest.h>

#include "base/check.h"
#include "config/run_config.h"

namespace interlude {
namespace {

constexpr uint64_t kToken = 0xfeedface;

/// Welcomes whoever comes, and says Goodbye when it is told to.
class Host final : public v1::Coordinator::Service {
 public:
  Host() {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port_);
    builder.RegisterService(this);
    server_ = builder.BuildAndStart();
    INTERLUDE_CHECK(server_ != nullptr, "no port for the test's coordinator");
  }
  ~Host() override {
    SayGoodbye();
    server_->Shutdown(std::chrono::system_clock::now());
    server_->Wait();
  }

  std::string address() const { return "127.0.0.1:" + std::to_string(port_); }
  void SayGoodbye() {
    MutexLock lock(mutex_);
    goodbye_ = true;
    changed_.NotifyAll();
  }

  grpc::Status Session(
      grpc::ServerContext*,
      grpc::ServerReaderWriter<v1::CoordinatorMessage, v1::WorkerMessage>* stream) override {
    v1::WorkerMessage message;
    stream->Read(&message);
    stream->Write(ToProto(CoordinatorMessage(WelcomeMessage{.worker = 0,
                                                            .workers = 1,
                                                            .session = kToken,
                                                            .run_id = "test",
                                                            .config_toml = FormatRunConfig({})})));
    {
      MutexLock lock(mutex_);
      while (!goodbye_) changed_.Wait(mutex_);
    }
    stream->Write(ToProto(CoordinatorMessage(GoodbyeMessage{StatusCode::kOk, "all is done"})));
    while (stream->Read(&message)) {
    }
    return grpc::Status::OK;
  }

 private:
  int port_ = 0;
  Mutex mutex_;
  CondVar changed_;
  bool goodbye_ INTERLUDE_GUARDED_BY(mutex_) = false;
  std::unique_ptr<grpc::Server> server_;
};

class Link {
 public:
  Link(const Host& host, std::chrono::nanoseconds lag)
      : link_(grpc::CreateChannel(host.address(), grpc::InsecureChannelCredentials()),
              JoinMessage{.protocol_version = kProtocolVersion},
              {.address = host.address(), .reconnect_for = std::chrono::minutes(1), .lag = lag},
              [] { return false; }) {
    while (!token_known_) {
      const auto message = link_.ReceiveFor(std::chrono::seconds(1));
      INTERLUDE_CHECK(message || !link_.ended(), "{}", link_.EndStatus().ToString());
      token_known_ = message.has_value();
    }
  }

  ControlLink& operator*() { return link_; }
  ControlLink* operator->() { return &link_; }

 private:
  ControlLink link_;
  bool token_known_ = false;
};

TEST(ControlLink, ARefusedCallDoesNotDrownTheGoodbyeThatComesAfterIt) {
  Host host;
  Link link(host, std::chrono::minutes(1));
  // The word comes when the link is about to end the session for the refusal, not before.
  link->Renew(1, kToken, [&] {
    host.SayGoodbye();
    return true;
  });
  EXPECT_TRUE(link->over());
  EXPECT_EQ(link->connection(), 1u);
  const auto message = link->ReceiveFor(std::chrono::minutes(1));
  ASSERT_TRUE(message.has_value());
  EXPECT_EQ(std::get<GoodbyeMessage>(*message).reason, "all is done");
}

TEST(ControlLink, ASessionWhoseCallsAreRefusedAndThatNobodyEndsIsRenewed) {
  Host host;
  Link link(host, std::chrono::milliseconds(1));
  link->Renew(1, kToken + 1, [] { return true; });
  EXPECT_EQ(link->connection(), 1u) << "the token is that of an older stay";
  link->Renew(1, kToken, [] { return false; });
  EXPECT_EQ(link->connection(), 1u) << "nobody wants the call any more";
  link->Renew(1, kToken, [] { return true; });
  while (!link->AwaitAnother(1, [] { return true; })) {
  }
  EXPECT_EQ(link->connection(), 2u);
}

}  // namespace
}  // namespace interlude
