// A worker of two processes as a person runs it: --devices cpu,cpu.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>

#include "cli/exit_codes.h"
#include "config/run_config.h"
#include "ledger/run_database.h"
#include "tests/process.h"
#include "train/test_images.h"

namespace interlude {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class RanksProcess : public ::testing::Test {
 protected:
  RanksProcess() : config_(TinyImageRun(ModelKind::kVit)) {
    std::string pattern = testing::TempDir() + "/ranks-process-XXXXXX";
    scratch_ = mkdtemp(pattern.data());
    std::filesystem::create_directory(scratch_ + "/tmp");
    setenv("TMPDIR", (scratch_ + "/tmp").c_str(), 1);
    config_.train.optimizer = LocalOptimizerKind::kSgd;
    config_.train.learning_rate = 0.05;
    config_.round.codec = CodecKind::kFp32;
    config_.round.evaluate_every = 2;
  }
  ~RanksProcess() override {
    unsetenv("TMPDIR");
    std::filesystem::remove_all(scratch_);
  }

  std::unique_ptr<Process> Coordinator(const std::string& name, const std::string& workers) {
    std::ofstream(scratch_ + "/run.toml") << FormatRunConfig(config_);
    auto process = std::make_unique<Process>(std::vector<std::string>{
        INTERLUDE_PROGRAM, "coordinator", "--workers", workers, "--config", scratch_ + "/run.toml",
        "--dir", scratch_ + "/" + name, "--listen", "127.0.0.1:0"});
    EXPECT_TRUE(process->AwaitOutput(" (on this machine only"));
    return process;
  }
  static std::vector<std::string> Worker(const Process& coordinator,
                                         const std::vector<std::string>& more = {}) {
    const std::string before = "--coordinator ";
    const std::string& said = coordinator.output();
    const size_t begin = said.find(before) + before.size();
    std::vector<std::string> command = {INTERLUDE_PROGRAM, "worker", "--coordinator",
                                        said.substr(begin, said.find(' ', begin) - begin)};
    command.insert(command.end(), more.begin(), more.end());
    return command;
  }
  /// A run that does not end by itself, until its first round is done.
  void StartEndless() {
    config_.round.rounds = 100'000;
    config_.round.evaluate_every = 0;
    coordinator_ = Coordinator("endless", "1");
    worker_ = std::make_unique<Process>(
        Worker(*coordinator_, {"--devices", "cpu,cpu", "--reconnect-for", "0"}));
    ASSERT_TRUE(coordinator_->AwaitOutput("round      2/"));
    const auto ranks = worker_->ChildrenWith("interlude-worker");
    ASSERT_EQ(ranks.size(), 1u);
    rank_ = ranks[0];
  }
  std::unique_ptr<RunDatabase> Database(const std::string& name) const {
    return *RunDatabase::OpenReadOnly(scratch_ + "/" + name + "/run.db");
  }

  RunConfig config_;
  std::string scratch_;
  std::unique_ptr<Process> coordinator_;
  std::unique_ptr<Process> worker_;
  pid_t rank_ = 0;
};

TEST_F(RanksProcess, TwoProcessesAsOneWorkerLearnWhatOneDoes) {
  for (const std::string devices : {"1", "2"}) {
    const auto coordinator = Coordinator("on" + devices, "2");
    // The other worker is one process, as many may be.
    Process other(Worker(*coordinator, {"--id", "1", "--threads", "1"}));
    Process worker(Worker(*coordinator, {"--id", "0", "--threads", devices, "--devices", devices}));
    EXPECT_EQ(coordinator->AwaitExit(), kExitOk) << coordinator->output();
    EXPECT_EQ(other.AwaitExit(), kExitOk) << other.output();
    EXPECT_EQ(worker.AwaitExit(), kExitOk) << worker.output();
    EXPECT_TRUE(worker.AllGone());
    if (devices == "2") {
      EXPECT_THAT(worker.output(),
                  AllOf(HasSubstr("this worker is 2 processes, on cpu, cpu; threads of each: 1"),
                        HasSubstr("[worker 0 rank 1] process "), Not(HasSubstr("warning"))));
    }
  }
  const auto one = *Database("on1")->Rounds();
  const auto two = *Database("on2")->Rounds();
  ASSERT_EQ(one.size(), two.size());
  for (size_t i = 0; i < one.size(); ++i) EXPECT_NEAR(one[i].mean_loss, two[i].mean_loss, 1e-5);
  const auto scores_one = *Database("on1")->Evaluations();
  const auto scores_two = *Database("on2")->Evaluations();
  ASSERT_GT(scores_one.size(), 1u);
  for (size_t i = 0; i < scores_one.size(); ++i) {
    EXPECT_EQ(scores_two[i].samples, kTinyTestImages);
    EXPECT_EQ(scores_one[i].correct, scores_two[i].correct);
    EXPECT_NEAR(scores_one[i].mean_loss, scores_two[i].mean_loss, 1e-5);
  }
  EXPECT_TRUE(std::filesystem::is_empty(scratch_ + "/tmp"));
}

TEST_F(RanksProcess, AKilledRankEndsItsWorkerWhichSaysSo) {
  StartEndless();
  kill(rank_, SIGKILL);
  EXPECT_EQ(worker_->AwaitExit(), kExitFailed) << worker_->output();
  EXPECT_THAT(worker_->output(),
              HasSubstr(fmt::format("error: rank 1 (cpu, process {}) of this worker has ended: "
                                    "killed by signal 9 (Killed)",
                                    rank_)));
  EXPECT_TRUE(worker_->AllGone());
  EXPECT_TRUE(coordinator_->AwaitOutput("rank 1 (cpu, process ")) << "it is told";
  EXPECT_TRUE(std::filesystem::is_empty(scratch_ + "/tmp"));
}

TEST_F(RanksProcess, AKilledWorkerLeavesNoRankBehind) {
  StartEndless();
  kill(worker_->pid(), SIGKILL);
  EXPECT_EQ(worker_->AwaitExit(), -SIGKILL);
  EXPECT_TRUE(worker_->AllGone());
}

TEST_F(RanksProcess, AWorkerThatIsToldToStopLeavesWithAllRanks) {
  StartEndless();
  kill(rank_, SIGTERM);  // as a service manager does to all of a unit: rank 0 decides
  worker_->Signal(SIGTERM);
  EXPECT_EQ(worker_->AwaitExit(), kExitInterrupted) << worker_->output();
  EXPECT_TRUE(worker_->AllGone());
  EXPECT_TRUE(coordinator_->AwaitOutput("told to stop"));
  EXPECT_TRUE(std::filesystem::is_empty(scratch_ + "/tmp"));
}

TEST_F(RanksProcess, WhatCannotBeIsSaidBeforeAnythingStarts) {
  config_.train.batch = 21;
  auto coordinator = Coordinator("odd", "1");
  Process odd(Worker(*coordinator, {"--devices", "2"}));
  EXPECT_EQ(odd.AwaitExit(), kExitFailed);
  EXPECT_THAT(odd.output(), HasSubstr("train.batch = 21 cannot be divided among the 2 devices"));
  Process usage({INTERLUDE_PROGRAM, "worker", "--coordinator", "localhost:1", "--devices", "2",
                 "--rank-timeout", "0"});
  EXPECT_EQ(usage.AwaitExit(), kExitUsage);
}

}  // namespace
}  // namespace interlude
