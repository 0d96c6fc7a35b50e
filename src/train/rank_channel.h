// Messages between the ranks of one worker: rank 0 orders, the others answer, over a socket pair
// between two processes of one machine and one program. What is large goes another way
// (rank_group.h). One thread at each end.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/status.h"

namespace interlude {

/// An order or an answer. What its parts mean follows from `kind`.
struct RankMessage {
  uint32_t kind = 0;
  std::vector<uint64_t> numbers;
  std::string text;
};

/// Owns one end. Move only.
class RankChannel {
 public:
  /// `fd` is a connected stream socket.
  explicit RankChannel(int fd) : fd_(fd) {}
  /// The two ends of a new channel, which are not inherited by programs that are started.
  static StatusOr<std::pair<RankChannel, RankChannel>> MakePair();
  ~RankChannel();
  RankChannel(RankChannel&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  RankChannel& operator=(RankChannel&& other) noexcept;

  int fd() const { return fd_; }

  /// Blocks while the other end does not read what went before. Unavailable when it is gone.
  Status Send(const RankMessage& message);
  /// The next message. Unavailable when the other end is gone; with `timeout` DeadlineExceeded when
  /// no whole message came in time, after which nothing more can be received; DataLoss on what Send
  /// did not write.
  StatusOr<RankMessage> Receive(std::optional<Nanoseconds> timeout = std::nullopt);

 private:
  int fd_ = -1;
};

}  // namespace interlude
