#include "train/rank_channel.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <span>

namespace interlude {
namespace {

// Both far above what is sent: a run's description, an evaluation's confused classes.
constexpr uint64_t kMostNumbers = uint64_t{1} << 22;
constexpr uint64_t kMostText = uint64_t{1} << 24;

using Header = std::array<uint64_t, 3>;  // kind, numbers, bytes of text
using Deadline = std::optional<std::chrono::steady_clock::time_point>;

Status Gone() { return UnavailableError("the other end of the channel is gone"); }

Status SendAll(int fd, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0 && (errno == EPIPE || errno == ECONNRESET)) return Gone();
    if (sent < 0) return ErrnoError(errno, "cannot send to another rank");
    bytes = bytes.subspan(static_cast<size_t>(sent));
  }
  return OkStatus();
}

// How long to wait now: at most so long as poll can be told.
int WaitMs(const Deadline& deadline) {
  if (!deadline) return -1;
  const auto left =
      std::chrono::ceil<std::chrono::milliseconds>(*deadline - std::chrono::steady_clock::now());
  return static_cast<int>(std::clamp<int64_t>(left.count(), 0, 1'000'000));
}

// Until there is something to receive, be it the end.
Status AwaitInput(int fd, const Deadline& deadline) {
  for (;;) {
    const int wait_ms = WaitMs(deadline);
    pollfd input = {fd, POLLIN, 0};
    const int ready = poll(&input, 1, wait_ms);
    if (ready > 0) return OkStatus();
    if (ready == 0 && wait_ms == 0)
      return DeadlineExceededError("no message from another rank in time");
    if (ready < 0 && errno != EINTR) return ErrnoError(errno, "cannot wait for another rank");
  }
}

Status ReceiveAll(int fd, std::span<std::byte> bytes, const Deadline& deadline) {
  while (!bytes.empty()) {
    INTERLUDE_RETURN_IF_ERROR(AwaitInput(fd, deadline));
    const ssize_t got = recv(fd, bytes.data(), bytes.size(), 0);
    if (got < 0 && errno == EINTR) continue;
    if (got == 0 || (got < 0 && errno == ECONNRESET)) return Gone();
    if (got < 0) return ErrnoError(errno, "cannot receive from another rank");
    bytes = bytes.subspan(static_cast<size_t>(got));
  }
  return OkStatus();
}

}  // namespace

StatusOr<std::pair<RankChannel, RankChannel>> RankChannel::MakePair() {
  std::array<int, 2> ends = {-1, -1};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0)
    return ErrnoError(errno, "cannot make a channel between ranks");
  return std::pair(RankChannel(ends[0]), RankChannel(ends[1]));
}

RankChannel::~RankChannel() {
  if (fd_ >= 0) close(fd_);
}

RankChannel& RankChannel::operator=(RankChannel&& other) noexcept {
  std::swap(fd_, other.fd_);
  return *this;
}

Status RankChannel::Send(const RankMessage& message) {
  const Header header = {message.kind, message.numbers.size(), message.text.size()};
  INTERLUDE_RETURN_IF_ERROR(SendAll(fd_, std::as_bytes(std::span(header))));
  INTERLUDE_RETURN_IF_ERROR(SendAll(fd_, std::as_bytes(std::span(message.numbers))));
  return SendAll(fd_, std::as_bytes(std::span(message.text)));
}

StatusOr<RankMessage> RankChannel::Receive(std::optional<Nanoseconds> timeout) {
  Deadline deadline;
  if (timeout) deadline = std::chrono::steady_clock::now() + *timeout;
  Header header = {};
  INTERLUDE_RETURN_IF_ERROR(ReceiveAll(fd_, std::as_writable_bytes(std::span(header)), deadline));
  const auto [kind, numbers, text] = header;
  if (kind > UINT32_MAX || numbers > kMostNumbers || text > kMostText)
    return DataLossError("another rank sent what is no message of this program");
  RankMessage message{.kind = static_cast<uint32_t>(kind)};
  message.numbers.resize(numbers);
  message.text.resize(text);
  INTERLUDE_RETURN_IF_ERROR(
      ReceiveAll(fd_, std::as_writable_bytes(std::span(message.numbers)), deadline));
  INTERLUDE_RETURN_IF_ERROR(
      ReceiveAll(fd_, std::as_writable_bytes(std::span(message.text)), deadline));
  return message;
}

}  // namespace interlude
