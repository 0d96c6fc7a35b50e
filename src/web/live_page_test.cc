#include "web/live_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <atomic>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <thread>
#include <vector>

#include "ledger/run_database.h"
#include "ledger/sample_run.h"
#include "web/fresh_text.h"
#include "web/test_request.h"

namespace interlude {
namespace {

using nlohmann::json;
using testing::HasSubstr;

class LivePageTest : public testing::Test {
 protected:
  LivePageTest() {
    std::string pattern = testing::TempDir() + "/page-XXXXXX";
    scratch_ = mkdtemp(pattern.data());
  }
  ~LivePageTest() override { std::filesystem::remove_all(scratch_); }

  std::unique_ptr<RunDatabase> NewRun() const {
    return RunDatabase::Create(scratch_ + "/run.db").value();
  }
  void Start(const std::string& address = "127.0.0.1:0", const std::string& token = "") {
    page_ = LivePage::Start({.address = address, .token = token}, clock_).value();
  }
  TestAnswer Ask(const std::string& target, const std::string& headers = "") const {
    return Get(page_->address(), target, headers);
  }
  size_t RoundsShown() {
    clock_.Advance(FreshText::kLeastPause);
    const TestAnswer answer = Ask("/report.json");
    EXPECT_EQ(answer.status, 200) << answer.all;
    return json::parse(answer.body).at("rounds").size();
  }

