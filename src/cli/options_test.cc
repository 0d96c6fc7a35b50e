#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>

#include "cli/app.h"
#include "cli/exit_codes.h"
#include "cli/predict_options.h"
#include "cli/run_options.h"
#include "ledger/run_database.h"

namespace interlude {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

class OptionsTest : public testing::Test {
 protected:
  OptionsTest() {
    std::string pattern = testing::TempDir() + "/options-XXXXXX";
    directory_ = mkdtemp(pattern.data());
    CLI::App* run = app_.add_subcommand("run", "");
    AddRunOptions(*run, run_);
    AddListenOption(*run, run_.listen);
    run->callback([this] { chosen_ = [] { return 42; }; });
    CLI::App* worker = app_.add_subcommand("worker", "");
    AddWorkerOptions(*worker, worker_);
    worker->callback([this] { chosen_ = [] { return 43; }; });
    CLI::App* predict = app_.add_subcommand("predict", "");
    AddPredictOptions(*predict, predict_);
    predict->callback([this] { chosen_ = [] { return 44; }; });
    app_.require_subcommand(1);
  }

  int Run(std::vector<const char*> arguments) {
    arguments.insert(arguments.begin(), "interlude");
    testing::internal::CaptureStderr();
    testing::internal::CaptureStdout();
    const int exit_code = RunApp(
        app_, [this] { return chosen_(); }, static_cast<int>(arguments.size()), arguments.data());
    testing::internal::GetCapturedStdout();
    error_ = testing::internal::GetCapturedStderr();
    return exit_code;
  }

  std::string WriteConfig(const std::string& text) const {
    const std::string path = directory_ + "/run.toml";
    std::ofstream(path) << text;
    return path;
  }

