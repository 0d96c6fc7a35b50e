// The transport as anybody on the network may treat it.
#include "web/http_listener.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <latch>
#include <vector>

#include "base/clock.h"
#include "base/rng.h"
#include "web/test_request.h"

namespace interlude {
namespace {

using testing::HasSubstr;

class HttpListenerTest : public testing::Test {
 protected:
  void Start(HttpListener::Answerer answerer = Echo) {
    auto socket = ListeningSocket::Open("127.0.0.1:0").value();
    address_ = socket.address();
    listener_ = HttpListener::Start(std::move(socket), std::move(answerer)).value();
  }
  /// What was understood of the request.
  static HttpAnswer Echo(const HttpRequest& request) {
    std::string text = request.method + " " + request.path + "\n";
    for (const auto& [name, value] : request.headers) text += name + "=" + value + "\n";
    for (const auto& [name, value] : request.query) text += "?" + name + "=" + value + "\n";
    for (const auto& [name, value] : request.cookies) text += "cookie " + name + "=" + value + "\n";
    return {200, {{"X-Test", "yes"}}, std::make_shared<const std::string>(text)};
  }
  void ExpectAlive() const { EXPECT_EQ(Get(address_, "/").status, 200); }

  std::string address_;
  std::unique_ptr<HttpListener> listener_;
};

TEST_F(HttpListenerTest, ARequestIsHandedOverInItsParts) {
  Start();
  const TestAnswer answer = Get(address_, "/a%20b?token=x%2By&empty",
                                "Cookie: one=1; two=2\r\nX-Twice: a\r\nx-twice: b\r\n");
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.headers.at("X-Test"), "yes");
  EXPECT_THAT(answer.body, HasSubstr("GET /a b\n"));
  EXPECT_THAT(answer.body, HasSubstr("?token=x+y\n"));
  EXPECT_THAT(answer.body, HasSubstr("cookie two=2\n"));
  EXPECT_THAT(answer.body, HasSubstr("Host=" + address_ + "\n"));
  EXPECT_THAT(answer.body, HasSubstr("X-Twice=a, b\n"));
}

TEST_F(HttpListenerTest, AConnectionTakesOneRequestAfterTheOther) {
  Start();
  TestConnection connection(address_);
  for (int i = 0; i < 5; ++i) {
    ASSERT_TRUE(connection.Send("GET /" + std::to_string(i) + " HTTP/1.1\r\nHost: x\r\n\r\n"));
    EXPECT_THAT(connection.Receive().body, HasSubstr("GET /" + std::to_string(i) + "\n"));
  }
  ASSERT_TRUE(connection.Send("HEAD / HTTP/1.1\r\nHost: x\r\n\r\n"));
  const TestAnswer head = connection.Receive(/*head=*/true);
  EXPECT_EQ(head.status, 200);
  EXPECT_NE(head.headers.at("Content-Length"), "0");
  connection.EndSending();
  EXPECT_EQ(connection.ReceiveAll(), "") << "a HEAD has no body";
}

TEST_F(HttpListenerTest, ABodyIsNotWaitedFor) {
  Start();
  TestConnection connection(address_);
  ASSERT_TRUE(
      connection.Send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000000\r\n\r\nabc"));
  EXPECT_EQ(connection.Receive().status, 200);
  TestConnection chunked(address_);
  ASSERT_TRUE(chunked.Send("GET / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"));
  EXPECT_EQ(chunked.Receive().status, 200);
  ExpectAlive();
}

TEST_F(HttpListenerTest, ARequestThatIsTooLongIsRefused) {
  Start();
  const std::string much(kWebConnectionBytes, 'x');
  for (const std::string& request :
       {"GET /" + much + " HTTP/1.1\r\nHost: x\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: x\r\nX: " + much + "\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: x\r\nCookie: " + much + "\r\n\r\n", much + much}) {
    TestConnection connection(address_);
    connection.Send(request);
    const int status = connection.Receive().status;
    EXPECT_TRUE(status == 0 || (status >= 400 && status < 500) || status == 501) << status;
  }
  ExpectAlive();
}

TEST_F(HttpListenerTest, HeadersWithoutEndAreCutOff) {
  Start();
  TestConnection connection(address_);
  connection.Send("GET / HTTP/1.1\r\nHost: x\r\n");
  bool taken = true;
  for (int i = 0; taken && i < 1'000'000; ++i)
    taken = connection.Send("X-" + std::to_string(i) + ": " + std::string(1000, 'y') + "\r\n");
  EXPECT_FALSE(taken) << "a gigabyte of headers was taken";
  ExpectAlive();
}

TEST_F(HttpListenerTest, RandomBytesAreNoReasonToEnd) {
  Start();
  Rng rng(7);
  const std::vector<std::string> words = {"GET ",
                                          "HEAD ",
                                          "/",
                                          " HTTP/1.1",
                                          "\r\n",
                                          ": ",
                                          "Host",
                                          std::string(1, 0),
                                          "%",
                                          "?token=",
                                          "Cookie",
                                          "=;",
                                          "\r\n\r\n",
                                          "Content-Length",
                                          "-1",
                                          "99999999999999999999",
                                          "Transfer-Encoding",
                                          "chunked",
                                          "Expect: 100-continue",
                                          "\xff"};
  for (int i = 0; i < 500; ++i) {
    std::string bytes;
    const uint64_t pieces = rng.Below(40);
    for (uint64_t piece = 0; piece < pieces; ++piece) {
      if (rng.Below(3) == 0)
        bytes += static_cast<char>(rng.Below(256));
      else
        bytes += words[rng.Below(words.size())];
    }
    TestConnection connection(address_);
    connection.Send(bytes);
    connection.EndSending();
    if (i % 4 == 0) connection.ReceiveAll();  // the others go away without listening
  }
  ExpectAlive();
}

TEST_F(HttpListenerTest, EveryBeginningOfARequestMayBeAllThatComes) {
  Start();
  const std::string request = "GET /a?token=b HTTP/1.1\r\nHost: localhost\r\nCookie: a=b\r\n\r\n";
  for (size_t size = 0; size < request.size(); ++size) {
    TestConnection connection(address_);
    connection.Send(request.substr(0, size));
    connection.EndSending();
    connection.ReceiveAll();
  }
  ExpectAlive();
}

TEST_F(HttpListenerTest, AnExceptionEndsTheConnectionAndNothingElse) {
  Start([](const HttpRequest& request) -> HttpAnswer {
    if (request.path == "/bad") throw std::bad_alloc();
    return {200, {}, nullptr};
  });
  EXPECT_EQ(Get(address_, "/bad").status, 0);
  ExpectAlive();
}

TEST_F(HttpListenerTest, HangingConnectionsDoNotHoldUpTheEnd) {
  auto big = std::make_shared<const std::string>(64 << 20, 'x');
  Start([big](const HttpRequest& request) {
    return HttpAnswer{200, {}, request.path == "/big" ? big : nullptr};
  });
  const std::string begin = "GET / HTTP/1.1\r\nHost: x\r\n";
  std::vector<std::unique_ptr<TestConnection>> hanging;
  for (unsigned i = 0; i < kMostWebConnections; ++i) {
    hanging.push_back(std::make_unique<TestConnection>(address_));
    hanging.back()->TakeSlowly();
    hanging.back()->Send(begin + "\r\n");
    EXPECT_EQ(hanging.back()->Receive().status, 200) << "it was let in";
    hanging.back()->Send(i % 2 == 0 ? begin : "GET /big HTTP/1.1\r\nHost: x\r\n\r\n");
  }
  for (int i = 0; i < 8; ++i)  // and some who wait to be let in
    hanging.push_back(std::make_unique<TestConnection>(address_));
  const auto before = SystemClock().Now();
  listener_.reset();
  // Of a wait for one of them it would be all of this.
  EXPECT_LT(SystemClock().Now() - before, std::chrono::seconds(kWebIdleSeconds / 2));
}

TEST_F(HttpListenerTest, TheTextStaysUntilItIsSent) {
  Start([](const HttpRequest&) {
    return HttpAnswer{200, {}, std::make_shared<const std::string>(8 << 20, 'x')};
  });
  TestConnection connection(address_);
  connection.Send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_EQ(connection.Receive().body, std::string(8 << 20, 'x'));
}

TEST_F(HttpListenerTest, APortIsNotTakenTwice) {
  Start();
  const auto second = ListeningSocket::Open(address_);
  EXPECT_EQ(second.status().code(), StatusCode::kUnavailable);
  EXPECT_THAT(second.status().message(), HasSubstr(address_));
  EXPECT_THAT(second.status().message(), HasSubstr("--http"));
}

TEST_F(HttpListenerTest, WhatIsNoAddressIsSaid) {
  for (const char* wrong :
       {"", "7080", ":7080", "127.0.0.1:", "127.0.0.1:x", "256.0.0.1:1", "[::1", "[]:80"}) {
    EXPECT_EQ(ListeningSocket::Open(wrong).status().code(), StatusCode::kInvalidArgument) << wrong;
  }
}

}  // namespace
}  // namespace interlude
