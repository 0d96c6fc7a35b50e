#include "web/page_answers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace interlude {
namespace {

using testing::HasSubstr;
using testing::Not;

const std::string kToken(64, 'a');

class FixedText final : public TextSource {
 public:
  explicit FixedText(StatusOr<std::string> text) : text_(std::move(text)) {}
  StatusOr<int64_t> Version() override { return int64_t{0}; }
  StatusOr<std::string> Make() override { return text_; }

 private:
  const StatusOr<std::string> text_;
};

class PageAnswersTest : public testing::Test {
 protected:
  PageAnswersTest() {
    report_.SetSource(std::make_unique<FixedText>(std::string("{\"a\":1}")));
    metrics_.SetSource(std::make_unique<FixedText>(std::string("# EOF\n")));
  }

  static HttpRequest Request(const std::string& path, const std::string& method = "GET") {
    HttpRequest request;
    request.method = method;
    request.path = path;
    request.headers["Host"] = "localhost:7080";
    return request;
  }
  static std::string Header(const HttpAnswer& answer, const std::string& name) {
    for (const auto& [has, value] : answer.headers)
      if (has == name) return value;
    return "";
  }
  HttpAnswer FromHost(const std::string& host) {
    HttpRequest request = Request("/report.json");
    request.headers["Host"] = host;
    return open_.Answer(request);
  }