  CLI::App app_{"", "interlude"};
  RunOptions run_;
  WorkerCommandOptions worker_;
  PredictCommandOptions predict_;
  Action chosen_;
  std::string directory_;
  std::string error_;
};

TEST_F(OptionsTest, ReadsWhatARunNeeds) {
  EXPECT_EQ(Run({"run", "--workers", "3", "--config", "a.toml", "--dir", "d", "--set",
                 "round.rounds=2", "--set", "seed=7", "train.batch=8", "--threads", "4", "--quiet",
                 "--listen", "0.0.0.0:0"}),
            42);
  EXPECT_EQ(run_.workers, 3);
  EXPECT_EQ(run_.config.path, "a.toml");
  EXPECT_THAT(run_.config.settings, ElementsAre("round.rounds=2", "seed=7", "train.batch=8"));
  EXPECT_EQ(run_.directory, "d");
  EXPECT_EQ(run_.threads, 4);
  EXPECT_EQ(run_.listen, "0.0.0.0:0");
  EXPECT_TRUE(run_.quiet);
}

TEST_F(OptionsTest, DevicesAreANumberOrAListAndTheTimeoutHasADefault) {
  EXPECT_EQ(Run({"worker", "--coordinator", "h:1", "--devices", "2"}), 43);
  EXPECT_EQ(worker_.ranks.devices, "2");
  EXPECT_EQ(worker_.ranks.timeout_s, kRankTimeoutSeconds);
  EXPECT_EQ(Run({"worker", "--coordinator", "h:1", "--devices", "2", "--rank-timeout", "0"}),
            kExitUsage);
  EXPECT_THAT(error_, HasSubstr("--rank-timeout"));
}

TEST_F(OptionsTest, AMissingOptionIsAUsageErrorThatNamesIt) {
  EXPECT_EQ(Run({"run", "--workers", "3", "--dir", "d"}), kExitUsage);
  EXPECT_THAT(error_, HasSubstr("--config is required"));
  EXPECT_THAT(error_, HasSubstr("See interlude run --help"));
}

TEST_F(OptionsTest, AMistypedOptionGetsTheNearestOne) {
  EXPECT_EQ(Run({"run", "--wrokers", "3", "--config", "a", "--dir", "d", "--workers", "2"}),
            kExitUsage);
  EXPECT_THAT(error_, HasSubstr("--wrokers"));
  EXPECT_THAT(error_, HasSubstr("Did you mean --workers?"));
  EXPECT_EQ(Run({"rnu"}), kExitUsage);
  EXPECT_THAT(error_, HasSubstr("there is no subcommand rnu. Did you mean run?"));
  EXPECT_EQ(Run({"--hepl"}), kExitUsage);
  EXPECT_THAT(error_, HasSubstr("Did you mean --help?"));
}

TEST_F(OptionsTest, AValueOutOfRangeIsAUsageErrorWithTheRange) {
  EXPECT_EQ(Run({"run", "--workers", "0", "--config", "a", "--dir", "d"}), kExitUsage);
  EXPECT_THAT(error_, HasSubstr("--workers"));
  EXPECT_THAT(error_, HasSubstr("1 to 1024"));
  EXPECT_EQ(Run({"run", "--workers", "two", "--config", "a", "--dir", "d"}), kExitUsage);
  EXPECT_THAT(error_, HasSubstr("two"));
}

TEST_F(OptionsTest, AnAddressNeedsAHostAndAPort) {
  for (const char* wrong :
       {"localhost", ":50051", "localhost:", "localhost:65536", "localhost:x", "localhost:-1"}) {
    EXPECT_EQ(Run({"worker", "--coordinator", wrong}), kExitUsage) << wrong;
    EXPECT_THAT(error_, HasSubstr(wrong));
  }
  EXPECT_EQ(Run({"worker", "--coordinator", "localhost:0"}), kExitUsage);
  EXPECT_THAT(error_, HasSubstr("from 1 to 65535"));
  EXPECT_EQ(Run({"worker", "--coordinator", "[::1]:50051", "--id", "2"}), 43);
}

TEST_F(OptionsTest, AWorkersCommandGivesTheSameOptions) {
  EXPECT_EQ(Run({"worker", "--coordinator", "h:1", "--id", "0", "--threads", "2"}), 43);
  EXPECT_THAT(WorkerCommand("/bin/w", worker_),
              ElementsAre("/bin/w", "--coordinator", "h:1", "--id", "0", "--threads", "2"));
  EXPECT_EQ(Run({"worker", "--coordinator", "h:1", "--devices", "cuda:0,cuda:1", "--rank-timeout",
                 "9", "--reconnect-for", "5", "--finish-round"}),
            43);
  EXPECT_THAT(WorkerCommand("w", worker_),
              ElementsAre("w", "--coordinator", "h:1", "--id", "0", "--threads", "2", "--devices",
                          "cuda:0,cuda:1", "--rank-timeout", "9", "--reconnect-for", "5",
                          "--finish-round"));
  EXPECT_THAT(WorkerCommand("w", {.coordinator = "h:1"}), ElementsAre("w", "--coordinator", "h:1"));
  EXPECT_EQ(Run({"worker", "--coordinator", "h:1", "--keys", "some keys"}), 43);
  EXPECT_THAT(WorkerCommand("w", {.coordinator = "h:1", .security = worker_.security}),
              ElementsAre("w", "--coordinator", "h:1", "--keys", "some keys"));
  EXPECT_THAT(WorkerCommand("w", {.coordinator = "h:1", .security = {.insecure = true}}),
              ElementsAre("w", "--coordinator", "h:1", "--insecure"));
}

TEST_F(OptionsTest, AWorkerIsTrainedOnDataOfItsOwnWhereItIsGivenSome) {
  EXPECT_EQ(Run({"worker", "--coordinator", "h:1", "--data", directory_.c_str()}), 43);
  EXPECT_THAT(WorkerCommand("w", worker_),
              ElementsAre("w", "--coordinator", "h:1", "--data", directory_));
  EXPECT_EQ(Run({"worker", "--coordinator", "h:1", "--data", "/no/such/place"}), kExitUsage);
  RunConfig config;
  EXPECT_EQ(WithOwnData(config, "")->data.directory, config.data.directory);
  EXPECT_EQ(WithOwnData(config, "/own")->data.directory, "/own");
  config.data.sharing = SharingKind::kLocal;
  EXPECT_EQ(WithOwnData(config, "/own")->data.directory, "/own");
  EXPECT_THAT(WithOwnData(config, "").status().message(), HasSubstr("--data DIR"));
  config.model.kind = ModelKind::kSynthetic;
  EXPECT_TRUE(WithOwnData(config, "").ok());
}

TEST_F(OptionsTest, ARunNeedsADirectoryForEachWorkerWhereDataAreLocalAndElseNone) {
  RunConfig config;
  RunOptions options{.workers = 2};
  EXPECT_TRUE(CheckWorkersData(options, config).ok());
  options.data = {"a", "b"};
  EXPECT_THAT(CheckWorkersData(options, config).message(), HasSubstr("data.sharing = \"local\""));
  config.data.sharing = SharingKind::kLocal;
  EXPECT_TRUE(CheckWorkersData(options, config).ok());
  options.data.pop_back();
  EXPECT_THAT(
      CheckWorkersData(options, config).message(),
      HasSubstr("give each of the 2 workers its own directory, --data DIR DIR ...; given: 1"));
  options.data.clear();
  EXPECT_THAT(CheckWorkersData(options, config).message(), HasSubstr("given: 0"));
  config.model.kind = ModelKind::kSynthetic;
  EXPECT_TRUE(CheckWorkersData(options, config).ok());
  options.data = {"a"};
  EXPECT_FALSE(CheckWorkersData(options, config).ok()) << "worker 1 would have none";
}

TEST_F(OptionsTest, PredictTakesAModelThenFilesAndGivesTheSameOptionsOn) {
  EXPECT_EQ(Run({"predict", "runs/1", "a.jpg", "-", "b c"}), 44);
  EXPECT_EQ(predict_.model, "runs/1");
  EXPECT_THAT(PredictCommand("w", predict_),
              ElementsAre("w", "predict", "--top", "5", "--", "runs/1", "a.jpg", "-", "b c"));
  EXPECT_EQ(Run({"predict", "--top", "2", "--batch", "9", "--set", "train.device=cpu", "runs/2",
                 "a.jpg", "--set", "data.prefetch=3", "b.jpg"}),
            44);
  const auto command = PredictCommand("w", predict_);
  EXPECT_THAT(command,
              ElementsAre("w", "predict", "--top", "2", "--batch", "9", "--set", "train.device=cpu",
                          "--set", "data.prefetch=3", "--", "runs/2", "a.jpg", "b.jpg"));
  const auto again = predict_;
  std::vector<const char*> words;
  for (size_t i = 1; i < command.size(); ++i) words.push_back(command[i].c_str());
  EXPECT_EQ(Run(words), 44);
  EXPECT_EQ(PredictCommand("w", predict_), PredictCommand("w", again));
  EXPECT_EQ(Run({"predict", "--threads", "3", "--json", "--set", "seed=1", "--", "m", "-x.jpg"}),
            44);
  EXPECT_THAT(PredictCommand("w", predict_),
              ElementsAre("w", "predict", "--top", "2", "--batch", "9", "--set", "seed=1",
                          "--threads", "3", "--json", "--", "m", "-x.jpg"));
}

TEST_F(OptionsTest, PredictRefusesWhatItCannotDo) {
  EXPECT_EQ(Run({"predict", "m"}), kExitUsage);
  EXPECT_THAT(error_, HasSubstr("FILE is required"));
  EXPECT_EQ(Run({"predict", "m", "f", "--json", "--csv"}), kExitUsage);
  EXPECT_THAT(error_, HasSubstr("--csv"));
  EXPECT_EQ(Run({"predict", "m", "f", "--top", "0"}), kExitUsage);
  EXPECT_EQ(Run({"predict", "m", "f", "--batch", "0"}), kExitUsage);
}

TEST_F(OptionsTest, KeysAndInsecureContradictEachOther) {
  EXPECT_EQ(Run({"worker", "--coordinator", "h:1", "--insecure", "--keys", "k"}), kExitUsage);
  EXPECT_THAT(error_, HasSubstr("--insecure"));
}

TEST_F(OptionsTest, SettingsStandAboveTheFile) {
  const auto config =
      LoadRunConfig({WriteConfig("seed = 3\n[round]\nrounds = 9\n"), {"round.rounds=2"}});
  ASSERT_TRUE(config.ok()) << config.status().ToString();
  EXPECT_EQ(config->seed, 3u);
  EXPECT_EQ(config->round.rounds, 2u);
}

TEST_F(OptionsTest, AMistypedKeyGetsTheNearestOneWithItsPlace) {
  const std::string path = WriteConfig("[round]\nruonds = 9\n");
  const auto config = LoadRunConfig({path, {}});
  ASSERT_FALSE(config.ok());
  EXPECT_THAT(config.status().message(), HasSubstr(path + ":2"));
  EXPECT_THAT(config.status().message(), HasSubstr("round.rounds"));
  EXPECT_EQ(ExitCodeFor(config.status()), kExitUsage);
}

TEST_F(OptionsTest, AConfigurationThatCannotBeReadIsNamed) {
  const auto absent = LoadRunConfig({directory_ + "/absent.toml", {}});
  ASSERT_FALSE(absent.ok());
  EXPECT_THAT(absent.status().message(), HasSubstr(directory_ + "/absent.toml"));
  EXPECT_EQ(ExitCodeFor(absent.status()), kExitUsage);
  const auto directory = LoadRunConfig({directory_, {}});
  ASSERT_FALSE(directory.ok());
  EXPECT_THAT(directory.status().message(), HasSubstr("is a directory"));
}

TEST_F(OptionsTest, ADirectoryThatHoldsAFinishedRunIsRefused) {
  EXPECT_TRUE(CheckRunDirectory(directory_).ok());
  EXPECT_TRUE(CheckRunDirectory(directory_ + "/not/there/yet").ok());
  {
    const auto database = RunDatabase::Create(directory_ + "/run.db").value();
    EXPECT_TRUE(CheckRunDirectory(directory_).ok()) << "it is gone on with";
    EXPECT_TRUE(database->SetMeta(kMetaOutcome, "finished").ok());
  }
  const Status status = CheckRunDirectory(directory_);
  EXPECT_EQ(status.code(), StatusCode::kAlreadyExists);
  EXPECT_THAT(status.message(), HasSubstr("choose another --dir"));
  EXPECT_EQ(CheckRunDirectory(directory_ + "/run.db").code(), StatusCode::kInvalidArgument);
}

TEST_F(OptionsTest, WorkersShareTheUsableCores) {
  const CpuLimits limits = {.visible_cores = 64, .affinity_cores = 8, .quota_cores = 6.5};
  RunConfig config;
  EXPECT_EQ(WorkerThreads(0, config, limits, 2), 3);
  EXPECT_EQ(WorkerThreads(0, config, limits, 9), 1);
  config.threads = 5;
  EXPECT_EQ(WorkerThreads(0, config, limits, 2), 5);
  EXPECT_EQ(WorkerThreads(2, config, limits, 2), 2);
}

}  // namespace
}  // namespace interlude
