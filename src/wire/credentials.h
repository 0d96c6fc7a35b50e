// Who may talk to whom: gRPC's credentials for both ends of a connection. With keys every
// connection is TLS and every call carries the join token, checked before any message of it is
// read; without them it's plain text, and anybody who reaches the port is believed.
#pragma once

#include <grpcpp/security/credentials.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server_context.h>

#include <memory>
#include <string>

#include "base/status.h"
#include "wire/transport_keys.h"

namespace interlude {

/// For the coordinator's port. A call without the right token is refused as Unauthenticated and
/// reaches no handler. With `ca_pem` a worker must show a certificate that it signed. Null: plain
/// text. Keys that gRPC can't use show when the port is bound.
std::shared_ptr<grpc::ServerCredentials> MakeServingCredentials(const TransportKeys* keys);

/// For a worker's connections. Null: plain text.
std::shared_ptr<grpc::ChannelCredentials> MakeConnectingCredentials(const TransportKeys* keys);

/// The name (CN) in the certificate that the worker showed; empty when it showed none.
std::string CertifiedName(const grpc::ServerContext& context);

/// Why a connection could not be made.
struct ConnectionTrouble {
  std::string words;     // for people; empty when gRPC's tell nothing that they don't
  bool lasting = false;  // trying again won't help before somebody changes something
};

/// Tells apart, from gRPC's own message: a certificate that isn't trusted or is for another name,
/// one that is asked for and isn't shown, and one side that speaks TLS where the other doesn't.
/// `with_keys`: whether the connection was tried as TLS.
ConnectionTrouble ExplainTrouble(bool with_keys, const std::string& grpc_message);

}  // namespace interlude
