#include "worker/channels.h"

#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/support/channel_arguments.h>

#include <algorithm>
#include <chrono>

#include "wire/convert.h"

namespace interlude {
namespace {

constexpr int kKeepaliveMs = 20'000;
/// A worker that is started before its coordinator should notice it soon.
constexpr int kFirstReconnectMs = 200;
constexpr int kSlowestReconnectMs = 2'000;
/// How often `stop` is asked while connecting.
constexpr std::chrono::milliseconds kSlice{100};

std::shared_ptr<grpc::Channel> MakeChannel(const std::string& address) {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(kMaxMessageBytes);
  arguments.SetMaxSendMessageSize(kMaxMessageBytes);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, kKeepaliveMs);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, kKeepaliveMs);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  arguments.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, kFirstReconnectMs);
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, kFirstReconnectMs);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, kSlowestReconnectMs);
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  // Without its own pool a second channel to the same address would share the first one's
  // connection.
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  return grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), arguments);
}

}  // namespace

StatusOr<Channels> Connect(const std::string& address, Nanoseconds timeout,
                           const std::function<bool()>& stop) {
  Channels channels{.control = MakeChannel(address), .bulk = MakeChannel(address)};
  for (Nanoseconds waited{0}; waited < timeout; waited += kSlice) {
    if (stop())
      return CancelledError("told to stop while connecting to the coordinator at {}", address);
    const Nanoseconds wait = std::min<Nanoseconds>(kSlice, timeout - waited);
    if (channels.control->WaitForConnected(std::chrono::system_clock::now() + wait))
      return channels;
  }
  return UnavailableError(
      "cannot reach the coordinator at {} for {:g} s: is it running, is the address right, does a "
      "firewall block it?",
      address, std::chrono::duration<double>(timeout).count());
}

}  // namespace interlude
