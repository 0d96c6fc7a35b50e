// The ProbeClock stream: what time it is here, as often as a worker asks.
#include <optional>

#include "coordinator/service.h"
#include "wire/convert.h"

namespace interlude {
namespace {

/// Reads a request and notes at once when it came; nothing when the stream has ended.
std::optional<Nanoseconds> ReadRequest(ClockStream& stream, const Clock& clock,
                                       v1::ClockProbeRequest& request) {
  if (!stream.Read(&request)) return std::nullopt;
  return clock.Now();
}

Status HandleProbes(grpc::ServerContext& context, ClockStream& stream, SharedState& shared,
                    CallDeadlines& deadlines) {
  v1::ClockProbeRequest request;
  std::optional<CallDeadlines::Watch> first_message(std::in_place, deadlines, context,
                                                    kFirstMessageWithin);
  std::optional<Nanoseconds> received = ReadRequest(stream, shared.clock, request);
  first_message.reset();
  if (!received) return CancelledError("the call was closed before its first clock probe came");
  INTERLUDE_ASSIGN_OR_RETURN(const auto session,
                             shared.sessions.Find(request.worker(), request.session()));
  const CallPlace place(session->clock_streams, kMostClockStreamsOfAWorker);
  if (!place.got()) {
    return ResourceExhaustedError("worker {} has {} calls for clock probes: no more at once",
                                  request.worker(), kMostClockStreamsOfAWorker);
  }
  MessageRate rate;
  for (; received && !session->dropped; received = ReadRequest(stream, shared.clock, request)) {
    if (!rate.Take(*received, /*reports_a_round=*/false)) {
      return ResourceExhaustedError("more than {} clock probes within {} s", MessageRate::kMost,
                                    MessageRate::kWithin.count());
    }
    v1::ClockProbeReply reply;
    reply.set_received_ns(received->count());
    reply.set_replied_ns(shared.clock.Now().count());
    if (!stream.Write(reply)) break;
  }
  return OkStatus();
}

}  // namespace

grpc::Status CoordinatorService::ProbeClock(grpc::ServerContext* context, ClockStream* stream) {
  return ToGrpc(HandleProbes(*context, *stream, shared_, deadlines_));
}

}  // namespace interlude
