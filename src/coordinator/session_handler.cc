// The Session stream: the handler's thread reads what the worker says, a second one writes what it
// is told.
#include <random>
#include <thread>

#include "coordinator/service.h"
#include "wire/convert.h"

namespace interlude {
namespace {

uint64_t NewToken() {
  std::random_device random;
  return uint64_t{random()} << 32 | random();
}

StatusOr<JoinMessage> ReadJoin(SessionStream& stream) {
  v1::WorkerMessage first;
  if (!stream.Read(&first)) return CancelledError("the worker closed its session before it joined");
  INTERLUDE_ASSIGN_OR_RETURN(WorkerMessage message, FromProto(first));
  JoinMessage* join = std::get_if<JoinMessage>(&message);
  if (join == nullptr) return InvalidArgumentError("a session begins with Join");
  if (join->protocol_version != kProtocolVersion) {
    return FailedPreconditionError(
        "this worker ({}) speaks protocol version {}, the coordinator {}: install the same version "
        "of interlude on both",
        join->software, join->protocol_version, kProtocolVersion);
  }
  return std::move(*join);
}

/// Reads until the stream ends or a message is bad; returns why.
std::string ReadMessages(SessionStream& stream, const std::shared_ptr<interlude::Session>& session,
                         EventQueue& events) {
  v1::WorkerMessage proto;
  while (stream.Read(&proto)) {
    StatusOr<WorkerMessage> message = FromProto(proto);
    if (!message.ok()) return message.status().ToString();
    if (!events.Push(WorkerSaidEvent{session, *std::move(message), proto.number()}))
      return "the coordinator is ending";
  }
  return "its connection closed";
}

/// Tells the round thread that a session is over, however its handler ends; before the handler
/// waits for a writer that a worker which no longer reads may hold up.
class SessionEnd {
 public:
  SessionEnd(std::shared_ptr<interlude::Session> session, EventQueue& events)
      : session_(std::move(session)), events_(events) {}
  ~SessionEnd() {
    if (!told_) Tell("its handler failed");
  }
  SessionEnd(const SessionEnd&) = delete;
  SessionEnd& operator=(const SessionEnd&) = delete;

  void Tell(const std::string& reason) {
    told_ = true;
    events_.Push(SessionClosedEvent{session_, reason});
  }

 private:
  const std::shared_ptr<interlude::Session> session_;
  EventQueue& events_;
  bool told_ = false;
};

}  // namespace

grpc::Status CoordinatorService::Session(grpc::ServerContext* context, SessionStream* stream) {
  context->AddTrailingMetadata(kOwnWord, "1");
  StatusOr<JoinMessage> join = ReadJoin(*stream);
  if (!join.ok()) return ToGrpc(join.status());
  auto session = std::make_shared<interlude::Session>(NewToken());

  JoinEvent event{session, *std::move(join), {}};
  std::future<StatusOr<WelcomeMessage>> reply = event.reply.get_future();
  if (!shared_.events.Push(std::move(event))) {
    return ToGrpc(UnavailableError("the run is ending; nobody can join"));
  }
  const StatusOr<WelcomeMessage> welcome = reply.get();
  if (!welcome.ok()) return ToGrpc(welcome.status());

  std::jthread writer;
  SessionEnd end(session, shared_.events);
  bool reachable = stream->Write(ToProto(CoordinatorMessage(*welcome)));
  writer = std::jthread([&] {
    while (auto message = session->outgoing.Pop()) {
      if (reachable) reachable = stream->Write(ToProto(*message));
    }
  });
  end.Tell(ReadMessages(*stream, session, shared_.events));
  session->outgoing.Close();
  return grpc::Status::OK;
}

}  // namespace interlude
