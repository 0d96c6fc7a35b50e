#include "bench/raw_tcp.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <thread>

#include "store/file.h"

namespace interlude {
namespace {

constexpr size_t kMostAtOnce = size_t{1} << 20;

struct TcpPair {
  FileDescriptor sender;
  FileDescriptor receiver;
};

StatusOr<TcpPair> ConnectToSelf() {
  FileDescriptor listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  auto* any = reinterpret_cast<sockaddr*>(&address);
  if (!listener.valid() || ::bind(listener.get(), any, size) != 0 ||
      ::listen(listener.get(), 1) != 0 || ::getsockname(listener.get(), any, &size) != 0)
    return ErrnoError(errno, "listening on loopback");
  TcpPair pair;
  pair.sender = FileDescriptor(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!pair.sender.valid() || ::connect(pair.sender.get(), any, size) != 0)
    return ErrnoError(errno, "connecting to loopback");
  pair.receiver = FileDescriptor(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
  if (!pair.receiver.valid()) return ErrnoError(errno, "accepting on loopback");
  return pair;
}

Status SendAll(int fd, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t sent =
        ::send(fd, bytes.data(), std::min(bytes.size(), kMostAtOnce), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) return ErrnoError(errno, "sending over loopback");
    bytes = bytes.subspan(static_cast<size_t>(sent));
  }
  return OkStatus();
}

Status ReceiveAll(int fd, std::span<std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t got = ::recv(fd, bytes.data(), std::min(bytes.size(), kMostAtOnce), 0);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return ErrnoError(errno, "receiving over loopback");
    if (got == 0) return DataLossError("the connection ended {} bytes early", bytes.size());
    bytes = bytes.subspan(static_cast<size_t>(got));
  }
  return OkStatus();
}

}  // namespace

StatusOr<std::chrono::duration<double>> TimeRawTcp(std::span<const std::byte> from,
                                                   std::span<std::byte> to) {
  INTERLUDE_ASSIGN_OR_RETURN(TcpPair pair, ConnectToSelf());
  const auto start = std::chrono::steady_clock::now();
  Status sent;
  std::thread sender([&] {
    sent = SendAll(pair.sender.get(), from);
    pair.sender = FileDescriptor();  // so that the receiver ends when sending failed
  });
  const Status received = ReceiveAll(pair.receiver.get(), to);
  pair.receiver = FileDescriptor();
  sender.join();
  INTERLUDE_RETURN_IF_ERROR(sent);
  INTERLUDE_RETURN_IF_ERROR(received);
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start);
}

}  // namespace interlude
