#include "cli/supervisor.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <thread>

#include "cli/exit_codes.h"
#include "cli/stop_signals.h"

namespace interlude {
namespace {

using Arguments = std::vector<std::string>;
constexpr int kPatienceMs = 60'000;
constexpr char kReady[] = "127.0.0.1:7";
constexpr char kReadyAndStarted[] = "127.0.0.1:7\nstarted";

// A pipe whose writing end every child inherits: what they say comes out, and its end shows that
// all are gone.
class Line {
 public:
  Line() {
    if (pipe(ends_.data()) != 0) std::abort();
  }
  ~Line() {
    CloseWrite();
    close(ends_[0]);
  }
  std::string write_fd() const { return std::to_string(ends_[1]); }
  int raw_write_fd() const { return ends_[1]; }
  void CloseWrite() {
    if (ends_[1] >= 0) close(ends_[1]);
    ends_[1] = -1;
  }
  // Reads until `count` newlines came; fails the test when they do not.
  std::string ReadLines(size_t count) {
    std::string text;
    while (count > 0) {
      char c = 0;
      if (!Readable() || read(ends_[0], &c, 1) != 1) {
        ADD_FAILURE() << "the children said no more than: " << text;
        return text;
      }
      text += c;
      if (c == '\n') --count;
    }
    return text;
  }
  // True once nobody holds the writing end any more.
  bool AllGone() {
    CloseWrite();
    char c = 0;
    while (Readable()) {
      if (read(ends_[0], &c, 1) == 0) return true;
    }
    return false;
  }

 private:
  bool Readable() {
    pollfd event = {ends_[0], POLLIN, 0};
    return poll(&event, 1, kPatienceMs) == 1;
  }
  std::array<int, 2> ends_;
};

class SupervisorTest : public testing::Test {
 protected:
  SupervisorTest() {
    std::string pattern = testing::TempDir() + "/supervisor-XXXXXX";
    directory_ = mkdtemp(pattern.data());
    plan_.workers = 2;
    plan_.log_directory = directory_;
    plan_.grace = std::chrono::minutes(10);
  }

  static Arguments Fake(Arguments actions) {
    actions.insert(actions.begin(), INTERLUDE_FAKE_CHILD);
    return actions;
  }

  // A coordinator that says `ready` and then does as told.
  void Coordinator(const std::string& ready, const Arguments& actions) {
    plan_.coordinator_command = [=](int ready_fd) {
      Arguments all = {"polite", "write", std::to_string(ready_fd), ready};
      all.insert(all.end(), actions.begin(), actions.end());
      return Fake(all);
    };
  }
  void Workers(const Arguments& worker0, const Arguments& worker1) {
    plan_.worker_command = [=](uint32_t worker, const std::string&) {
      return Fake(worker == 0 ? worker0 : worker1);
    };
  }

  SupervisionResult Run() {
    auto result = Supervise(plan_);
    EXPECT_TRUE(result.ok()) << result.status().ToString();
    return result.ok() ? *result : SupervisionResult{.exit_code = -1};
  }

  // Supervises in a process of its own, which this test may then treat as a person or the kernel
  // would.
  pid_t RunInProcess() {
    const pid_t pid = fork();
    if (pid == 0) {
      for (int signal_number : {SIGINT, SIGTERM, SIGHUP}) signal(signal_number, SIG_DFL);
      auto result = Supervise(plan_);
      _exit(result.ok() ? result->exit_code : 99);
    }
    return pid;
  }
  static int ExitStatus(pid_t pid) {
    int status = 0;
    waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }

  std::string ReadFile(const std::string& name) const {
    std::ifstream file(directory_ + "/" + name);
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
  }

