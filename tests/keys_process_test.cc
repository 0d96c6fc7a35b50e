// Keys as a person makes and uses them: real processes, `openssl` as the judge of the certificates,
// and no secret left where others could read it.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "cli/exit_codes.h"
#include "tests/process.h"

namespace interlude {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::Not;
using Arguments = std::vector<std::string>;

constexpr char kOpenssl[] = "/usr/bin/openssl";

std::string ReadWhole(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

class KeysProcessTest : public testing::Test {
 protected:
  KeysProcessTest() {
    std::string pattern = testing::TempDir() + "/keys-process-XXXXXX";
    scratch_ = mkdtemp(pattern.data());
    std::ofstream(scratch_ + "/run.toml")
        << "[model]\nkind = \"synthetic\"\nsynthetic_params = 200003\nsynthetic_step_ms = 5\n"
           "[round]\nrounds = 3\nlocal_steps = 2\nchunk_params = 65536\n";
    MakeKeys("keys");
  }
  ~KeysProcessTest() override { fs::remove_all(scratch_); }

  static Arguments Interlude(Arguments arguments) {
    arguments.insert(arguments.begin(), INTERLUDE_PROGRAM);
    return arguments;
  }
  std::string In(const std::string& name) const { return scratch_ + "/" + name; }
  void MakeKeys(const std::string& name) const {
    Process init(Interlude({"keys", "init", In(name), "--workers", "2", "--name", "box.example",
                            "--name", "10.0.0.5"}));
    ASSERT_EQ(init.AwaitExit(), kExitOk) << init.output();
    ASSERT_THAT(init.output(), HasSubstr("interlude worker --coordinator box.example:7070"));
  }
  Arguments Coordinator(const Arguments& more) const {
    Arguments arguments = Interlude(
        {"coordinator", "--workers", "2", "--config", In("run.toml"), "--dir", In("run")});
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  }
  Arguments WithKeys(const Arguments& more = {}) const {
    Arguments arguments = Coordinator({"--listen", "127.0.0.1:0", "--keys", In("keys")});
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  }
  static std::string AwaitAddress(Process& coordinator) {
    const std::string before = "--coordinator ";
    if (!coordinator.AwaitOutput(" (on this machine only")) return "";
    const std::string& output = coordinator.output();
    const size_t begin = output.find(before) + before.size();
    return output.substr(begin, output.find(' ', begin) - begin);
  }
  Arguments Worker(const std::string& address, const Arguments& more) const {
    Arguments arguments = Interlude({"worker", "--coordinator", address});
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  }

  std::string scratch_;
};

TEST_F(KeysProcessTest, OpensslVerifiesWhatTheCommandMakes) {
  if (access(kOpenssl, X_OK) != 0) GTEST_SKIP() << kOpenssl << " is missing";
  const auto verify = [&](const Arguments& more, const std::string& certificate) {
    Arguments arguments = {kOpenssl, "verify", "-x509_strict", "-CAfile", In("keys/ca.crt")};
    arguments.insert(arguments.end(), more.begin(), more.end());
    arguments.push_back(In(certificate));
    Process process(arguments);
    return process.AwaitExit() == 0;
  };
  const Arguments serving = {"-purpose", "sslserver"};
  const Arguments connecting = {"-purpose", "sslclient"};
  for (const auto& [option, host] : {std::pair<std::string, std::string>{"-verify_ip", "10.0.0.5"},
                                     {"-verify_ip", "127.0.0.1"},
                                     {"-verify_ip", "::1"},
                                     {"-verify_hostname", "box.example"},
                                     {"-verify_hostname", "localhost"}}) {
    EXPECT_TRUE(verify({"-purpose", "sslserver", option, host}, "keys/coordinator.crt")) << host;
  }
  EXPECT_FALSE(verify({"-verify_hostname", "other.example"}, "keys/coordinator.crt"));
  EXPECT_FALSE(verify(connecting, "keys/coordinator.crt"));
  EXPECT_TRUE(verify(connecting, "keys/worker-1.crt"));
  EXPECT_FALSE(verify(serving, "keys/worker-1.crt"));
  MakeKeys("other");
  EXPECT_FALSE(verify(serving, "other/coordinator.crt"));
  Process text({kOpenssl, "x509", "-noout", "-subject", "-in", In("keys/worker-1.crt")});
  EXPECT_EQ(text.AwaitExit(), 0);
  EXPECT_EQ(text.output(), "subject=CN = worker-1\n");
  Process fingerprint(
      {kOpenssl, "x509", "-noout", "-fingerprint", "-sha256", "-in", In("keys/coordinator.crt")});
  fingerprint.AwaitExit();
  Process show(Interlude({"keys", "show", In("keys")}));
  EXPECT_EQ(show.AwaitExit(), kExitOk);
  std::string ours = show.output();
  for (char& c : ours) c = static_cast<char>(toupper(c));
  const std::string theirs = fingerprint.output().substr(fingerprint.output().find('=') + 1);
  EXPECT_THAT(ours, HasSubstr(theirs));
}

TEST_F(KeysProcessTest, KeysAreNeverOverwritten) {
  const std::string before = ReadWhole(In("keys/ca.key"));
  Process again(Interlude({"keys", "init", In("keys")}));
  EXPECT_EQ(again.AwaitExit(), kExitUsage);
  EXPECT_THAT(again.output(), HasSubstr("never overwritten"));
  EXPECT_EQ(ReadWhole(In("keys/ca.key")), before);
}

TEST_F(KeysProcessTest, ARunOverMutualTlsLeavesNoSecretWhereOthersCouldReadIt) {
  Process coordinator(WithKeys({"--require-worker-certificates", "--set", "round.rounds=100000"}));
  const std::string address = AwaitAddress(coordinator);
  Process zero(Worker(address, {"--keys", In("keys"), "--id", "0"}));
  Process one(Worker(address, {"--keys", In("keys"), "--id", "1"}));
  ASSERT_TRUE(coordinator.AwaitOutput("round      2/"));
  EXPECT_THAT(coordinator.output(), HasSubstr("worker 1 (certificate worker-1)"));

  const std::string token = ReadWhole(In("keys/join.token")).substr(0, 64);
  const auto expect_no_secret = [&](const std::string& text, const std::string& where) {
    EXPECT_THAT(text, Not(HasSubstr(token))) << where;
    EXPECT_THAT(text, Not(HasSubstr("PRIVATE KEY"))) << where;
  };
  for (const pid_t pid : {coordinator.pid(), zero.pid(), one.pid()}) {
    const std::string command = ReadWhole(fmt::format("/proc/{}/cmdline", pid));
    EXPECT_THAT(command, HasSubstr("--keys"));
    expect_no_secret(command, "command line");
    expect_no_secret(ReadWhole(fmt::format("/proc/{}/environ", pid)), "environment");
  }
  coordinator.Signal(SIGTERM);
  EXPECT_EQ(coordinator.AwaitExit(), kExitInterrupted);
  zero.AwaitExit();
  one.AwaitExit();
  for (Process* process : {&coordinator, &zero, &one}) expect_no_secret(process->output(), "log");
  size_t files = 0;
  for (const auto& entry : fs::recursive_directory_iterator(In("run"))) {
    if (!entry.is_regular_file()) continue;
    expect_no_secret(ReadWhole(entry.path()), entry.path().string());
    ++files;
  }
  EXPECT_GE(files, 2u) << "run.db and the journal at least";
  for (const Arguments& more : {Arguments{}, Arguments{"--json"}}) {
    Arguments arguments = Interlude({"report", In("run")});
    arguments.insert(arguments.end(), more.begin(), more.end());
    Process report(arguments);
    EXPECT_EQ(report.AwaitExit(), kExitOk);
    expect_no_secret(report.output(), "report");
  }
}

TEST_F(KeysProcessTest, APersonIsToldWhatKeepsAWorkerOut) {
  MakeKeys("other");
  fs::create_directory(In("mixed"));
  fs::copy_file(In("keys/ca.crt"), In("mixed/ca.crt"));
  fs::copy_file(In("other/join.token"), In("mixed/join.token"));
  Process coordinator(WithKeys());
  const std::string address = AwaitAddress(coordinator);
  const auto expect_refused = [&](const Arguments& more, const std::string& words) {
    Process worker(Worker(address, more));
    EXPECT_EQ(worker.AwaitExit(), kExitFailed) << worker.output();
    EXPECT_THAT(worker.output(), HasSubstr(words));
    EXPECT_THAT(worker.output(), Not(HasSubstr("ssl_transport_security"))) << "gRPC's own lines";
  };
  expect_refused({"--keys", In("mixed")}, "the join token is not this coordinator's");
  expect_refused({"--keys", In("other")}, "its certificate is not trusted");
  Process plain(Worker(address, {}));
  EXPECT_TRUE(plain.AwaitOutput("this worker needs --keys too")) << "while it still tries";
  plain.Signal(SIGTERM);
  EXPECT_EQ(plain.AwaitExit(), kExitInterrupted);
  Process nothing(Worker(address, {"--keys", In("none")}));
  EXPECT_EQ(nothing.AwaitExit(), kExitUsage);
  EXPECT_THAT(nothing.output(), HasSubstr(In("none/ca.crt")));
}

TEST_F(KeysProcessTest, AnAddressThatOthersReachNeedsKeysOrAWord) {
  Process open(Coordinator({"--listen", "0.0.0.0:0"}));
  EXPECT_EQ(open.AwaitExit(), kExitUsage);
  EXPECT_THAT(open.output(), HasSubstr("interlude keys init"));
  EXPECT_FALSE(fs::exists(In("run")));
  Process worker(Worker("192.0.2.1:7070", {}));
  EXPECT_EQ(worker.AwaitExit(), kExitUsage);
  EXPECT_THAT(worker.output(), HasSubstr("--keys DIR"));
  Process run(Interlude({"run", "--workers", "1", "--config", In("run.toml"), "--dir", In("run"),
                         "--listen", "0.0.0.0:0"}));
  EXPECT_EQ(run.AwaitExit(), kExitUsage);
  EXPECT_FALSE(fs::exists(In("run")));
  Process both(Coordinator({"--listen", "127.0.0.1:0", "--keys", In("keys"), "--insecure"}));
  EXPECT_EQ(both.AwaitExit(), kExitUsage);
  Process told(Coordinator({"--listen", "0.0.0.0:0", "--insecure"}));
  EXPECT_TRUE(told.AwaitOutput(" --insecure"));
}

}  // namespace
}  // namespace interlude
