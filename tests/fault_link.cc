#include "tests/fault_link.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>

#include "base/check.h"

namespace interlude {
namespace {

constexpr size_t kRoom = size_t{1} << 20;  // that a direction takes in before it waits
constexpr int kTickMs = 5;

FileDescriptor NonBlockingSocket() {
  return FileDescriptor(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
}

void NoDelay(int fd) {
  const int one = 1;
  ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
}

/// Closing then sends a reset.
void ResetOnClose(int fd) {
  const linger now{.l_onoff = 1, .l_linger = 0};
  ::setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
}

}  // namespace

FaultLink::FaultLink(const std::string& target) {
  const size_t colon = target.rfind(':');
  target_.sin_family = AF_INET;
  target_.sin_port = htons(static_cast<uint16_t>(std::stoi(target.substr(colon + 1))));
  target_.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  listener_ = NonBlockingSocket();
  sockaddr_in any{};
  any.sin_family = AF_INET;
  any.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  INTERLUDE_CHECK(::bind(listener_.get(), reinterpret_cast<sockaddr*>(&any), sizeof(any)) == 0 &&
                      ::listen(listener_.get(), 64) == 0,
                  "no port for the test's line");
  socklen_t length = sizeof(any);
  ::getsockname(listener_.get(), reinterpret_cast<sockaddr*>(&any), &length);
  port_ = ntohs(any.sin_port);
  thread_ = std::thread([this] { Run(); });
}

FaultLink::~FaultLink() {
  stop_ = true;
  thread_.join();
}

void FaultLink::Accept() {
  for (;;) {
    FileDescriptor near(::accept4(listener_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (!near.valid()) return;
    if (cut_) {
      ++refused_;
      ResetOnClose(near.get());
      continue;
    }
    FileDescriptor far = NonBlockingSocket();
    if (::connect(far.get(), reinterpret_cast<const sockaddr*>(&target_), sizeof(target_)) != 0 &&
        errno != EINPROGRESS) {
      ResetOnClose(near.get());
      continue;
    }
    NoDelay(near.get());
    NoDelay(far.get());
    Connection& connection = connections_.emplace_back();
    connection.near = std::move(near);
    connection.far = std::move(far);
    connection.pipes[0].from = connection.pipes[1].to = connection.near.get();
    connection.pipes[0].to = connection.pipes[1].from = connection.far.get();
  }
}

void FaultLink::CloseAll() {
  for (Connection& connection : connections_) {
    ResetOnClose(connection.near.get());
    ResetOnClose(connection.far.get());
  }
  connections_.clear();
}

void FaultLink::Read(Connection& connection, Pipe& pipe) {
  std::byte bytes[64 << 10];
  while (pipe.waiting < kRoom && !pipe.at_end) {
    const ssize_t got = ::read(pipe.from, bytes, sizeof(bytes));
    if (got < 0 && (errno == EAGAIN || errno == EINTR || errno == ENOTCONN)) return;
    if (got < 0) {
      connection.broken = true;
      return;
    }
    if (got == 0) {
      pipe.at_end = true;
      return;
    }
    const auto now = Clock::now();
    const uint64_t rate = rate_;
    if (pipe.free_at < now) pipe.free_at = now;
    if (rate > 0) {
      pipe.free_at +=
          std::chrono::nanoseconds(1'000'000'000ull * static_cast<uint64_t>(got) / rate);
    }
    pipe.parcels.push_back({.due = pipe.free_at + std::chrono::milliseconds(delay_ms_),
                            .bytes = {bytes, bytes + got}});
    pipe.waiting += static_cast<size_t>(got);
  }
}

void FaultLink::Write(Connection& connection, Pipe& pipe, Clock::time_point now) {
  while (!pipe.parcels.empty() && pipe.parcels.front().due <= now) {
    Parcel& parcel = pipe.parcels.front();
    const ssize_t sent = ::send(pipe.to, parcel.bytes.data() + parcel.sent,
                                parcel.bytes.size() - parcel.sent, MSG_NOSIGNAL);
    if (sent < 0 && (errno == EAGAIN || errno == EINTR || errno == ENOTCONN)) return;
    if (sent < 0) {
      connection.broken = true;
      return;
    }
    parcel.sent += static_cast<size_t>(sent);
    pipe.waiting -= static_cast<size_t>(sent);
    if (parcel.sent < parcel.bytes.size()) return;
    pipe.parcels.pop_front();
  }
  if (pipe.at_end && pipe.parcels.empty()) ::shutdown(pipe.to, SHUT_WR);
}

void FaultLink::Run() {
  while (!stop_) {
    std::vector<pollfd> polled{{.fd = listener_.get(), .events = POLLIN, .revents = 0}};
    for (const Connection& connection : connections_) {
      for (const Pipe& pipe : connection.pipes) {
        const bool reads = !silent_ && !pipe.at_end && pipe.waiting < kRoom;
        if (reads) polled.push_back({.fd = pipe.from, .events = POLLIN, .revents = 0});
      }
    }
    ::poll(polled.data(), polled.size(), kTickMs);
    if (cut_) CloseAll();
    Accept();
    open_ = connections_.size();
    if (silent_) continue;
    for (Connection& connection : connections_) {
      for (Pipe& pipe : connection.pipes) {
        Read(connection, pipe);
        Write(connection, pipe, Clock::now());
      }
    }
    connections_.remove_if([](Connection& connection) {
      const bool over = connection.pipes[0].at_end && connection.pipes[1].at_end &&
                        connection.pipes[0].parcels.empty() && connection.pipes[1].parcels.empty();
      if (connection.broken) {
        ResetOnClose(connection.near.get());
        ResetOnClose(connection.far.get());
      }
      return connection.broken || over;
    });
  }
}

}  // namespace interlude
