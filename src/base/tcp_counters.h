// What the kernel has counted for TCP connections of this process.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>

namespace interlude {

/// Of one connection, since it was made. Nothing where the kernel is too old to say.
struct TcpCounters {
  std::optional<int64_t> sent_bytes;           // payload, also what was sent again
  std::optional<int64_t> retransmitted_bytes;  // of these
  std::optional<int64_t> busy_ns;              // data was on its way or waiting to go
  std::optional<int64_t> receiver_limited_ns;  // of busy_ns: the receiver's window was full
  std::optional<int64_t> sender_limited_ns;    // of busy_ns: the own send buffer was full
  std::optional<int64_t> round_trip_ns;        // smoothed
};

/// Which connections: those whose other end has this port, or whose own end has.
struct TcpPorts {
  uint16_t port = 0;
  bool own_end = false;
};

/// The established connections of this process that `ports` means, by the kernel's cookie, which
/// no other socket ever has. Nothing where the kernel gives neither cookies nor counters, or the
/// process may not list its own files. Costs about a microsecond a file that is open.
std::optional<std::map<uint64_t, TcpCounters>> ReadTcpCounters(const TcpPorts& ports);

/// The same again and again: the process's open files are listed only at each eighth reading and
/// when a known connection is gone, so that a new one may be counted some readings late, then with
/// all it has done. One thread at a time.
class TcpConnections {
 public:
  explicit TcpConnections(const TcpPorts& ports) : ports_(ports) {}

  /// As ReadTcpCounters.
  std::optional<std::map<uint64_t, TcpCounters>> Read();

 private:
  using Counters = std::map<uint64_t, TcpCounters>;
  bool Consider(int file, Counters& found);
  std::optional<Counters> ReadKnown();
  std::optional<Counters> ReadAll();

  const TcpPorts ports_;
  std::map<int, uint64_t> known_;  // file, cookie
  int readings_ = 0;               // since all files were listed
};

/// From the bytes of the kernel's struct tcp_info, of which older kernels give fewer.
TcpCounters ParseTcpInfo(std::span<const std::byte> info);

}  // namespace interlude
