#include <algorithm>

#include "coordinator/service.h"
#include "wire/convert.h"
#include "wire/credentials.h"

namespace interlude {

namespace {

/// A connection that says nothing while TLS is agreed on.
constexpr int kHandshakeMs = 20'000;

void BoundResources(const ServingOptions& options, grpc::ServerBuilder& builder) {
  grpc::ResourceQuota quota("coordinator");
  quota.SetMaxThreads(MostCallThreads(options.workers) + std::max(1, options.pollers) + 1);
  builder.SetResourceQuota(quota);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, kMostStreamsOfAConnection);
  builder.AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS, kHandshakeMs);
}

}  // namespace

StatusOr<Server> StartServer(const ServingOptions& options, grpc::Service& service) {
  const std::string& listen = options.listen;
  const size_t colon = listen.rfind(':');
  if (colon == std::string::npos || colon + 1 == listen.size()) {
    return InvalidArgumentError(
        "listen address '{}' has no port: write HOST:PORT, for example 0.0.0.0:7070", listen);
  }
  int port = 0;
  grpc::ServerBuilder builder;
  builder.AddListeningPort(listen, MakeServingCredentials(options.keys), &port);
  builder.RegisterService(&service);
  builder.SetMaxReceiveMessageSize(kMaxMessageBytes);
  builder.SetMaxSendMessageSize(kMaxMessageBytes);
  builder.SetSyncServerOption(grpc::ServerBuilder::NUM_CQS, 1);
  builder.SetSyncServerOption(grpc::ServerBuilder::MIN_POLLERS, 1);
  builder.SetSyncServerOption(grpc::ServerBuilder::MAX_POLLERS, std::max(1, options.pollers));
  BoundResources(options, builder);
  // Without this two coordinators could share a port, each getting some of the workers.
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, 10'000);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 10'000);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, 5'000);
  Server result;
  result.server = builder.BuildAndStart();
  if (result.server == nullptr || port == 0) {
    return UnavailableError(
        "cannot listen on {}: the port is in use, or the address is not this machine's; choose "
        "another with --listen "
        "(port 0 lets the system choose)",
        listen);
  }
  result.address = listen.substr(0, colon + 1) + std::to_string(port);
  return result;
}

}  // namespace interlude
