// What one side of a connection shows and what it asks of the other. Plain text in PEM; reading the
// files is the programs' part, making gRPC's credentials wire/credentials.h's. Never printed.
#pragma once

#include <string>

namespace interlude {

/// docs/security.md says which file each is.
struct TransportKeys {
  /// Who must have signed the other side's certificate. Empty at a coordinator that asks workers
  /// for none.
  std::string ca_pem;
  /// This side's own certificate and its private key. Empty at a worker that proves itself by the
  /// token alone.
  std::string certificate_pem;
  std::string key_pem;
  /// What a worker proves with that it may join: 64 hexadecimal digits.
  std::string join_token;
};

}  // namespace interlude
