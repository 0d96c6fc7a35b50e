// Loopback and disk.
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <thread>
#include <utility>
#include <vector>

#include "analysis/spread.h"
#include "bench/machine_speed.h"

namespace interlude {
namespace {

constexpr size_t kPiece = size_t{1} << 20;
constexpr int kTcpPasses = 4;                 // the first is left out
constexpr size_t kMemory = size_t{64} << 20;  // what is read from and written to; beyond the caches

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() { Close(); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }
  void Close() {
    if (fd_ >= 0) close(std::exchange(fd_, -1));
  }

 private:
  int fd_;
};

using Clock = std::chrono::steady_clock;

double BytesPerSecond(size_t bytes, Clock::time_point begin) {
  return static_cast<double>(bytes) / std::chrono::duration<double>(Clock::now() - begin).count();
}

/// Writes all, going round in `memory`. False when the descriptor takes no more.
bool WriteAll(int fd, const std::vector<std::byte>& memory, size_t bytes) {
  for (size_t done = 0; done < bytes;) {
    const size_t at = done % kMemory;
    const ssize_t wrote =
        write(fd, memory.data() + at, std::min({kPiece, bytes - done, kMemory - at}));
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) return false;
    done += static_cast<size_t>(wrote);
  }
  return true;
}

/// Reads until the end; how many bytes came.
size_t ReadAll(int fd, std::vector<std::byte>& memory) {
  for (size_t done = 0;;) {
    const size_t at = done % kMemory;
    const ssize_t got = read(fd, memory.data() + at, std::min(kPiece, kMemory - at));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return done;
    done += static_cast<size_t>(got);
  }
}

Status Listen(int fd, sockaddr_in& address) {
  address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* const generic = reinterpret_cast<sockaddr*>(&address);
  if (fd < 0 || bind(fd, generic, size) != 0 || listen(fd, 1) != 0 ||
      getsockname(fd, generic, &size) != 0) {
    return ErrnoError(errno, "cannot listen on the loopback device");
  }
  return OkStatus();
}

/// One connection; bytes a second.
StatusOr<double> SendOnce(size_t bytes, const std::vector<std::byte>& from,
                          std::vector<std::byte>& to) {
  const Descriptor listener(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address;
  INTERLUDE_RETURN_IF_ERROR(Listen(listener.get(), address));
  Descriptor sender(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (connect(sender.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0)
    return ErrnoError(errno, "cannot connect over the loopback device");
  const Descriptor receiver(accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
  if (receiver.get() < 0) return ErrnoError(errno, "cannot accept over the loopback device");

  const auto begin = Clock::now();
  std::thread sending([&] {
    (void)WriteAll(sender.get(), from, bytes);  // the receiver counts
    sender.Close();
  });
  const size_t received = ReadAll(receiver.get(), to);
  const double speed = BytesPerSecond(bytes, begin);
  sending.join();
  if (received != bytes)
    return UnavailableError("of {} bytes {} came over the loopback device", bytes, received);
  return speed;
}

}  // namespace

StatusOr<double> MeasureTcpLoopback(size_t bytes) {
  const std::vector<std::byte> from(kMemory, std::byte{1});
  std::vector<std::byte> to(kMemory, std::byte{2});
  std::vector<double> speeds;
  for (int pass = 0; pass < kTcpPasses; ++pass) {
    INTERLUDE_ASSIGN_OR_RETURN(const double speed, SendOnce(bytes, from, to));
    if (pass > 0) speeds.push_back(speed);
  }
  return MedianOf(std::move(speeds));
}

StatusOr<double> MeasureDiskWrite(const std::string& directory, size_t bytes) {
  const std::vector<std::byte> from(kMemory, std::byte{1});
  const std::string path = directory + "/disk-speed";
  const Descriptor file(open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
  if (file.get() < 0) return ErrnoError(errno, "cannot write " + path);
  const auto begin = Clock::now();
  const bool written = WriteAll(file.get(), from, bytes) && fdatasync(file.get()) == 0;
  const int error_number = errno;
  const double speed = BytesPerSecond(bytes, begin);
  unlink(path.c_str());
  if (!written) return ErrnoError(error_number, "cannot write " + path);
  return speed;
}

}  // namespace interlude
