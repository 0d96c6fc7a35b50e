#include "cli/key_making.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "cli/key_files.h"

namespace interlude {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::Not;

constexpr int64_t kNow = 1'900'000'000;

class KeyMakingTest : public testing::Test {
 protected:
  KeyMakingTest() {
    std::string pattern = testing::TempDir() + "/keys-XXXXXX";
    scratch_ = mkdtemp(pattern.data());
    plan_.directory = scratch_ + "/some/keys";
    plan_.workers = 2;
    plan_.hosts = {"coordinator.example"};
    plan_.validity = {kNow - 3600, kNow + 86'400};
  }
  ~KeyMakingTest() override { fs::remove_all(scratch_); }

  std::string File(const std::string& name) const { return plan_.directory + "/" + name; }
  mode_t Mode(const std::string& path) const {
    struct stat facts {};
    EXPECT_EQ(stat(path.c_str(), &facts), 0) << path;
    return facts.st_mode & 07777;
  }
  void Write(const std::string& name, const std::string& text) const {
    std::ofstream(File(name)) << text;
  }

  std::string scratch_;
  KeyPlan plan_;
};

TEST_F(KeyMakingTest, OnlyTheOwnerMayReadWhatIsSecretWhateverTheUmask) {
  const mode_t before = umask(0);
  const Status made = MakeKeys(plan_);
  umask(before);
  ASSERT_TRUE(made.ok()) << made.ToString();
  EXPECT_EQ(Mode(plan_.directory), 0700u);
  for (const char* secret :
       {"ca.key", "coordinator.key", "worker-0.key", "worker-1.key", "join.token", "page.token"}) {
    EXPECT_EQ(Mode(File(secret)), 0600u) << secret;
  }
  EXPECT_FALSE(fs::exists(File("worker-2.crt")));
}

TEST_F(KeyMakingTest, KeysAreNeverOverwritten) {
  ASSERT_TRUE(MakeKeys(plan_).ok());
  const std::string token = ReadToken(File("join.token")).value();
  const Status again = MakeKeys(plan_);
  EXPECT_EQ(again.code(), StatusCode::kAlreadyExists);
  EXPECT_THAT(again.message(), HasSubstr(plan_.directory));
  EXPECT_EQ(ReadToken(File("join.token")).value(), token);
  plan_.directory = scratch_;
  EXPECT_EQ(MakeKeys(plan_).code(), StatusCode::kAlreadyExists) << "nor mixed with other files";
}

TEST_F(KeyMakingTest, AWrongHostIsFoundBeforeAnythingIsMade) {
  plan_.hosts = {"coordinator.example:7070"};
  EXPECT_EQ(MakeKeys(plan_).code(), StatusCode::kInvalidArgument);
  EXPECT_FALSE(fs::exists(plan_.directory));
}

TEST_F(KeyMakingTest, EachSideFindsItsFiles) {
  ASSERT_TRUE(MakeKeys(plan_).ok());
  const TransportKeys coordinator = LoadCoordinatorKeys(plan_.directory, false, kNow).value();
  EXPECT_EQ(coordinator.ca_pem, "") << "workers are asked for no certificates";
  EXPECT_NE(LoadCoordinatorKeys(plan_.directory, true, kNow)->ca_pem, "");

  const TransportKeys anyone = LoadWorkerKeys(plan_.directory, std::nullopt, kNow).value();
  EXPECT_EQ(anyone.join_token, coordinator.join_token);
  EXPECT_EQ(anyone.certificate_pem, "");
  const TransportKeys one = LoadWorkerKeys(plan_.directory, 1, kNow).value();
  EXPECT_EQ(one.certificate_pem, ReadKeyFile(File("worker-1.crt")).value());
  EXPECT_EQ(LoadWorkerKeys(plan_.directory, 7, kNow)->certificate_pem, "");
  fs::rename(File("worker-0.crt"), File("worker.crt"));
  fs::rename(File("worker-0.key"), File("worker.key"));
  EXPECT_EQ(LoadWorkerKeys(plan_.directory, 1, kNow)->certificate_pem,
            ReadKeyFile(File("worker.crt")).value())
      << "worker.crt stands above worker-1.crt";
}

TEST_F(KeyMakingTest, AMissingOrWrongFileIsNamedWithoutItsText) {
  ASSERT_TRUE(MakeKeys(plan_).ok());
  const Status over = LoadCoordinatorKeys(plan_.directory, false, kNow + 2 * 86'400).status();
  EXPECT_THAT(over.message(), HasSubstr("coordinator.crt"));
  EXPECT_THAT(over.message(), HasSubstr("was valid until"));
  const std::string token = ReadToken(File("join.token")).value();
  for (const std::string& wrong :
       {token.substr(1), token + "0", "G" + token.substr(1), std::string(), token + " "}) {
    Write("join.token", wrong);
    const Status status = LoadWorkerKeys(plan_.directory, 0, kNow).status();
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
    EXPECT_THAT(status.message(), HasSubstr(File("join.token")));
    EXPECT_THAT(status.message(), Not(HasSubstr(token.substr(2, 20))));
  }
  Write("join.token", token + "\r\n");
  EXPECT_TRUE(LoadWorkerKeys(plan_.directory, 0, kNow).ok()) << "as a text editor leaves it";
  fs::copy_file(File("worker-1.key"), File("worker-0.key"), fs::copy_options::overwrite_existing);
  EXPECT_THAT(LoadWorkerKeys(plan_.directory, 0, kNow).status().message(),
              HasSubstr("worker-0.crt: the private key belongs to another"));
  fs::remove(File("ca.crt"));
  EXPECT_THAT(LoadWorkerKeys(plan_.directory, 0, kNow).status().message(), HasSubstr("ca.crt"));
  EXPECT_EQ(LoadCoordinatorKeys(scratch_, false, kNow).status().code(), StatusCode::kNotFound);
}

TEST_F(KeyMakingTest, WhatIsShownAndToldHoldsNoSecret) {
  ASSERT_TRUE(MakeKeys(plan_).ok());
  const std::string shown = DescribeKeys(plan_.directory, kNow).value();
  EXPECT_THAT(shown, HasSubstr("serves as    coordinator.example localhost 127.0.0.1 ::1"));
  EXPECT_THAT(shown, HasSubstr("worker-1.crt\n  name         worker-1\n"));
  EXPECT_THAT(shown, HasSubstr("2030-03-17 to 2030-03-18\n"));
  EXPECT_THAT(DescribeKeys(plan_.directory, kNow + 2 * 86'400).value(), HasSubstr("  OVER\n"));
  const std::string guide = FormatKeyGuide(plan_, "coordinator.example");
  EXPECT_THAT(guide, HasSubstr("interlude worker --coordinator coordinator.example:7070"));
  for (const std::string& text : {shown, guide}) {
    EXPECT_THAT(text, Not(HasSubstr(ReadToken(File("join.token")).value().substr(0, 17))));
    EXPECT_THAT(text, Not(HasSubstr("PRIVATE")));
  }
  EXPECT_EQ(DescribeKeys(scratch_ + "/none", kNow).status().code(), StatusCode::kNotFound);
}

TEST_F(KeyMakingTest, WhoMayReadThePageMayNotJoin) {
  ASSERT_TRUE(MakeKeys(plan_).ok());
  const std::string token = LoadPageToken(plan_.directory).value();
  EXPECT_NE(token, ReadToken(File("join.token")).value());
  const std::string shown = DescribeKeys(plan_.directory, kNow).value();
  EXPECT_THAT(shown, HasSubstr("page.token"));
  EXPECT_THAT(shown, Not(HasSubstr(token.substr(0, 17))));
  fs::remove(File("page.token"));
  const Status missing = LoadPageToken(plan_.directory).status();
  EXPECT_EQ(missing.code(), StatusCode::kNotFound);
  EXPECT_THAT(missing.message(), HasSubstr("openssl rand -hex 32 > " + File("page.token")));
  EXPECT_TRUE(LoadCoordinatorKeys(plan_.directory, false, kNow).ok()) << "needed for the page only";
}

}  // namespace
}  // namespace interlude