  std::string directory_;
  SupervisionPlan plan_;
};

TEST_F(SupervisorTest, GivesZeroWhenAllEndWell) {
  Line line;
  Coordinator(kReadyAndStarted, {"exit", "0"});
  Workers({"write", line.write_fd(), "here", "exit", "0"},
          {"write", line.write_fd(), "here", "exit", "0"});
  const SupervisionResult result = Run();
  EXPECT_EQ(result.exit_code, kExitOk);
  EXPECT_TRUE(result.failures.empty());
  EXPECT_EQ(line.ReadLines(2), "here\nhere\n");
  EXPECT_TRUE(line.AllGone());
}

TEST_F(SupervisorTest, StopsACoordinatorThatWouldServeTheNextRun) {
  plan_.coordinator_command = [](int ready_fd) {
    const std::string fd = std::to_string(ready_fd);
    return Fake({"polite", "write", fd, kReadyAndStarted, "write", fd, "ended", "await-term"});
  };
  Workers({"exit", "0"}, {"exit", "0"});
  std::vector<std::string> children;
  plan_.on_child = [&](const std::string& name, pid_t pid) {
    EXPECT_GT(pid, 0);
    children.push_back(name);
  };
  int ended = 0;
  plan_.on_run_ended = [&] { ++ended; };
  const SupervisionResult result = Run();
  EXPECT_EQ(result.exit_code, kExitOk);
  EXPECT_TRUE(result.failures.empty());
  EXPECT_EQ(ended, 1);
  EXPECT_EQ(children, (std::vector<std::string>{"coordinator", "worker 0", "worker 1"}));
}

TEST_F(SupervisorTest, HandsTheAddressToEveryWorker) {
  Coordinator(kReadyAndStarted, {"exit", "0"});
  std::vector<std::string> seen;
  plan_.worker_command = [&](uint32_t worker, const std::string& address) {
    seen.push_back(std::to_string(worker) + " " + address);
    return Fake({"exit", "0"});
  };
  EXPECT_EQ(Run().exit_code, kExitOk);
  EXPECT_EQ(seen, (std::vector<std::string>{"0 127.0.0.1:7", "1 127.0.0.1:7"}));
}

TEST_F(SupervisorTest, ReportsAWorkerThatDiedWhileTheRunWentOn) {
  Coordinator(kReadyAndStarted, {"exit", "0"});
  Workers({"exit", "0"}, {"complain", "out of luck", "die", "9"});
  const SupervisionResult result = Run();
  EXPECT_EQ(result.exit_code, kExitWorkerLost);
  ASSERT_EQ(result.failures.size(), 1u);
  EXPECT_EQ(result.failures[0].name, "worker 1");
  EXPECT_EQ(result.failures[0].exit.ToString(), "killed by signal 9 (Killed)");
  EXPECT_EQ(result.failures[0].log_path, directory_ + "/worker-1.log");
  EXPECT_EQ(ReadFile("worker-1.log"), "out of luck\n");
}

TEST_F(SupervisorTest, EndsTheRunWhenAWorkerFailsBeforeItBegan) {
  Line line;
  Coordinator(kReady, {"await-term", "write", line.write_fd(), "coordinator asked", "exit", "130"});
  Workers({"exit", "4"}, {"forever"});
  const SupervisionResult result = Run();
  EXPECT_EQ(result.exit_code, kExitFailed);
  ASSERT_EQ(result.failures.size(), 1u);
  EXPECT_EQ(result.failures[0].name, "worker 0");
  EXPECT_EQ(result.failures[0].exit.ToString(), "exit status 4");
  EXPECT_EQ(line.ReadLines(1), "coordinator asked\n");
  EXPECT_TRUE(line.AllGone());
}

TEST_F(SupervisorTest, EndsTheWorkersWhenTheCoordinatorFails) {
  Line line;
  Coordinator(kReadyAndStarted, {"complain", "disk full", "exit", "1"});
  Workers({"forever"}, {"forever"});
  const SupervisionResult result = Run();
  EXPECT_EQ(result.exit_code, kExitFailed);
  ASSERT_EQ(result.failures.size(), 1u);
  EXPECT_EQ(result.failures[0].name, "coordinator");
  EXPECT_EQ(ReadFile("coordinator.log"), "disk full\n");
  EXPECT_TRUE(line.AllGone());
}

TEST_F(SupervisorTest, PassesTheCoordinatorsUsageErrorOn) {
  plan_.coordinator_command = [](int) { return Fake({"exit", "2"}); };
  EXPECT_EQ(Run().exit_code, kExitUsage);
}

TEST_F(SupervisorTest, DoesNotWaitForACoordinatorWithoutWorkers) {
  plan_.grace = std::chrono::milliseconds(20);
  Line line;
  Coordinator(kReadyAndStarted, {"await-term", "write", line.write_fd(), "asked", "exit", "130"});
  Workers({"exit", "0"}, {"exit", "0"});
  EXPECT_EQ(Run().exit_code, kExitFailed);
  EXPECT_EQ(line.ReadLines(1), "asked\n");
  EXPECT_TRUE(line.AllGone());
}

TEST_F(SupervisorTest, StopsTheCoordinatorAtOnceWhenAllWorkersFailed) {
  std::string notices;
  plan_.notice = [&](const std::string& text) { notices += text + "\n"; };
  Line line;
  Coordinator(kReadyAndStarted, {"await-term", "write", line.write_fd(), "asked", "exit", "130"});
  Workers({"exit", "1"}, {"die", "9"});
  const SupervisionResult result = Run();
  EXPECT_EQ(result.exit_code, kExitFailed);
  EXPECT_EQ(result.failures.size(), 2u);
  EXPECT_EQ(notices, "no worker is left; stopping the coordinator\n");
  EXPECT_EQ(line.ReadLines(1), "asked\n");
  EXPECT_TRUE(line.AllGone());
}

TEST_F(SupervisorTest, StopsAWorkerThatStaysAfterTheRun) {
  plan_.grace = std::chrono::milliseconds(20);
  std::string notices;
  plan_.notice = [&](const std::string& text) { notices += text + "\n"; };
  Line line;
  Coordinator(kReadyAndStarted, {"exit", "0"});
  Workers({"exit", "0"}, {"deaf", "forever"});
  EXPECT_EQ(Run().exit_code, kExitOk);
  EXPECT_EQ(notices, "worker 1 does not end by itself; stopping it\n");
  EXPECT_TRUE(line.AllGone());
}

TEST_F(SupervisorTest, SaysWhichProgramCannotBeRun) {
  Line line;
  Coordinator(kReady, {"forever"});
  plan_.worker_command = [](uint32_t, const std::string&) {
    return Arguments{"/no/such/interlude-worker"};
  };
  const auto result = Supervise(plan_);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.status().code(), StatusCode::kNotFound);
  EXPECT_NE(result.status().message().find("/no/such/interlude-worker as worker 0"),
            std::string::npos)
      << result.status().message();
  EXPECT_TRUE(line.AllGone());
}

TEST_F(SupervisorTest, AsksPolitelyOnTheFirstInterrupt) {
  for (int signal_number : {SIGINT, SIGTERM, SIGHUP}) {
    Line line;
    const Arguments polite = {"polite", "write",         line.write_fd(), "here", "await-term",
                              "write",  line.write_fd(), "bye",           "exit", "130"};
    Coordinator(kReadyAndStarted, polite);
    Workers(polite, polite);
    const pid_t supervisor = RunInProcess();
    EXPECT_EQ(line.ReadLines(3), "here\nhere\nhere\n");
    kill(supervisor, signal_number);
    EXPECT_EQ(line.ReadLines(3), "bye\nbye\nbye\n");
    EXPECT_EQ(ExitStatus(supervisor), kExitInterrupted);
    EXPECT_TRUE(line.AllGone());
  }
}

TEST_F(SupervisorTest, KillsOnTheSecondInterrupt) {
  Line line;
  const Arguments deaf = {"deaf", "write", line.write_fd(), "here", "forever"};
  Coordinator(kReadyAndStarted, deaf);
  Workers(deaf, deaf);
  const std::string noticed = "noticed\n";
  plan_.notice = [&](const std::string&) {
    (void)!write(line.raw_write_fd(), noticed.data(), noticed.size());
  };
  const pid_t supervisor = RunInProcess();
  EXPECT_EQ(line.ReadLines(3), "here\nhere\nhere\n");
  kill(supervisor, SIGINT);
  EXPECT_EQ(line.ReadLines(1), "noticed\n");
  kill(supervisor, SIGINT);
  EXPECT_EQ(ExitStatus(supervisor), kExitInterrupted);
  EXPECT_TRUE(line.AllGone());
}

TEST_F(SupervisorTest, KillsTheDeafAfterTheGrace) {
  plan_.grace = std::chrono::milliseconds(20);
  Line line;
  const Arguments deaf = {"deaf", "write", line.write_fd(), "here", "forever"};
  Coordinator(kReadyAndStarted, deaf);
  Workers(deaf, deaf);
  const pid_t supervisor = RunInProcess();
  EXPECT_EQ(line.ReadLines(3), "here\nhere\nhere\n");
  kill(supervisor, SIGTERM);
  EXPECT_EQ(ExitStatus(supervisor), kExitInterrupted);
  EXPECT_TRUE(line.AllGone());
}

TEST_F(SupervisorTest, LeavesNoChildWhenItIsKilled) {
  Line line;
  const Arguments deaf = {"deaf", "write", line.write_fd(), "here", "forever"};
  Coordinator(kReadyAndStarted, deaf);
  Workers(deaf, deaf);
  const pid_t supervisor = RunInProcess();
  EXPECT_EQ(line.ReadLines(3), "here\nhere\nhere\n");
  kill(supervisor, SIGKILL);
  EXPECT_EQ(ExitStatus(supervisor), -SIGKILL);
  EXPECT_TRUE(line.AllGone());
}

TEST(StopSignalsTest, RunsTheCallbackForASignalThatCameEarlier) {
  const pid_t child = fork();
  if (child == 0) {
    signal(SIGTERM, SIG_DFL);
    StopSignals signals;
    kill(getpid(), SIGTERM);
    std::thread main_thread([] { pause(); });
    signals.Watch([](int signal_number) { _exit(signal_number == SIGTERM ? 42 : 1); });
    main_thread.join();
  }
  int status = 0;
  waitpid(child, &status, 0);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 42);
}

TEST(StopSignalsTest, ASignalIsNotLostToThreadsThatWereThereBefore) {
  const pid_t child = fork();
  if (child == 0) {
    signal(SIGTERM, SIG_DFL);
    std::thread one([] { pause(); });
    std::thread two([] { pause(); });
    StopSignals signals;
    kill(getpid(), SIGTERM);
    signals.Watch([](int signal_number) { _exit(signal_number == SIGTERM ? 42 : 1); });
    one.join();
    two.join();
    pause();
  }
  int status = 0;
  waitpid(child, &status, 0);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 42);
}

TEST(StopSignalsTest, LeavesASignalIgnoredThatWasIgnoredAtTheStart) {
  const pid_t child = fork();
  if (child == 0) {
    signal(SIGHUP, SIG_IGN);
    StopSignals signals;
    kill(getpid(), SIGHUP);
    _exit(signals.Take() == 0 ? 42 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 42);
}

}  // namespace
}  // namespace interlude
