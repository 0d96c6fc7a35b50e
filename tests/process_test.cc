// The two programs as a person runs them: real processes, real signals, kill -9. The model is
// synthetic.
#include "tests/process.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/process_memory.h"
#include "cli/exit_codes.h"
#include "ledger/run_database.h"

namespace interlude {
namespace {

using testing::HasSubstr;
using testing::Not;
using Arguments = std::vector<std::string>;

// Rounds that could never be done while a test waits.
constexpr char kForever[] = "round.rounds=100000";

class ProcessTest : public testing::Test {
 protected:
  ProcessTest() {
    std::string pattern = testing::TempDir() + "/process-XXXXXX";
    scratch_ = mkdtemp(pattern.data());
    directory_ = scratch_ + "/run";
    config_ = scratch_ + "/run.toml";
    std::ofstream(config_)
        << "[model]\nkind = \"synthetic\"\nsynthetic_params = 200003\nsynthetic_step_ms = 5\n"
           "[round]\nrounds = 3\nlocal_steps = 2\nchunk_params = 65536\n";
  }
  ~ProcessTest() override { std::filesystem::remove_all(scratch_); }

  Arguments Interlude(Arguments arguments) const {
    arguments.insert(arguments.begin(), INTERLUDE_PROGRAM);
    return arguments;
  }
  Arguments Run(int workers, const Arguments& more = {}) const {
    Arguments arguments = {"run",   "--workers", std::to_string(workers), "--config", config_,
                           "--dir", directory_};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return Interlude(arguments);
  }
  std::string Log(const std::string& name) const {
    std::ifstream file(directory_ + "/logs/" + name);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  }
  // The hash that the last line of a run names.
  static std::string AgreedHash(const std::string& output) {
    const std::string before = "agree on ";
    const size_t begin = output.find(before);
    return begin == std::string::npos ? "no hash" : output.substr(begin + before.size(), 32);
  }
  // The address that a coordinator's invitation names.
  static std::string Address(const std::string& output) {
    const std::string before = "--coordinator ";
    const size_t begin = output.find(before) + before.size();
    return output.substr(begin, output.find(' ', begin) - begin);
  }
  // Committed rounds in run.db, whose roots must all be the same for all workers.
  std::vector<RoundRecord> CheckedRounds() const {
    auto database = RunDatabase::OpenReadOnly(directory_ + "/run.db");
    EXPECT_TRUE(database.ok()) << database.status().ToString();
    if (!database.ok()) return {};
    auto rounds = (*database)->Rounds();
    auto parts = (*database)->WorkerRounds();
    EXPECT_TRUE(rounds.ok() && parts.ok());
    if (!rounds.ok() || !parts.ok()) return {};
    for (const WorkerRoundRecord& part : *parts) {
      EXPECT_EQ(part.root_hash, rounds->at(part.round - 1).root_hash)
          << "round " << part.round << " worker " << part.worker;
    }
    return *rounds;
  }

