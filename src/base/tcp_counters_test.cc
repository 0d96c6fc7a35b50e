#include "base/tcp_counters.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <vector>

namespace interlude {
namespace {

std::span<const std::byte> BytesOf(const tcp_info& info) {
  return std::as_bytes(std::span(&info, 1));
}

TEST(TcpCounters, AreTakenFromTheKernelsStruct) {
  tcp_info info{};
  info.tcpi_bytes_sent = 1000;
  info.tcpi_bytes_retrans = 10;
  info.tcpi_busy_time = 5;
  info.tcpi_rwnd_limited = 2;
  info.tcpi_sndbuf_limited = 3;
  info.tcpi_rtt = 28'000;
  const TcpCounters counters = ParseTcpInfo(BytesOf(info));
  EXPECT_EQ(counters.sent_bytes, 1000);
  EXPECT_EQ(counters.retransmitted_bytes, 10);
  EXPECT_EQ(counters.busy_ns, 5000);
  EXPECT_EQ(counters.receiver_limited_ns, 2000);
  EXPECT_EQ(counters.sender_limited_ns, 3000);
  EXPECT_EQ(counters.round_trip_ns, 28'000'000);
}

TEST(TcpCounters, WhatAnOlderKernelLeavesOutIsUnknown) {
  const tcp_info info{};
  const auto before_limits = BytesOf(info).first(offsetof(tcp_info, tcpi_busy_time) + 7);
  const TcpCounters counters = ParseTcpInfo(before_limits);
  EXPECT_EQ(counters.round_trip_ns, 0);
  EXPECT_EQ(counters.busy_ns, std::nullopt);
  EXPECT_EQ(counters.sent_bytes, std::nullopt);
  EXPECT_EQ(ParseTcpInfo({}).round_trip_ns, std::nullopt);
}

/// A connection within this process, over a port that the kernel chooses.
class TcpConnection : public testing::Test {
 protected:
  TcpConnection() {
    const int listener = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    auto* const plain = reinterpret_cast<sockaddr*>(&address);
    socklen_t length = sizeof(address);
    EXPECT_EQ(::bind(listener, plain, length), 0);
    EXPECT_EQ(::listen(listener, 1), 0);
    EXPECT_EQ(::getsockname(listener, plain, &length), 0);
    port_ = ntohs(address.sin_port);
    near_ = ::socket(AF_INET, SOCK_STREAM, 0);
    EXPECT_EQ(::connect(near_, plain, length), 0);
    far_ = ::accept(listener, nullptr, nullptr);
    listener_ = listener;
  }
  ~TcpConnection() override {
    for (const int file : {listener_, near_, far_}) ::close(file);
  }

  void Send(int from, int to, size_t bytes) {
    std::vector<char> data(bytes);
    ASSERT_EQ(::send(from, data.data(), bytes, 0), static_cast<ssize_t>(bytes));
    ASSERT_EQ(::recv(to, data.data(), bytes, MSG_WAITALL), static_cast<ssize_t>(bytes));
  }

  uint16_t port_ = 0;
  int listener_ = -1;
  int near_ = -1;
  int far_ = -1;
};

TEST_F(TcpConnection, IsFoundByThePortOfEitherEnd) {
  Send(near_, far_, 1000);
  Send(far_, near_, 300);
  const auto to_port = ReadTcpCounters({.port = port_});
  const auto at_port = ReadTcpCounters({.port = port_, .own_end = true});
  ASSERT_TRUE(to_port && at_port);
  ASSERT_EQ(to_port->size(), 1u);
  ASSERT_EQ(at_port->size(), 1u) << "the listening socket is none";
  EXPECT_EQ(to_port->begin()->second.sent_bytes, 1000);
  EXPECT_EQ(at_port->begin()->second.sent_bytes, 300);
  EXPECT_NE(to_port->begin()->first, at_port->begin()->first);
}

TEST_F(TcpConnection, IsReadAgainUntilItIsGone) {
  TcpConnections connections({.port = port_});
  for (int64_t sent = 1; sent <= 20; ++sent) {
    Send(near_, far_, 1);
    const auto found = connections.Read();
    ASSERT_TRUE(found.has_value());
    ASSERT_EQ(found->size(), 1u);
    EXPECT_EQ(found->begin()->second.sent_bytes, sent);
  }
  ::shutdown(near_, SHUT_RDWR);
  ::close(near_);
  near_ = ::dup(listener_);  // the file's number means another now
  const auto none = connections.Read();
  ASSERT_TRUE(none.has_value());
  EXPECT_TRUE(none->empty());
}

TEST_F(TcpConnection, ThatIsMadeLaterIsCountedBeforeLong) {
  TcpConnections connections({.port = port_});
  ASSERT_EQ(connections.Read()->size(), 1u);
  const int later = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  socklen_t length = sizeof(address);
  ASSERT_EQ(::getpeername(near_, reinterpret_cast<sockaddr*>(&address), &length), 0);
  ASSERT_EQ(::connect(later, reinterpret_cast<sockaddr*>(&address), length), 0);
  int readings = 1;
  while (connections.Read()->size() < 2) ASSERT_LT(++readings, 20);
  ::close(later);
}

TEST_F(TcpConnection, ToAnotherPortDoesNotCount) {
  const auto none = ReadTcpCounters({.port = static_cast<uint16_t>(port_ ^ 1)});
  ASSERT_TRUE(none.has_value());
  EXPECT_TRUE(none->empty());
}

}  // namespace
}  // namespace interlude
