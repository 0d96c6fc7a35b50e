#include "web/listening_socket.h"

#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <string_view>

#include "base/address.h"

namespace interlude {
namespace {

constexpr int kBacklog = 64;

using Found = std::unique_ptr<addrinfo, void (*)(addrinfo*)>;

StatusOr<Found> Resolve(const std::string& address) {
  const std::string_view host = HostOf(address);
  if (host.empty() || host.size() + 1 >= address.size()) {
    return InvalidArgumentError("{} is no address for the page: give HOST:PORT", address);
  }
  const bool bare = !host.starts_with('[');
  const std::string name(bare ? host : host.substr(1, host.size() - 2));
  const std::string port = address.substr(host.size() + 1);
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  if (const int error = getaddrinfo(name.c_str(), port.c_str(), &hints, &found); error != 0) {
    return InvalidArgumentError("the page cannot be served on {}: {}; choose another with --http",
                                address, gai_strerror(error));
  }
  return Found(found, freeaddrinfo);
}

int OpenSocket(const addrinfo& info) {
  const int descriptor =
      socket(info.ai_family, info.ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, info.ai_protocol);
  if (descriptor < 0) return -1;
  const int yes = 1;  // connections of a coordinator that just ended do not keep the port
  setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
  if (bind(descriptor, info.ai_addr, info.ai_addrlen) == 0 && listen(descriptor, kBacklog) == 0)
    return descriptor;
  const int error = errno;
  close(descriptor);
  errno = error;
  return -1;
}

int BoundPort(int descriptor) {
  sockaddr_storage bound{};
  socklen_t size = sizeof(bound);
  if (getsockname(descriptor, reinterpret_cast<sockaddr*>(&bound), &size) != 0) return 0;
  // The port stands at the same place in both families.
  return ntohs(reinterpret_cast<const sockaddr_in*>(&bound)->sin_port);
}

}  // namespace

StatusOr<ListeningSocket> ListeningSocket::Open(const std::string& address) {
  INTERLUDE_ASSIGN_OR_RETURN(const Found found, Resolve(address));
  const int descriptor = OpenSocket(*found);
  if (descriptor < 0) {
    return UnavailableError(
        "the page cannot be served on {}: {}; choose another address with --http (port 0 lets the "
        "system choose)",
        address, std::strerror(errno));
  }
  return ListeningSocket(descriptor, fmt::format("{}:{}", HostOf(address), BoundPort(descriptor)));
}

ListeningSocket::~ListeningSocket() {
  if (descriptor_ >= 0) close(descriptor_);
}

}  // namespace interlude