  std::string scratch_;
  std::string directory_;
  std::string config_;
};

TEST_F(ProcessTest, ARunEndsWellAndCanBeReadAfterwards) {
  Process run(Run(3));
  EXPECT_EQ(run.AwaitExit(), kExitOk) << run.output();
  EXPECT_TRUE(run.AllGone());
  EXPECT_THAT(run.output(), HasSubstr("round 3/3  loss"));
  EXPECT_THAT(run.output(), HasSubstr("coordinator and all 3 workers agree on"));
  const std::string hash = AgreedHash(run.output());
  const auto rounds = CheckedRounds();
  ASSERT_EQ(rounds.size(), 3u);
  EXPECT_EQ(rounds.back().root_hash, hash);
  for (const char* log : {"worker-0.log", "worker-1.log", "worker-2.log"})
    EXPECT_THAT(Log(log), HasSubstr(hash));
  EXPECT_THAT(Log("coordinator.log"), HasSubstr("usable cores"));

  Process report(Interlude({"report", directory_}));
  EXPECT_EQ(report.AwaitExit(), kExitOk) << report.output();
  EXPECT_THAT(report.output(), HasSubstr("train"));
  for (const char* round : {"1", "2", "3"}) {
    EXPECT_THAT(run.output(), HasSubstr(fmt::format("round {}/3  loss", round)));
    EXPECT_THAT(report.output(), HasSubstr(fmt::format("\n      {}  ", round)))
        << "the same numbers";
  }
  Process json(Interlude({"report", directory_, "--json"}));
  EXPECT_EQ(json.AwaitExit(), kExitOk);
  EXPECT_THAT(json.output(), HasSubstr(hash));
  EXPECT_THAT(json.output(), HasSubstr("\"round\": 1,"));
  EXPECT_THAT(json.output(), Not(HasSubstr("\"round\": 0,")));

  Process again(Run(3));
  EXPECT_EQ(again.AwaitExit(), kExitUsage);
  EXPECT_THAT(again.output(), HasSubstr("already holds a finished run"));
}

TEST_F(ProcessTest, TwoRunsOfOneSeedAgree) {
  Process first(Run(2, {"--quiet"}));
  EXPECT_EQ(first.AwaitExit(), kExitOk) << first.output();
  EXPECT_THAT(first.output(), Not(HasSubstr("round 1/3")));
  const std::string before = directory_;
  directory_ += "-again";
  Process second(Run(2, {"--quiet"}));
  EXPECT_EQ(second.AwaitExit(), kExitOk) << second.output();
  EXPECT_EQ(AgreedHash(first.output()).size(), 32u);
  EXPECT_EQ(AgreedHash(first.output()), AgreedHash(second.output()));

  Process compare(Interlude({"report", "--compare", before, directory_}));
  EXPECT_EQ(compare.AwaitExit(), kExitOk) << compare.output();
  EXPECT_THAT(compare.output(), HasSubstr("the same, bit for bit, in all 3 rounds"));
  EXPECT_THAT(compare.output(), HasSubstr("needs 5 rounds, and there are 2"));
  EXPECT_THAT(compare.output(), HasSubstr("Settings that differ\n  none\n"));
  Process json(Interlude({"report", "--compare", before, directory_, "--json"}));
  EXPECT_EQ(json.AwaitExit(), kExitOk) << json.output();
  EXPECT_THAT(json.output(), HasSubstr("\"format\": \"interlude-run-comparison\""));
}

TEST_F(ProcessTest, WhatCannotBeComparedIsRefusedWithWhatToDo) {
  const std::string run = INTERLUDE_SOURCE_DIR "/testdata/run_db";
  const std::string old = scratch_ + "/old";
  std::filesystem::create_directory(old);
  std::filesystem::copy_file(run + "/v2.db", old + "/run.db");
  const std::pair<Arguments, std::string> cases[] = {
      {{"--compare", run}, "--compare takes two directories"},
      {{run, run}, "a report is of one run; to compare two: interlude report --compare"},
      {{"--compare", run, run, run}, "--compare takes two directories"},
      {{"--compare", run, run, "--html", scratch_ + "/page.html"}, "--html excludes --compare"},
      {{"--compare", run, directory_}, directory_},
      {{"--compare", old, run}, old + ": its run.db is of version 2"}};
  for (const auto& [arguments, message] : cases) {
    Arguments all = {"report"};
    all.insert(all.end(), arguments.begin(), arguments.end());
    Process refused(Interlude(all));
    EXPECT_EQ(refused.AwaitExit(), kExitUsage) << refused.output();
    EXPECT_THAT(refused.output(), HasSubstr(message));
  }
}

TEST_F(ProcessTest, ARunGoesOnWithoutAKilledWorkerAndSaysSo) {
  // Six seconds at least, so that a busy machine does not let the run end before the kill.
  Process run(Run(3, {"--set", "round.rounds=60", "--set", "model.synthetic_step_ms=50"}));
  ASSERT_TRUE(run.AwaitOutput("round  1/60"));
  const auto worker = run.ChildrenWith("--id 1");
  ASSERT_EQ(worker.size(), 1u);
  kill(worker[0], SIGKILL);
  EXPECT_EQ(run.AwaitExit(), kExitWorkerLost) << run.output();
  EXPECT_TRUE(run.AllGone());
  EXPECT_THAT(run.output(), HasSubstr("round 60/60"));
  EXPECT_THAT(run.output(), HasSubstr("the remaining 2 workers (1 lost) agree on"));
  EXPECT_THAT(run.output(), HasSubstr("worker 1: killed by signal 9"));
  EXPECT_THAT(run.output(), HasSubstr(directory_ + "/logs/worker-1.log"));
  EXPECT_EQ(CheckedRounds().size(), 60u);
}

TEST_F(ProcessTest, AKilledCoordinatorEndsTheRun) {
  Process run(Run(2, {"--set", kForever}));
  ASSERT_TRUE(run.AwaitOutput("round      1/"));
  const auto coordinator = run.ChildrenWith("interlude coordinator");
  ASSERT_EQ(coordinator.size(), 1u);
  kill(coordinator[0], SIGKILL);
  EXPECT_EQ(run.AwaitExit(), kExitFailed) << run.output();
  EXPECT_THAT(run.output(), HasSubstr("coordinator: killed by signal 9"));
  EXPECT_TRUE(run.AllGone());
}

TEST_F(ProcessTest, AKilledParentLeavesNoProcess) {
  Process run(Run(2, {"--set", kForever}));
  ASSERT_TRUE(run.AwaitOutput("round      1/"));
  EXPECT_EQ(run.ChildrenWith("").size(), 3u);
  run.Signal(SIGKILL);
  EXPECT_EQ(run.AwaitExit(), -SIGKILL);
  EXPECT_TRUE(run.AllGone());
}

TEST_F(ProcessTest, AnInterruptKeepsWhatIsCommittedAndLeavesNoProcess) {
  for (int signal_number : {SIGINT, SIGTERM}) {
    Process run(Run(2, {"--set", kForever}));
    ASSERT_TRUE(run.AwaitOutput("round      2/"));
    run.Signal(signal_number);
    EXPECT_EQ(run.AwaitExit(), kExitInterrupted) << run.output();
    EXPECT_TRUE(run.AllGone());
    EXPECT_THAT(run.output(), Not(HasSubstr("does not end by itself")));
    EXPECT_GE(CheckedRounds().size(), 2u);
    Process report(Interlude({"report", directory_}));
    EXPECT_EQ(report.AwaitExit(), kExitOk) << report.output();
    directory_ += "-again";
  }
}

TEST_F(ProcessTest, CoordinatorAndWorkersCanBeStartedByHand) {
  Process coordinator(Interlude({"coordinator", "--workers", "2", "--config", config_, "--dir",
                                 directory_, "--listen", "127.0.0.1:0"}));
  ASSERT_TRUE(coordinator.AwaitOutput(" (on this machine only"));
  const std::string address = Address(coordinator.output());
  Process one(Interlude({"worker", "--coordinator", address}));
  Process two(Interlude({"worker", "--coordinator", address, "--threads", "1"}));
  EXPECT_EQ(coordinator.AwaitExit(), kExitOk) << coordinator.output();
  EXPECT_EQ(one.AwaitExit(), kExitOk) << one.output();
  EXPECT_EQ(two.AwaitExit(), kExitOk) << two.output();
  EXPECT_THAT(one.output(), HasSubstr(AgreedHash(coordinator.output())));
  EXPECT_THAT(two.output(), HasSubstr(AgreedHash(coordinator.output())));
}

TEST_F(ProcessTest, ACoordinatorThatStaysUpGivesAllMemoryBackAndServesTheNextRun) {
  Process coordinator(Interlude(
      {"coordinator", "--workers", "2", "--config", config_, "--dir", directory_, "--listen",
       "127.0.0.1:0", "--runs", "0", "--set", "model.synthetic_params=16000000", "--set",
       "model.synthetic_step_ms=0", "--set", "round.chunk_params=1048576"}));
  ASSERT_TRUE(coordinator.AwaitOutput(" (on this machine only"));
  [[maybe_unused]] const auto before = ReadProcessMemory(coordinator.pid());
  const std::string address = Address(coordinator.output());
  ASSERT_TRUE(coordinator.AwaitNext(" (on this machine only"));
  const std::string data = directory_;
  for (const char* run : {"/run-1", "/run-2"}) {
    Process one(Interlude({"worker", "--coordinator", address}));
    Process two(Interlude({"worker", "--coordinator", address}));
    EXPECT_EQ(one.AwaitExit(), kExitOk) << one.output();
    EXPECT_EQ(two.AwaitExit(), kExitOk) << two.output();
    // Said once the memory has been given back and the next run is waited for.
    ASSERT_TRUE(coordinator.AwaitNext(address + " (on this machine only"));
    directory_ = data + run;
    EXPECT_EQ(CheckedRounds().size(), 3u);
  }
#ifndef __SANITIZE_ADDRESS__  // it keeps what is freed for a while
  const auto after = ReadProcessMemory(coordinator.pid());
  ASSERT_TRUE(before && after);
  constexpr double kModelBytes = 16e6 * sizeof(float);
  EXPECT_LE(static_cast<double>(after->anonymous) - static_cast<double>(before->anonymous),
            0.1 * kModelBytes);
  EXPECT_GE(static_cast<double>(after->peak_resident), 3 * kModelBytes) << "what there was to give";
#endif
  coordinator.Signal(SIGTERM);
  EXPECT_EQ(coordinator.AwaitExit(), kExitOk) << coordinator.output();
}

TEST_F(ProcessTest, TheExchangeIsBenchmarkedInAllModesWhichAgree) {
  const std::string json = scratch_ + "/bench.json";
  Process bench(Interlude({"bench", "exchange", "--params", "200K", "--workers", "2", "--rounds",
                           "2", "--dir", directory_, "--json", json}));
  EXPECT_EQ(bench.AwaitExit(), kExitOk) << bench.output();
  EXPECT_TRUE(bench.AllGone());
  for (const char* text : {"pipelined: exchange", "barrier: exchange", "barrier-save: exchange",
                           "round 2/2", "whole exchange:", "first sync chunk sent:",
                           "save every round:", "memory after the run:", "both directions: 0.26"}) {
    EXPECT_THAT(bench.output(), HasSubstr(text));
  }
  std::ifstream file(json);
  const std::string text(std::istreambuf_iterator<char>(file), {});
  EXPECT_THAT(text, HasSubstr("\"mode\": \"barrier-save\""));
  EXPECT_THAT(text, HasSubstr("\"phase\": \"save\""));
  EXPECT_FALSE(std::filesystem::exists(directory_)) << "it was made for the runs";
}

TEST_F(ProcessTest, AnInterruptedBenchmarkLeavesNeitherProcessesNorFiles) {
  Process bench(Interlude({"bench", "exchange", "--params", "200K", "--rounds", "100000", "--mode",
                           "pipelined", "--dir", directory_}));
  ASSERT_TRUE(bench.AwaitOutput("round      1/"));
  bench.Signal(SIGINT);
  EXPECT_EQ(bench.AwaitExit(), kExitInterrupted) << bench.output();
  EXPECT_TRUE(bench.AllGone());
  EXPECT_FALSE(std::filesystem::exists(directory_));
}

TEST_F(ProcessTest, AWrongKeyIsFoundBeforeAnythingIsMade) {
  Process run(Run(2, {"--set", "round.ruonds=3"}));
  EXPECT_EQ(run.AwaitExit(), kExitUsage);
  EXPECT_THAT(run.output(), HasSubstr("did you mean round.rounds?"));
  EXPECT_FALSE(std::filesystem::exists(directory_));
}

TEST_F(ProcessTest, AWorkerThatCannotBeginEndsTheRunWithItsReason) {
  Process run(Run(2, {"--set", "model.kind=vit", "--set", "data.directory=/no/such/data"}));
  EXPECT_EQ(run.AwaitExit(), kExitFailed) << run.output();
  EXPECT_TRUE(run.AllGone());
  EXPECT_THAT(run.output(), HasSubstr("exit status 1. The end of its log"));
  EXPECT_THAT(run.output(),
              testing::AnyOf(HasSubstr("/no/such/data"), HasSubstr("without LibTorch")));
}

TEST_F(ProcessTest, APortInUseIsNamed) {
  Process holder(Interlude({"coordinator", "--workers", "1", "--config", config_, "--dir",
                            directory_, "--listen", "127.0.0.1:0"}));
  const std::string before = "coordinator on ";
  ASSERT_TRUE(holder.AwaitOutput(", waiting for"));
  const size_t begin = holder.output().find(before) + before.size();
  const std::string address =
      holder.output().substr(begin, holder.output().find(',', begin) - begin);
  directory_ += "-second";
  Process run(Run(1, {"--listen", address}));
  EXPECT_EQ(run.AwaitExit(), kExitFailed) << run.output();
  EXPECT_THAT(run.output(), HasSubstr(address));
  EXPECT_THAT(run.output(), HasSubstr("in use"));
  EXPECT_THAT(run.output(), Not(HasSubstr("chttp2"))) << "gRPC's own lines above ours";
  holder.Signal(SIGTERM);
  EXPECT_EQ(holder.AwaitExit(), kExitInterrupted) << holder.output();
}

}  // namespace
}  // namespace interlude
