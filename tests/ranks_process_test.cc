// Workers of two processes as a person runs them: --devices 2.
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
    auto process = std::make_unique<Process>(std::vector<std::string>{
        INTERLUDE_PROGRAM, "coordinator", "--workers", workers, "--config", WriteConfig(), "--dir",
        scratch_ + "/" + name, "--listen", "127.0.0.1:0"});
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
  std::string WriteConfig() const {
    std::ofstream(scratch_ + "/run.toml") << FormatRunConfig(config_);
    return scratch_ + "/run.toml";
  }
  /// The command of a whole run of two workers, in the folder `name`.
  std::vector<std::string> Run(const std::string& name,
                               const std::vector<std::string>& more) const {
    std::vector<std::string> command = {
        INTERLUDE_PROGRAM, "run",   "--workers",          "2", "--threads", "1", "--config",
        WriteConfig(),     "--dir", scratch_ + "/" + name};
    command.insert(command.end(), more.begin(), more.end());
    return command;
  }
  /// The hash of the parameters that the workers of a whole run agreed on.
  std::string HashOfRun(const std::string& name, const std::vector<std::string>& more) const {
    Process run(Run(name, more));
    EXPECT_EQ(run.AwaitExit(), kExitOk) << run.output();
    EXPECT_TRUE(run.AllGone());
    const std::string before = "agree on ";
    const size_t begin = run.output().find(before);
    if (begin == std::string::npos) return "no hash in: " + run.output();
    return run.output().substr(begin + before.size(), 32);
  }
  /// A run that does not end by itself, until its first round is done.
  void StartEndless(const std::string& rank_timeout = "120") {
    config_.round.rounds = 100'000;
    config_.round.evaluate_every = 0;
    coordinator_ = Coordinator("endless", "1");
    worker_ =
        std::make_unique<Process>(Worker(*coordinator_, {"--devices", "cpu,cpu", "--rank-timeout",
                                                         rank_timeout, "--reconnect-for", "0"}));
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

#ifdef INTERLUDE_HAS_GLOO

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

TEST_F(RanksProcess, ARankThatHangsEndsItsWorkerAfterTheTimeout) {
  StartEndless("5");
  kill(rank_, SIGSTOP);
  EXPECT_EQ(worker_->AwaitExit(), kExitFailed) << worker_->output();
  EXPECT_THAT(worker_->output(),
              HasSubstr(fmt::format("no answer from rank 1 (cpu, process {})", rank_)));
  EXPECT_TRUE(worker_->AllGone());
  EXPECT_TRUE(coordinator_->AwaitOutput("no answer from rank 1")) << "it is told";
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

TEST_F(RanksProcess, ARunGivesEachOfItsWorkersSoManyAndComesToTheSameBitsEachTime) {
  const std::string hash = HashOfRun("two", {"--devices", "2"});
  EXPECT_EQ(HashOfRun("list", {"--devices", "cpu,cpu,cpu,cpu"}), hash);
  for (const std::string worker : {"worker-0", "worker-1"}) {
    std::ifstream log(scratch_ + "/two/logs/" + worker + ".log");
    EXPECT_THAT(std::string(std::istreambuf_iterator<char>(log), {}),
                AllOf(HasSubstr("this worker is 2 processes, on cpu, cpu; threads of each: 1"),
                      HasSubstr(" rank 1] process ")));
  }
}

TEST_F(RanksProcess, OfAKilledRunNothingIsLeft) {
  config_.round.rounds = 100'000;
  Process run(Run("killed", {"--devices", "2"}));
  ASSERT_TRUE(run.AwaitOutput("round      2/"));
  kill(run.pid(), SIGKILL);
  EXPECT_EQ(run.AwaitExit(), -SIGKILL);
  EXPECT_TRUE(run.AllGone());
}

#else

TEST_F(RanksProcess, WithoutGlooTwoAreRefusedWithTheReason) {
  const auto coordinator = Coordinator("refused", "1");
  Process worker(Worker(*coordinator, {"--devices", "2"}));
  EXPECT_EQ(worker.AwaitExit(), kExitFailed);
  EXPECT_THAT(worker.output(), HasSubstr("was built without what 2 devices of kind cpu need"));
}

#endif

TEST_F(RanksProcess, OneDeviceIsOneProcessAndTheSameBits) {
  EXPECT_EQ(HashOfRun("one", {"--devices", "1"}), HashOfRun("plain", {}));
}

TEST_F(RanksProcess, WhatCannotBeIsSaidBeforeAnythingStarts) {
  config_.train.batch = 21;
  auto coordinator = Coordinator("odd", "1");
  Process odd(Worker(*coordinator, {"--devices", "2"}));
  EXPECT_EQ(odd.AwaitExit(), kExitFailed);
  EXPECT_THAT(odd.output(), HasSubstr("train.batch = 21 cannot be divided among the 2 devices"));
  Process run(Run("odd", {"--devices", "2"}));
  EXPECT_EQ(run.AwaitExit(), kExitUsage);
  EXPECT_THAT(run.output(), HasSubstr("train.batch = 21 cannot be divided among the 2 devices"));
  Process uneven(Run("odd", {"--devices", "cpu,cpu,cpu"}));
  EXPECT_EQ(uneven.AwaitExit(), kExitUsage);
  EXPECT_THAT(uneven.output(), HasSubstr("3 devices cannot be dealt out to 2 workers"));
}

}  // namespace
}  // namespace interlude