  std::string scratch_;
  ManualClock clock_;
  std::unique_ptr<LivePage> page_;
};

TEST_F(LivePageTest, ShowsRoundsAsTheyAreWritten) {
  Start();
  EXPECT_EQ(Ask("/report.json").status, 503) << "no run yet";
  const auto run = NewRun();
  page_->Show(scratch_);
  EXPECT_EQ(RoundsShown(), 0u);
  for (uint32_t round = 1; round <= 3; ++round) {
    ASSERT_TRUE(run->AddRound({.round = round}, {}, {}).ok());
    EXPECT_EQ(RoundsShown(), round);
    EXPECT_THAT(Ask("/metrics").body,
                HasSubstr("interlude_rounds_total " + std::to_string(round) + "\n"));
  }
  page_->Hide();
  EXPECT_EQ(Ask("/report.json").status, 503);
  EXPECT_EQ(Ask("/").status, 200);
}

TEST_F(LivePageTest, WhatIsKnownIsNotSentAgain) {
  Start();
  const auto run = NewRun();
  ASSERT_TRUE(WriteSampleRun(*run).ok());
  page_->Show(scratch_);
  const std::string tag = Ask("/report.json").headers.at("ETag");
  const TestAnswer same = Ask("/report.json", "If-None-Match: " + tag + "\r\n");
  EXPECT_EQ(same.status, 304);
  EXPECT_THAT(same.all, testing::EndsWith("\r\n\r\n")) << "no body";
  ASSERT_TRUE(run->AddEvent({.kind = "something"}).ok());
  clock_.Advance(FreshText::kLeastPause);
  EXPECT_EQ(Ask("/report.json", "If-None-Match: " + tag + "\r\n").status, 200);
}

TEST_F(LivePageTest, ManyMayReadWhileRoundsAreWritten) {
  Start();
  const auto run = NewRun();
  page_->Show(scratch_);
  std::atomic<bool> writing = true;
  std::vector<std::thread> readers;
  for (int reader = 0; reader < 12; ++reader) {
    readers.emplace_back([&, reader] {
      size_t last = 0;
      while (writing) {
        const TestAnswer answer = Ask(reader % 3 == 0 ? "/metrics" : "/report.json");
        ASSERT_EQ(answer.status, 200) << answer.all;
        if (reader % 3 == 0) continue;
        const size_t rounds = json::parse(answer.body).at("rounds").size();
        EXPECT_GE(rounds, last) << "a round is shown and not shown again";
        last = rounds;
      }
    });
  }
  for (uint32_t round = 1; round <= 100; ++round) {
    EXPECT_TRUE(run->AddRound({.round = round}, {}, {}).ok()) << round;
    clock_.Advance(FreshText::kLeastPause);
  }
  writing = false;
  for (std::thread& reader : readers) reader.join();
  clock_.Advance(std::chrono::hours(1));  // more than the pause after what was made meanwhile
  EXPECT_EQ(RoundsShown(), 100u);
}

TEST_F(LivePageTest, TheWriterLeavesAPlainFileOnceThePageIsHidden) {
  Start();
  auto run = NewRun();
  ASSERT_TRUE(WriteSampleRun(*run).ok());
  page_->Show(scratch_);
  EXPECT_EQ(Ask("/report.json").status, 200);
  EXPECT_EQ(Ask("/metrics").status, 200);
  page_->Hide();
  run.reset();
  EXPECT_FALSE(std::filesystem::exists(scratch_ + "/run.db-wal"));
}

TEST_F(LivePageTest, OneRunFollowsTheOther) {
  Start();
  for (const char* name : {"/run-1", "/run-2"}) {
    std::filesystem::create_directory(scratch_ + name);
    const auto run = RunDatabase::Create(scratch_ + name + "/run.db").value();
    ASSERT_TRUE(run->SetMeta(kMetaTitle, name).ok());
    page_->Show(scratch_ + name);
    EXPECT_EQ(json::parse(Ask("/report.json").body).at("meta").at("title"), name);
    page_->Hide();
  }
}

TEST_F(LivePageTest, ARunDirectoryThatIsGoneIsNoReasonToEnd) {
  Start();
  page_->Show(scratch_ + "/nowhere");
  EXPECT_EQ(Ask("/report.json").status, 503);
  EXPECT_EQ(Ask("/metrics").status, 503);
  EXPECT_EQ(Ask("/healthz").status, 200);
}

TEST_F(LivePageTest, WhereOthersReachItATokenIsNeeded) {
  for (const char* address : {"0.0.0.0:0", "[::]:0"}) {
    const auto refused = LivePage::Start({.address = address}, clock_);
    EXPECT_EQ(refused.status().code(), StatusCode::kInvalidArgument);
    EXPECT_THAT(refused.status().message(), HasSubstr("--keys"));
  }
  const std::string token(64, 'b');
  Start("0.0.0.0:0", token);
  EXPECT_EQ(Ask("/").status, 401);
  EXPECT_EQ(Ask("/?token=" + token.substr(1)).status, 401);
  const TestAnswer entered = Ask("/?token=" + token);
  EXPECT_EQ(entered.status, 200);
  const std::string cookie = entered.headers.at("Set-Cookie");
  const std::string pair = cookie.substr(0, cookie.find(';'));
  EXPECT_THAT(cookie, HasSubstr("HttpOnly"));
  EXPECT_EQ(Ask("/", "Cookie: " + pair + "\r\n").status, 200);
  EXPECT_EQ(Ask("/", "Cookie: x=y; " + pair + "\r\n").status, 200);
  EXPECT_EQ(Ask("/", "Cookie: " + pair + "b\r\n").status, 401);
  EXPECT_EQ(Ask("/", "Authorization: Bearer " + token + "\r\n").status, 200);
}

TEST_F(LivePageTest, WithoutATokenOthersReadOnlyWhereThatWasSaid) {
  page_ = LivePage::Start({.address = "0.0.0.0:0", .insecure = true}, clock_).value();
  EXPECT_EQ(Ask("/").status, 200);
}

TEST_F(LivePageTest, OnLoopbackNoTokenIsAskedForAndNoOtherNameAnswered) {
  Start("127.0.0.1:0", "unused");
  EXPECT_EQ(Ask("/").status, 200);
  TestConnection connection(page_->address());
  connection.Send("GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n");
  EXPECT_EQ(connection.Receive().status, 403);
  TestConnection without(page_->address());
  without.Send("GET / HTTP/1.0\r\n\r\n");
  EXPECT_EQ(without.Receive().status, 403);
}

TEST_F(LivePageTest, IPv6IsAnAddressToo) {
  const auto page = LivePage::Start({.address = "[::1]:0"}, clock_);
  if (!page.ok()) GTEST_SKIP() << "no IPv6 here: " << page.status().message();
  EXPECT_EQ(Get((*page)->address(), "/healthz").status, 200);
}

}  // namespace
}  // namespace interlude
