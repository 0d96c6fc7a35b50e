// Runs whose workers have pictures of their own, through the real programs: what is learned of them
// and what leaves a worker.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "cli/exit_codes.h"
#include "config/run_config.h"
#include "images/test_pictures.h"
#include "ledger/run_database.h"
#include "tests/process.h"
#include "train/test_images.h"

namespace interlude {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::Not;
using Arguments = std::vector<std::string>;

class LocalDataProcess : public testing::Test {
 protected:
  LocalDataProcess() {
    fs::remove_all(scratch_);
    fs::create_directories(scratch_);
    RunConfig config = TinyImageRun(ModelKind::kVit);
    config.data = {.name = "folder", .directory = "/nowhere", .sharing = SharingKind::kLocal};
    config.model.channels = 3;
    config.model.classes = 3;
    config.train.batch = 8;
    config.train.warmup_steps = 1;
    std::ofstream(scratch_ + "/run.toml") << FormatRunConfig(config);
    // Of three classes worker 1 lacks one, and has more of the others.
    MakeSite("ward0", {"gray", "flat", "turned"}, 12);
    MakeSite("ward1", {"gray", "turned"}, 20);
  }
  ~LocalDataProcess() override { fs::remove_all(scratch_); }

  void Write(const std::string& path, const std::string& bytes) const {
    const fs::path whole = scratch_ + "/" + path;
    fs::create_directories(whole.parent_path());
    std::ofstream(whole, std::ios::binary) << bytes;
  }

  void MakeSite(const std::string& site, const Arguments& classes, int pictures) const {
    Write(site + "/classes.txt", "flat\ngray\nturned\n");
    for (const std::string& name : classes) {
      for (int i = 0; i < pictures; ++i) {
        const PictureKind kind = name == "gray" ? PictureKind::kGray : PictureKind::kColor;
        Write(fmt::format("{}/{}/{}/jane-doe-{}.jpg", site, i % 4 == 0 ? "test" : "train", name, i),
              PictureFile(kind, 20 + i, 30, ".jpg", name == "turned" ? 6 : 1));
      }
    }
  }

  Process Run(const Arguments& more) const {
    Arguments arguments = {INTERLUDE_PROGRAM,      "run",   "--workers", "2", "--config",
                           scratch_ + "/run.toml", "--dir", directory_};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return Process(arguments);
  }
  Arguments Sites() const { return {"--data", scratch_ + "/ward0", scratch_ + "/ward1"}; }

  static std::string Read(const fs::path& path) {
    std::stringstream text;
    text << std::ifstream(path, std::ios::binary).rdbuf();
    return text.str();
  }

  /// Files of the run that hold the text, besides the workers' own logs.
  std::vector<std::string> FilesWith(const std::string& text) const {
    std::vector<std::string> found;
    for (const auto& entry : fs::recursive_directory_iterator(directory_)) {
      const std::string name = entry.path().filename();
      if (!entry.is_regular_file() || name.starts_with("worker")) continue;
      if (Read(entry.path()).find(text) != std::string::npos) found.push_back(name);
    }
    return found;
  }

