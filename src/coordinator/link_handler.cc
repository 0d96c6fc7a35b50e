// MeasureLink: the far end of `interlude doctor`, for a machine that has not joined. Bounded in
// bytes, requests and time, one at a time, and gone as soon as a worker exchanges something.
#include "base/rng.h"
#include "coordinator/identity.h"
#include "coordinator/service.h"
#include "wire/convert.h"
#include "wire/credentials.h"

namespace interlude {
namespace {

/// What one call may still ask for.
class LinkAllowance {
 public:
  Status Take(uint64_t request_bytes, uint64_t reply_bytes) {
    if (request_bytes > kMostLinkPieceBytes || reply_bytes > kMostLinkPieceBytes) {
      return InvalidArgumentError("a request of {} bytes for {}; the limit of both is {}",
                                  request_bytes, reply_bytes, kMostLinkPieceBytes);
    }
    bytes_ += request_bytes + reply_bytes;
    ++requests_;
    if (bytes_ > kMostLinkBytes || requests_ > kMostLinkRequests) {
      return ResourceExhaustedError(
          "this measurement has come to {} bytes in {} requests; the limits are {} and {}", bytes_,
          requests_, kMostLinkBytes, kMostLinkRequests);
    }
    return OkStatus();
  }

 private:
  uint64_t bytes_ = 0;
  uint32_t requests_ = 0;
};

Status CheckNoExchange(const SessionTable& sessions) {
  if (!sessions.AnyBulkStream()) return OkStatus();
  return ResourceExhaustedError(
      "workers are exchanging a round, which a measurement would hold up: try again in a while");
}

/// Bytes that no line on the way can make shorter.
std::string Noise() {
  Rng random(2);
  std::string bytes(kMostLinkPieceBytes, '\0');
  for (char& byte : bytes) byte = static_cast<char>(random());
  return bytes;
}

Status AnswerAll(LinkStream& stream, const SharedState& shared) {
  const std::string noise = Noise();
  LinkAllowance allowance;
  v1::LinkRequest request;
  v1::LinkReply reply;
  while (stream.Read(&request)) {
    INTERLUDE_RETURN_IF_ERROR(allowance.Take(request.payload().size(), request.reply_bytes()));
    INTERLUDE_RETURN_IF_ERROR(CheckNoExchange(shared.sessions));
    reply.mutable_payload()->assign(noise, 0, request.reply_bytes());
    reply.set_wall_ns(shared.clock.WallTime().count());
    if (!stream.Write(reply)) break;
  }
  return OkStatus();
}

}  // namespace

Status CoordinatorService::HandleMeasureLink(grpc::ServerContext& context, LinkStream& stream) {
  if (keys_ != nullptr && !keys_->ca_pem.empty()) {
    JoinMessage anybody;
    INTERLUDE_RETURN_IF_ERROR(BindToCertificate(CertifiedName(context), anybody));
  }
  const CallPlace place(link_measurements_, kMostLinkMeasurements);
  if (!place.got()) {
    return ResourceExhaustedError(
        "another machine measures its link to this coordinator: try again in a few seconds");
  }
  INTERLUDE_RETURN_IF_ERROR(CheckNoExchange(shared_.sessions));
  const CallDeadlines::Watch watch(deadlines_, context, kLinkMeasurementWithin);
  return AnswerAll(stream, shared_);
}

grpc::Status CoordinatorService::MeasureLink(grpc::ServerContext* context, LinkStream* stream) {
  return ToGrpc(HandleMeasureLink(*context, *stream));
}

}  // namespace interlude
