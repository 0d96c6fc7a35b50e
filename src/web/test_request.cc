#include "web/test_request.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <utility>

#include "base/address.h"

namespace interlude {
namespace {

constexpr int kPatienceMs = 30'000;

int Connect(const std::string& address) {
  const std::string host(HostOf(address));
  const int port = std::atoi(address.substr(host.size() + 1).c_str());
  if (host.starts_with('[')) {
    const int v6 = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in6 to{};
    to.sin6_family = AF_INET6;
    to.sin6_addr = in6addr_loopback;
    to.sin6_port = htons(static_cast<uint16_t>(port));
    return connect(v6, reinterpret_cast<sockaddr*>(&to), sizeof(to)) == 0 ? v6 : (close(v6), -1);
  }
  const int v4 = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  to.sin_port = htons(static_cast<uint16_t>(port));
  return connect(v4, reinterpret_cast<sockaddr*>(&to), sizeof(to)) == 0 ? v4 : (close(v4), -1);
}

void ReadHeaders(const std::string& head, TestAnswer& answer) {
  constexpr char kVersion[] = "HTTP/1.1 ";
  if (head.rfind(kVersion, 0) == 0) answer.status = std::atoi(head.c_str() + sizeof(kVersion) - 1);
  for (size_t at = head.find("\r\n"); at != std::string::npos;) {
    const size_t begin = at + 2;
    at = head.find("\r\n", begin);
    const std::string line = head.substr(begin, at == std::string::npos ? at : at - begin);
    const size_t colon = line.find(": ");
    if (colon != std::string::npos) answer.headers[line.substr(0, colon)] = line.substr(colon + 2);
  }
}

}  // namespace

TestConnection::TestConnection(const std::string& address) : socket_(Connect(address)) {}
TestConnection::~TestConnection() {
  if (socket_ >= 0) close(socket_);
}

bool TestConnection::Send(const std::string& bytes) const {
  for (size_t sent = 0; sent < bytes.size();) {
    const ssize_t more = send(socket_, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
    if (more <= 0) return false;
    sent += static_cast<size_t>(more);
  }
  return true;
}

bool TestConnection::ReadMore() {
  pollfd ready{socket_, POLLIN, 0};
  if (poll(&ready, 1, kPatienceMs) != 1) return false;
  std::array<char, 1 << 16> piece;
  const ssize_t got = recv(socket_, piece.data(), piece.size(), 0);
  if (got <= 0) return false;
  unread_.append(piece.data(), static_cast<size_t>(got));
  return true;
}

TestAnswer TestConnection::Receive(bool head) {
  TestAnswer answer;
  size_t end = std::string::npos;
  while ((end = unread_.find("\r\n\r\n")) == std::string::npos) {
    if (!ReadMore()) return answer;
  }
  end += 4;
  ReadHeaders(unread_.substr(0, end - 4), answer);
  const auto length = answer.headers.find("Content-Length");
  const bool empty = head || length == answer.headers.end() || answer.status == 304;
  const size_t bytes = empty ? 0 : std::strtoull(length->second.c_str(), nullptr, 10);
  while (unread_.size() < end + bytes && ReadMore()) {
  }
  answer.all = unread_.substr(0, end + bytes);
  answer.body = answer.all.substr(end);
  unread_.erase(0, end + bytes);
  return answer;
}

std::string TestConnection::ReceiveAll() {
  while (ReadMore()) {
  }
  return std::exchange(unread_, "");
}

void TestConnection::EndSending() const { shutdown(socket_, SHUT_WR); }

void TestConnection::TakeSlowly() const {
  const int least = 1;
  setsockopt(socket_, SOL_SOCKET, SO_RCVBUF, &least, sizeof(least));
}

TestAnswer Get(const std::string& address, const std::string& target, const std::string& headers) {
  TestConnection connection(address);
  connection.Send("GET " + target + " HTTP/1.1\r\nHost: " + address + "\r\nConnection: close\r\n" +
                  headers + "\r\n");
  return connection.Receive();
}

}  // namespace interlude
