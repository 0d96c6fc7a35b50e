// The Session stream: the handler's thread reads what the worker says, a second one writes what it
// is told.
#include <random>
#include <thread>

#include "base/log.h"
#include "coordinator/identity.h"
#include "coordinator/service.h"
#include "wire/convert.h"
#include "wire/credentials.h"

namespace interlude {
namespace {

uint64_t NewToken() {
  std::random_device random;
  return uint64_t{random()} << 32 | random();
}

StatusOr<JoinMessage> ReadFirst(SessionStream& stream) {
  v1::WorkerMessage first;
  if (!stream.Read(&first)) return CancelledError("the worker closed its session before it joined");
  if (first.ByteSizeLong() > kMostJoinBytes) {
    return InvalidArgumentError("a Join of {} bytes; the limit is {}", first.ByteSizeLong(),
                                kMostJoinBytes);
  }
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

Span SpanAbout(const interlude::Session& session, Phase phase, uint32_t round, int64_t begin_ns,
               int64_t end_ns) {
  return {.phase = phase,
          .round = round,
          .about_worker = session.worker,
          .begin_ns = begin_ns,
          .end_ns = end_ns};
}

/// Writes a message, and records when a round's start was decided and went out.
bool WriteMessage(SessionStream& stream, interlude::Session& session,
                  const CoordinatorMessage& message, SharedState& shared) {
  const int64_t begin_ns = shared.clock.Now().count();
  const bool written = stream.Write(ToProto(message));
  if (const auto* start = std::get_if<StartRoundMessage>(&message); start != nullptr && written) {
    // None where a connection is new and what was said on the one before is said again.
    const int64_t decided_ns = session.start_decided_ns.exchange(0);
    shared.recorder.Record(SpanAbout(session, Phase::kStart, start->round,
                                     decided_ns != 0 ? decided_ns : begin_ns,
                                     shared.clock.Now().count()));
  }
  return written;
}

/// Reads until the stream ends, or until the worker says what no right one would: then why.
Status ReadMessages(SessionStream& stream, const std::shared_ptr<interlude::Session>& session,
                    SharedState& shared) {
  MessageRate rate;
  uint32_t newest_report = 0;
  v1::WorkerMessage proto;
  while (!session->dropped && stream.Read(&proto)) {
    INTERLUDE_ASSIGN_OR_RETURN(WorkerMessage message, FromProto(proto));
    const auto* report = std::get_if<RoundReportMessage>(&message);
    const bool fresh = report != nullptr && report->round > newest_report;
    const Nanoseconds now = shared.clock.Now();
    if (!rate.Take(now, fresh)) {
      return ResourceExhaustedError("it said more than {} messages within {} s", MessageRate::kMost,
                                    MessageRate::kWithin.count());
    }
    if (fresh) {
      newest_report = report->round;
      shared.recorder.Record(
          SpanAbout(*session, Phase::kReport, report->round, now.count(), now.count()));
    }
    if (!shared.events.Push(WorkerSaidEvent{session, std::move(message), proto.number()})) break;
  }
  return OkStatus();
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

std::string CoordinatorService::Proof(const grpc::ServerContext& context) const {
  if (keys_ == nullptr) return "without proof";
  if (keys_->ca_pem.empty()) return "join token";
  return "certificate " + CertifiedName(context);
}

StatusOr<JoinMessage> CoordinatorService::ReadJoin(grpc::ServerContext& context,
                                                   SessionStream& stream) {
  const CallDeadlines::Watch watch(deadlines_, context, kFirstMessageWithin);
  INTERLUDE_ASSIGN_OR_RETURN(JoinMessage join, ReadFirst(stream));
  if (keys_ != nullptr && !keys_->ca_pem.empty()) {
    const Status bound = BindToCertificate(CertifiedName(context), join);
    if (!bound.ok()) LogWarning("a worker on {} was refused: {}", join.host, bound.message());
    INTERLUDE_RETURN_IF_ERROR(bound);
  }
  return join;
}

grpc::Status CoordinatorService::Session(grpc::ServerContext* context, SessionStream* stream) {
  context->AddTrailingMetadata(kOwnWord, "1");
  const CallPlace place(open_sessions_, most_sessions_);
  if (!place.got()) {
    return ToGrpc(ResourceExhaustedError("{} sessions are open: no more at once", most_sessions_));
  }
  StatusOr<JoinMessage> join = ReadJoin(*context, *stream);
  if (!join.ok()) return ToGrpc(join.status());
  const std::string host = join->host;
  auto session = std::make_shared<interlude::Session>(NewToken());

  JoinEvent event{session, *std::move(join), {}};
  std::future<StatusOr<WelcomeMessage>> reply = event.reply.get_future();
  if (!shared_.events.Push(std::move(event))) {
    return ToGrpc(UnavailableError("the run is ending; nobody can join"));
  }
  const StatusOr<WelcomeMessage> welcome = reply.get();
  if (!welcome.ok()) return ToGrpc(welcome.status());
  LogInfo("worker {} ({}) is here, from {}", welcome->worker, Proof(*context), host);

  // Ends the wait for the writer where the worker reads nothing.
  std::optional<CallDeadlines::Watch> last_words;
  std::jthread writer;
  SessionEnd end(session, shared_.events);
  bool reachable = stream->Write(ToProto(CoordinatorMessage(*welcome)));
  writer = std::jthread([&] {
    while (auto message = session->outgoing.Pop()) {
      if (reachable) reachable = WriteMessage(*stream, *session, *message, shared_);
    }
  });
  const Status fault = ReadMessages(*stream, session, shared_);
  if (!fault.ok()) {
    // As if it had said so itself: it is out, and not only away.
    shared_.events.Push(
        WorkerSaidEvent{session, LeaveMessage{.failed = true, .reason = fault.message()}});
  }
  end.Tell("its connection closed");
  session->outgoing.Close();
  last_words.emplace(deadlines_, *context, kLastWordsWithin);
  return ToGrpc(fault);
}

}  // namespace interlude
