// A TCP socket that listens.
#pragma once

#include <string>
#include <utility>

#include "base/status.h"

namespace interlude {

/// Movable; closes the socket unless that was released.
class ListeningSocket {
 public:
  /// HOST:PORT, IPv6 in brackets; port 0: the system chooses. InvalidArgument when that is no
  /// address, Unavailable when it cannot be had.
  static StatusOr<ListeningSocket> Open(const std::string& address);
  ListeningSocket(ListeningSocket&& other) noexcept
      : descriptor_(other.Release()), address_(std::move(other.address_)) {}
  ~ListeningSocket();

  /// "127.0.0.1:43517": the host as it was given, and the port that it became.
  const std::string& address() const { return address_; }
  /// The descriptor, which is then the caller's to close.
  int Release() { return std::exchange(descriptor_, -1); }

 private:
  ListeningSocket(int descriptor, std::string address)
      : descriptor_(descriptor), address_(std::move(address)) {}

  int descriptor_;
  std::string address_;
};

}  // namespace interlude