  ManualClock clock_;
  FreshText report_{clock_}, metrics_{clock_};
  PageAnswers open_{{.loopback_only = true, .cookie = "page"}, report_, metrics_};
  PageAnswers guarded_{
      {.token = kToken, .loopback_only = false, .cookie = "page"}, report_, metrics_};
};

TEST_F(PageAnswersTest, FourPathsHaveAnAnswer) {
  EXPECT_EQ(Header(open_.Answer(Request("/")), "Content-Type"), "text/html; charset=utf-8");
  const HttpAnswer report = open_.Answer(Request("/report.json"));
  EXPECT_EQ(report.status, 200);
  EXPECT_EQ(*report.body, "{\"a\":1}");
  EXPECT_EQ(Header(report, "Content-Type"), "application/json");
  const HttpAnswer metrics = open_.Answer(Request("/metrics"));
  EXPECT_EQ(*metrics.body, "# EOF\n");
  EXPECT_EQ(Header(metrics, "Content-Type"),
            "application/openmetrics-text; version=1.0.0; charset=utf-8");
  EXPECT_EQ(*open_.Answer(Request("/healthz")).body, "ok\n");
}

TEST_F(PageAnswersTest, NoOtherPathHasOne) {
  for (const char* path : {"", "//", "/index.html", "/report.json/", "/../etc/passwd", "/run.db",
                           "/Metrics", "report.json", "*"}) {
    EXPECT_EQ(open_.Answer(Request(path)).status, 404) << path;
  }
}

TEST_F(PageAnswersTest, OnlyReadingIsAllowed) {
  EXPECT_EQ(open_.Answer(Request("/", "HEAD")).status, 200);
  for (const char* method : {"POST", "PUT", "DELETE", "OPTIONS", "TRACE", "CONNECT", "get", ""}) {
    const HttpAnswer answer = open_.Answer(Request("/", method));
    EXPECT_EQ(answer.status, 405) << method;
    EXPECT_EQ(Header(answer, "Allow"), "GET, HEAD");
  }
}

TEST_F(PageAnswersTest, TheSameReportIsNotSentAgain) {
  HttpRequest request = Request("/report.json");
  const std::string tag = Header(open_.Answer(request), "ETag");
  for (const std::string& known : {tag, "\"other\", " + tag, "W/" + tag, std::string("*")}) {
    request.headers["If-None-Match"] = known;
    const HttpAnswer answer = open_.Answer(request);
    EXPECT_EQ(answer.status, 304) << known;
    EXPECT_EQ(answer.body, nullptr);
    EXPECT_EQ(Header(answer, "ETag"), tag);
    EXPECT_EQ(Header(answer, "Cache-Control"), "no-store");
  }
  for (const std::string& known : {std::string(), std::string("\"other\""), std::string(","),
                                   tag.substr(1), std::string("W/"), tag + "x"}) {
    request.headers["If-None-Match"] = known;
    EXPECT_EQ(open_.Answer(request).status, 200) << known;
  }
}

TEST_F(PageAnswersTest, EveryAnswerKeepsTheBrowserFromStoringGuessingAndEmbedding) {
  for (const char* path : {"/", "/report.json", "/metrics", "/healthz", "/nothing"}) {
    for (PageAnswers* page : {&open_, &guarded_}) {
      const HttpAnswer answer = page->Answer(Request(path));
      EXPECT_EQ(Header(answer, "Cache-Control"), "no-store") << path;
      EXPECT_EQ(Header(answer, "X-Content-Type-Options"), "nosniff") << path;
      EXPECT_EQ(Header(answer, "Cross-Origin-Resource-Policy"), "same-origin") << path;
      EXPECT_THAT(Header(answer, "Content-Security-Policy"), HasSubstr("default-src 'none'"));
      EXPECT_THAT(Header(answer, "Content-Security-Policy"), HasSubstr("frame-ancestors 'none'"));
      EXPECT_EQ(Header(answer, "Access-Control-Allow-Origin"), "");
    }
  }
}

TEST_F(PageAnswersTest, ThePagesOwnPolicyIsAHeaderToo) {
  const HttpAnswer answer = open_.Answer(Request("/"));
  const std::string policy = Header(answer, "Content-Security-Policy");
  const std::string own = policy.substr(0, policy.find("; frame-ancestors"));
  EXPECT_THAT(*answer.body, HasSubstr("content=\"" + own + "\""));
  EXPECT_THAT(own, HasSubstr("connect-src 'self'"));
  EXPECT_THAT(own, Not(HasSubstr("unsafe")));
}

TEST_F(PageAnswersTest, OnLoopbackOnlyNamesOfThisMachineAreAnswered) {
  for (const char* host : {"localhost", "localhost:7080", "127.0.0.1:1", "127.0.0.1", "[::1]:7080",
                           "[::1]", "127.8.9.1:80"}) {
    EXPECT_EQ(FromHost(host).status, 200) << host;
  }
  for (const char* host :
       {"", "evil.example", "evil.example:7080", "localhost.evil.example", "unix:80", "10.0.0.5",
        "127.0.0.1.evil.example:7080", "localhost:7080, evil.example", "0.0.0.0:7080", "[::]:7080",
        "evil.example:localhost", "[::1]evil:80"}) {
    const HttpAnswer answer = FromHost(host);
    EXPECT_EQ(answer.status, 403) << host;
    EXPECT_THAT(*answer.body, Not(HasSubstr("\"a\"")));
  }
  HttpRequest none = Request("/report.json");
  none.headers.clear();
  EXPECT_EQ(open_.Answer(none).status, 403);
}

TEST_F(PageAnswersTest, WithATokenNobodyReadsWithoutIt) {
  for (const char* path : {"/", "/report.json", "/metrics", "/nothing"}) {
    const HttpAnswer answer = guarded_.Answer(Request(path));
    EXPECT_EQ(answer.status, 401) << path;
    EXPECT_THAT(Header(answer, "WWW-Authenticate"), HasSubstr("Bearer"));
    EXPECT_THAT(*answer.body, Not(HasSubstr(kToken)));
  }
  EXPECT_EQ(guarded_.Answer(Request("/healthz")).status, 200) << "says nothing of the run";
}

TEST_F(PageAnswersTest, TheTokenComesAsBearerOrCookie) {
  const std::string nearly = kToken.substr(1) + "b";
  for (const std::string scheme : {"Bearer ", "bearer ", "BEARER   "}) {
    HttpRequest request = Request("/report.json");
    request.headers["authorization"] = scheme + kToken;
    EXPECT_EQ(guarded_.Answer(request).status, 200) << scheme;
  }
  for (const std::string& wrong :
       {"Bearer " + nearly, "Bearer" + kToken, "Basic " + kToken, "Bearer " + kToken + kToken,
        std::string("Bearer "), std::string("Bearer"), kToken, "Bearer " + kToken.substr(1)}) {
    HttpRequest request = Request("/report.json");
    request.headers["Authorization"] = wrong;
    EXPECT_EQ(guarded_.Answer(request).status, 401) << wrong;
  }
  HttpRequest request = Request("/metrics");
  request.cookies["page"] = kToken;
  EXPECT_EQ(guarded_.Answer(request).status, 200);
  request.cookies["page"] = nearly;
  EXPECT_EQ(guarded_.Answer(request).status, 401);
  request.cookies = {{"other_page", kToken}};
  EXPECT_EQ(guarded_.Answer(request).status, 401);
}

TEST_F(PageAnswersTest, ATokenInTheAddressBecomesACookieThatScriptsAndOtherSitesDoNotGet) {
  HttpRequest request = Request("/");
  request.query["token"] = kToken;
  const HttpAnswer answer = guarded_.Answer(request);
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(Header(answer, "Set-Cookie"), "page=" + kToken + "; Path=/; HttpOnly; SameSite=Strict");
  EXPECT_THAT(*answer.body, HasSubstr("url=/\"")) << "the address without it";
  EXPECT_THAT(*answer.body, Not(HasSubstr(kToken)));
  request.query["token"] = "wrong";
  request.cookies["page"] = kToken;
  EXPECT_EQ(guarded_.Answer(request).status, 401) << "what is in the address counts";
  request.query["token"] = kToken;
  request.path = "/report.json";
  request.cookies.clear();
  EXPECT_EQ(guarded_.Answer(request).status, 401) << "only of the page itself";
}

TEST_F(PageAnswersTest, BetweenRunsThereIsNoReport) {
  report_.SetSource(nullptr);
  const HttpAnswer answer = open_.Answer(Request("/report.json"));
  EXPECT_EQ(answer.status, 503);
  EXPECT_EQ(*answer.body, "no run is under way\n");
  EXPECT_EQ(open_.Answer(Request("/")).status, 200);
}

TEST_F(PageAnswersTest, WhatIsWrongWithTheRecordIsForTheLogAlone) {
  report_.SetSource(std::make_unique<FixedText>(DataLossError("run database secret/path")));
  const HttpAnswer answer = open_.Answer(Request("/report.json"));
  EXPECT_EQ(answer.status, 503);
  EXPECT_THAT(*answer.body, Not(HasSubstr("secret")));
}

}  // namespace
}  // namespace interlude
