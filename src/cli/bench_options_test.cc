#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "bench/exchange_figures.h"
#include "cli/bench_commands.h"
#include "cli/bench_directory.h"
#include "cli/bench_run.h"
#include "cli/commands.h"
#include "cli/exit_codes.h"

namespace interlude {
namespace {

using testing::HasSubstr;

class BenchOptionsTest : public testing::Test {
 protected:
  BenchOptionsTest() { app_.require_subcommand(1); }

  /// Parses alone: what was chosen is not run.
  int Parse(std::vector<const char*> arguments) {
    AddBenchCommand(app_, chosen_);
    arguments.insert(arguments.begin(), "interlude");
    testing::internal::CaptureStderr();
    const int exit_code = RunApp(
        app_, [] { return 42; }, static_cast<int>(arguments.size()), arguments.data());
    error_ = testing::internal::GetCapturedStderr();
    return exit_code;
  }

  CLI::App app_{"", "interlude"};
  Action chosen_;
  std::string error_;
};

TEST_F(BenchOptionsTest, AnExchangeOfAnySizeCanBeAskedFor) {
  EXPECT_EQ(Parse({"bench", "exchange", "--params", "1.5G", "--workers", "4", "--rounds", "5",
                   "--mode", "pipelined", "--json", "-", "--dir", "d", "--keep", "--set",
                   "round.chunk_params=4194304"}),
            42)
      << error_;
  EXPECT_TRUE(chosen_ != nullptr);
}

TEST_F(BenchOptionsTest, TheCodecTakesASizeToo) {
  EXPECT_EQ(Parse({"bench", "codec", "--params", "632M", "--repetitions", "1"}), 42) << error_;
}

TEST_F(BenchOptionsTest, AWrongSizeIsExplained) {
  EXPECT_EQ(Parse({"bench", "exchange", "--params", "632MB"}), kExitUsage);
  EXPECT_THAT(error_, HasSubstr("632MB is no number of parameters"));
  EXPECT_THAT(error_, HasSubstr("See interlude bench exchange --help."));
}

TEST_F(BenchOptionsTest, AWrongModeIsRefused) {
  EXPECT_EQ(Parse({"bench", "exchange", "--mode", "serial"}), kExitUsage);
  EXPECT_THAT(error_, HasSubstr("serial"));
}

TEST_F(BenchOptionsTest, WhatIsToBeMeasuredMustBeSaid) {
  EXPECT_EQ(Parse({"bench"}), kExitUsage);
  EXPECT_THAT(error_, HasSubstr("See interlude bench --help."));
}

TEST(BenchModes, DifferInExchangeAndPersistenceOnly) {
  const RunConfig config;
  EXPECT_EQ(ConfigOfMode(config, kPipelinedMode), config);
  RunConfig barrier = config;
  barrier.round.exchange = ExchangeMode::kBarrier;
  EXPECT_EQ(ConfigOfMode(config, kBarrierMode), barrier);
  barrier.round.persistence = PersistenceMode::kEveryRound;
  EXPECT_EQ(ConfigOfMode(config, kBarrierSaveMode), barrier);
}

TEST(BenchRoom, ThatIsMissingIsNamedWithASizeThatFits) {
  RunConfig config;
  config.model.synthetic_params = 100'000'000;
  EXPECT_TRUE(CheckMemory({}, 2).ok());
  EXPECT_TRUE(CheckDisk(testing::TempDir(), {}, 2, true).ok());
  config.model.synthetic_params = 100'000'000'000'000;
  const Status memory = CheckMemory({config}, 2);
  EXPECT_EQ(memory.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(memory.message()), HasSubstr("the coordinator 1200000.17 GB"));
  EXPECT_THAT(std::string(memory.message()), HasSubstr("such as --params "));
  const Status disk = CheckDisk(testing::TempDir(), {config}, 2, false);
  EXPECT_EQ(disk.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(disk.message()), HasSubstr("give another --dir or a smaller model"));
}

TEST(BenchDirectory, GoesAwayUnlessItIsKeptOrWasThere) {
  std::string path;
  {
    const auto directory = BenchDirectory::Create("", false);
    ASSERT_TRUE(directory.ok());
    path = directory->path();
    ASSERT_TRUE(directory->MakeRun("one").ok());
    EXPECT_EQ(directory->MakeRun("one").status().code(), StatusCode::kAlreadyExists);
    EXPECT_TRUE(std::filesystem::exists(path + "/one"));
    directory->RemoveRun("one");
    EXPECT_FALSE(std::filesystem::exists(path + "/one"));
  }
  EXPECT_FALSE(std::filesystem::exists(path));
  { ASSERT_TRUE(BenchDirectory::Create(path, true).ok()); }
  EXPECT_TRUE(std::filesystem::exists(path)) << "kept";
  { ASSERT_TRUE(BenchDirectory::Create(path, false).ok()); }
  EXPECT_TRUE(std::filesystem::exists(path)) << "it was there before";
  std::filesystem::remove_all(path);
}

TEST(BenchJson, GoesToTheFile) {
  const std::string path = testing::TempDir() + "/bench_options_test.json";
  ASSERT_TRUE(WriteBenchJson("{}\n", path).ok());
  std::ifstream file(path);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(file), {}), "{}\n");
  std::filesystem::remove(path);
  EXPECT_TRUE(WriteBenchJson("{}", "").ok());
  EXPECT_FALSE(WriteBenchJson("{}", "/no/such/directory/x").ok());
}

}  // namespace
}  // namespace interlude
