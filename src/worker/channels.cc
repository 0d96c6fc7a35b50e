#include "worker/channels.h"

#include <grpcpp/create_channel.h>
#include <grpcpp/support/channel_arguments.h>

#include <algorithm>
#include <chrono>

#include "base/log.h"
#include "wire/bulk_methods.h"
#include "wire/convert.h"
#include "wire/credentials.h"

namespace interlude {
namespace {

constexpr int kKeepaliveMs = 20'000;
/// A worker that is started before its coordinator should notice it soon.
constexpr int kFirstReconnectMs = 200;
constexpr int kSlowestReconnectMs = 2'000;
/// gRPC's least backoff is what it allows one attempt: a lost packet and a TLS handshake over a far
/// line take more than a second.
constexpr int kConnectTimeoutMs = 10'000;
/// How often `stop` is asked while connecting.
constexpr std::chrono::milliseconds kSlice{100};

std::shared_ptr<grpc::Channel> MakeChannel(const std::string& address, const TransportKeys* keys) {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(kMaxMessageBytes);
  arguments.SetMaxSendMessageSize(kMaxMessageBytes);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, kKeepaliveMs);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, kKeepaliveMs);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  arguments.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, kFirstReconnectMs);
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, kConnectTimeoutMs);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, kSlowestReconnectMs);
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  // Without its own pool a second channel to the same address would share the first one's
  // connection.
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  return grpc::CreateCustomChannel(address, MakeConnectingCredentials(keys), arguments);
}

/// Why the newest attempt to connect failed, in gRPC's words; empty when there's nothing to tell. A
/// channel doesn't say, but a call that doesn't wait for it is refused with the reason.
std::string LastFailure(const std::shared_ptr<grpc::Channel>& channel) {
  if (channel->GetState(/*try_to_connect=*/false) != GRPC_CHANNEL_TRANSIENT_FAILURE) return "";
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + kSlice);
  v1::ChunkList none;
  const grpc::Status status = BulkStub(channel).MissingChunks(&context, v1::UploadHeader(), &none);
  return status.error_code() == grpc::StatusCode::UNAVAILABLE ? status.error_message() : "";
}

}  // namespace

StatusOr<Channels> Connect(const std::string& address, const TransportKeys* keys,
                           Nanoseconds timeout, const std::function<bool()>& stop) {
  Channels channels{.control = MakeChannel(address, keys),
                    .bulk = MakeChannel(address, keys),
                    .clock = MakeChannel(address, keys)};
  std::string trouble = "is it running, is the address right, does a firewall block it?";
  for (Nanoseconds waited{0}; waited < timeout; waited += kSlice) {
    if (stop())
      return CancelledError("told to stop while connecting to the coordinator at {}", address);
    const Nanoseconds wait = std::min<Nanoseconds>(kSlice, timeout - waited);
    if (channels.control->WaitForConnected(std::chrono::system_clock::now() + wait))
      return channels;
    const ConnectionTrouble now = ExplainTrouble(keys != nullptr, LastFailure(channels.control));
    if (now.lasting) {
      return UnauthenticatedError("cannot connect to the coordinator at {}: {}", address,
                                  now.words);
    }
    if (now.words.empty() || now.words == trouble) continue;
    trouble = now.words;
    LogWarning("no connection to the coordinator at {} yet: {}", address, trouble);
  }
  return UnavailableError("cannot reach the coordinator at {} for {:g} s: {}", address,
                          std::chrono::duration<double>(timeout).count(), trouble);
}

}  // namespace interlude
