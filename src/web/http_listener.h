// Listens for HTTP/1.1 by libmicrohttpd: a few threads, bounded connections and memory, nothing but
// GET and HEAD in mind. No TLS. Knows nothing of what is answered.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>

#include "base/status.h"
#include "web/http.h"
#include "web/listening_socket.h"

namespace interlude {

/// Bounds on what comes from the network.
inline constexpr unsigned kWebThreads = 4;
/// More than these wait until one of them ends. A multiple of kWebThreads, which share them.
inline constexpr unsigned kMostWebConnections = 32;
/// A connection's memory: its request line and headers must fit, else it is refused.
inline constexpr size_t kWebConnectionBytes = 32 << 10;
/// A connection on which nothing moves is closed.
inline constexpr unsigned kWebIdleSeconds = 15;

class HttpListener {
 public:
  /// Called on the listener's threads, several at once; must not throw what is no std::exception.
  using Answerer = std::function<HttpAnswer(const HttpRequest&)>;

  /// Answers whoever connects, from now on. Unavailable when there are no threads to be had.
  static StatusOr<std::unique_ptr<HttpListener>> Start(ListeningSocket socket, Answerer answerer);
  /// Closes every connection, whatever the other side does; waits only for answerers that run.
  virtual ~HttpListener() = default;
};

}  // namespace interlude
