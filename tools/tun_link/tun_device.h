// A TUN device in a network namespace: a network interface whose other end is a file descriptor.
// Linux, as root. Call while the process has one thread: it visits the namespace.
#pragma once

#include <string>

#include "base/status.h"

namespace interlude {

/// "NAMESPACE:DEVICE:ADDRESS", as "left:wan0:10.0.0.1". The namespace is one of `ip netns add`.
struct TunEnd {
  std::string netns;
  std::string device;
  std::string address;  // IPv4; the network is its first 24 bits

  static StatusOr<TunEnd> Parse(const std::string& text);
};

/// Makes the device, gives it its address and sets it up. Returns a descriptor that doesn't block:
/// each read gives one IP packet that was sent into the device, each write puts one into it. The
/// device is gone when the descriptor is closed.
StatusOr<int> OpenTun(const TunEnd& end);

}  // namespace interlude