  const std::string scratch_ = testing::TempDir() + "/local-data-" + std::to_string(::getpid());
  const std::string directory_ = scratch_ + "/run";
};

TEST_F(LocalDataProcess, WorkersTrainOnTheirOwnAndOnlyCountsAndNamesOfClassesLeaveThem) {
  Arguments arguments = Sites();
  arguments.insert(arguments.end(), {"--set", "round.evaluate_every=2"});
  Process run = Run(arguments);
  ASSERT_EQ(run.AwaitExit(), kExitOk) << run.output();
  const auto database = RunDatabase::OpenReadOnly(directory_ + "/run.db").value();
  EXPECT_EQ(database->ClassCounts().value(),
            (std::vector<ClassCountsRecord>{{.worker = 0, .counts = {{9, 9, 9}, {3, 3, 3}}},
                                            {.worker = 1, .counts = {{0, 15, 15}, {0, 5, 5}}}}));
  const auto evaluations = database->Evaluations().value();
  ASSERT_EQ(evaluations.size(), 3u);
  for (const EvaluationRecord& evaluation : evaluations) EXPECT_EQ(evaluation.samples, 19u);
  for (const WorkerRoundRecord& part : database->WorkerRounds().value())
    EXPECT_EQ(part.samples, 40u) << "five steps of eight, whatever a worker has";

  EXPECT_THAT(FilesWith("jane-doe"), testing::IsEmpty());
  EXPECT_THAT(FilesWith("/ward"), testing::IsEmpty());

  Process report(Arguments{INTERLUDE_PROGRAM, "report", directory_});
  ASSERT_EQ(report.AwaitExit(), kExitOk);
  EXPECT_THAT(report.output(), HasSubstr("  worker 1     flat"));
  Process json(Arguments{INTERLUDE_PROGRAM, "report", "--json", directory_});
  ASSERT_EQ(json.AwaitExit(), kExitOk);
  const auto data = nlohmann::json::parse(json.output())["data"];
  EXPECT_EQ(data["counts"][1]["train_pictures"], nlohmann::json({0, 15, 15}));

  Process nowhere(Arguments{INTERLUDE_PROGRAM, "evaluate", directory_});
  EXPECT_EQ(nowhere.AwaitExit(), kExitUsage);
  EXPECT_THAT(nowhere.output(), HasSubstr("--data DIR"));
  Process score(
      Arguments{INTERLUDE_PROGRAM, "evaluate", "--data", scratch_ + "/ward1", directory_});
  EXPECT_EQ(score.AwaitExit(), kExitOk) << score.output();
  EXPECT_THAT(score.output(), HasSubstr("10 test samples"));
}

#ifdef INTERLUDE_HAS_GLOO
TEST_F(LocalDataProcess, DevicesOfOneWorkerShareItsPicturesAndEachIsScoredOnce) {
  Arguments arguments = Sites();
  arguments.insert(arguments.end(), {"--devices", "2", "--set", "round.evaluate_every=2"});
  Process run = Run(arguments);
  ASSERT_EQ(run.AwaitExit(), kExitOk) << run.output();
  const auto database = RunDatabase::OpenReadOnly(directory_ + "/run.db").value();
  for (const EvaluationRecord& evaluation : database->Evaluations().value())
    EXPECT_EQ(evaluation.samples, 19u);
  for (const WorkerRoundRecord& part : database->WorkerRounds().value())
    EXPECT_EQ(part.samples, 40u);
}
#endif

TEST_F(LocalDataProcess, AFileThatCannotBeReadIsNamedInItsWorkersLogAlone) {
  for (int i = 1; i < 20; i += 2) Write(fmt::format("ward1/train/gray/jane-doe-{}.jpg", i), "-");
  Process run = Run(Sites());
  EXPECT_NE(run.AwaitExit(), kExitOk) << run.output();
  EXPECT_THAT(Read(directory_ + "/logs/worker-1.log"), HasSubstr("jane-doe"));
  EXPECT_THAT(FilesWith("jane-doe"), testing::IsEmpty());
  EXPECT_THAT(FilesWith("its own log says more"), Not(testing::IsEmpty()));
}

TEST_F(LocalDataProcess, WorkersWithOtherClassesAreRefusedWithTheFirstDifference) {
  Write("ward1/classes.txt", "gray\nflat\nturned\n");
  Process run = Run(Sites());
  EXPECT_EQ(run.AwaitExit(), kExitFailed) << run.output();
  EXPECT_THAT(run.output(), HasSubstr("'s data differ: class 0 is "));
  EXPECT_THAT(run.output(), HasSubstr("give all workers the same classes"));
}

TEST_F(LocalDataProcess, ARunWithoutADirectoryForEachWorkerDoesNotBegin) {
  Process run = Run({"--data", scratch_ + "/ward0"});
  EXPECT_EQ(run.AwaitExit(), kExitUsage);
  EXPECT_THAT(run.output(), HasSubstr("give each of the 2 workers its own directory"));
  EXPECT_FALSE(fs::exists(directory_));
}

}  // namespace
}  // namespace interlude
