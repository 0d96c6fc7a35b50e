// For tests: bytes to a listening address and what comes back, over plain sockets that know no
// HTTP but where an answer ends.
#pragma once

#include <map>
#include <string>

namespace interlude {

struct TestAnswer {
  int status = 0;  // 0: nothing came that begins like an answer
  std::map<std::string, std::string> headers;
  std::string body;
  std::string all;  // as it came
};

/// A connection. Waits are bounded by 30 s, after which what came is what there is.
class TestConnection {
 public:
  /// To 127.0.0.1:PORT or [::1]:PORT.
  explicit TestConnection(const std::string& address);
  ~TestConnection();
  TestConnection(const TestConnection&) = delete;
  TestConnection& operator=(const TestConnection&) = delete;

  /// False when the other side does not take it.
  bool Send(const std::string& bytes) const;
  /// One answer, as its Content-Length says; of a HEAD nothing but the headers.
  TestAnswer Receive(bool head = false);
  /// Whatever comes until the other side closes.
  std::string ReceiveAll();
  /// Nothing more will be sent.
  void EndSending() const;
  /// Answers are taken as slowly as can be.
  void TakeSlowly() const;

 private:
  bool ReadMore();

  int socket_ = -1;
  std::string unread_;
};

/// GET with these headers ("Name: value\r\n" each), Host and "Connection: close" besides.
TestAnswer Get(const std::string& address, const std::string& target,
               const std::string& headers = "");

}  // namespace interlude
