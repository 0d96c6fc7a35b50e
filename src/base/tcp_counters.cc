#include "base/tcp_counters.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <linux/tcp.h>  // has all of struct tcp_info, which netinet/tcp.h has not
#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <cstring>

#include "base/proc_text.h"

namespace interlude {
namespace {

constexpr int64_t kNsPerUs = 1000;
constexpr int kReadingsAList = 8;

/// A field of T at `offset`, when the kernel gave that much.
template <typename T>
std::optional<int64_t> Field(std::span<const std::byte> info, size_t offset) {
  T value = 0;
  if (info.size() < offset + sizeof(value)) return std::nullopt;
  std::memcpy(&value, info.data() + offset, sizeof(value));
  return static_cast<int64_t>(value);
}

using AddressOf = int (*)(int, sockaddr*, socklen_t*);

uint16_t PortOf(int socket, AddressOf address_of) {
  sockaddr_storage address{};
  socklen_t length = sizeof(address);
  if (address_of(socket, reinterpret_cast<sockaddr*>(&address), &length) != 0) return 0;
  if (address.ss_family == AF_INET)
    return ntohs(reinterpret_cast<const sockaddr_in&>(address).sin_port);
  if (address.ss_family == AF_INET6)
    return ntohs(reinterpret_cast<const sockaddr_in6&>(address).sin6_port);
  return 0;
}

std::optional<uint64_t> CookieOf(int socket) {
  uint64_t cookie = 0;
  socklen_t length = sizeof(cookie);
  if (::getsockopt(socket, SOL_SOCKET, SO_COOKIE, &cookie, &length) != 0) return std::nullopt;
  return cookie;
}

}  // namespace

TcpCounters ParseTcpInfo(std::span<const std::byte> info) {
  TcpCounters counters;
  counters.sent_bytes = Field<uint64_t>(info, offsetof(tcp_info, tcpi_bytes_sent));
  counters.retransmitted_bytes = Field<uint64_t>(info, offsetof(tcp_info, tcpi_bytes_retrans));
  counters.busy_ns = Times(Field<uint64_t>(info, offsetof(tcp_info, tcpi_busy_time)), kNsPerUs);
  counters.receiver_limited_ns =
      Times(Field<uint64_t>(info, offsetof(tcp_info, tcpi_rwnd_limited)), kNsPerUs);
  counters.sender_limited_ns =
      Times(Field<uint64_t>(info, offsetof(tcp_info, tcpi_sndbuf_limited)), kNsPerUs);
  counters.round_trip_ns = Times(Field<uint32_t>(info, offsetof(tcp_info, tcpi_rtt)), kNsPerUs);
  return counters;
}

/// Adds the connection behind `file` where it is one that is meant. False when the kernel does not
/// say.
bool TcpConnections::Consider(int file, Counters& found) {
  // Another thread may close the file meanwhile, and its number may come to mean another: then
  // that one is looked at, which is as well.
  if (PortOf(file, ports_.own_end ? ::getsockname : ::getpeername) != ports_.port) return true;
  std::array<std::byte, sizeof(tcp_info)> info{};
  socklen_t length = info.size();
  if (::getsockopt(file, IPPROTO_TCP, TCP_INFO, info.data(), &length) != 0) return true;
  constexpr auto kEstablished = std::byte{1};  // TCP_ESTABLISHED of netinet/tcp.h
  if (length == 0 || info[offsetof(tcp_info, tcpi_state)] != kEstablished) return true;
  const auto cookie = CookieOf(file);
  if (!cookie) return false;
  found[*cookie] = ParseTcpInfo(std::span(info).first(length));
  known_[file] = *cookie;
  return true;
}

/// Nothing when one of them is no longer what it was.
std::optional<TcpConnections::Counters> TcpConnections::ReadKnown() {
  Counters found;
  const std::map<int, uint64_t> known = known_;
  for (const auto& [file, cookie] : known) {
    if (!Consider(file, found) || !found.contains(cookie)) return std::nullopt;
  }
  return found;
}

std::optional<TcpConnections::Counters> TcpConnections::ReadAll() {
  known_.clear();
  readings_ = 0;
  DIR* const files = ::opendir("/proc/self/fd");
  if (files == nullptr) return std::nullopt;
  Counters found;
  bool told = true;
  while (const dirent* entry = ::readdir(files)) {
    const auto file = Number(entry->d_name);
    if (file) told = Consider(static_cast<int>(*file), found) && told;
  }
  ::closedir(files);
  if (!told) return std::nullopt;
  return found;
}

std::optional<TcpConnections::Counters> TcpConnections::Read() {
  if (!known_.empty() && ++readings_ < kReadingsAList) {
    if (auto found = ReadKnown()) return found;
  }
  return ReadAll();
}

std::optional<std::map<uint64_t, TcpCounters>> ReadTcpCounters(const TcpPorts& ports) {
  return TcpConnections(ports).Read();
}

}  // namespace interlude
