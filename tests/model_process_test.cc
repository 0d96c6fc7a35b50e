// `interlude model`, and pretrained weights from a file through the real programs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "cli/exit_codes.h"
#include "config/run_config.h"
#include "model/test_checkpoint.h"
#include "tests/process.h"
#include "train/test_images.h"

namespace interlude {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class ModelProcess : public testing::Test {
 protected:
  ModelProcess()
      : scratch_(testing::TempDir() + "/model-process-" + std::to_string(::getpid())),
        file_(scratch_ + "/model.safetensors") {
    std::filesystem::remove_all(scratch_);
    std::filesystem::create_directories(scratch_);
    config_.model.pretrained = file_;
    config_.model.dropout = 0.1;
    std::ofstream(scratch_ + "/run.toml") << FormatRunConfig(config_);
  }
  ~ModelProcess() override { std::filesystem::remove_all(scratch_); }

  void WriteFile(WeightNaming naming, const std::string& dtype = "F32") const {
    WriteCheckpoint(file_, CheckpointTensors(naming, config_.model, 2), dtype);
  }
  std::string Run(const std::string& name, int exit_code) const {
    Process run({INTERLUDE_PROGRAM, "run", "--workers", "2", "--config", scratch_ + "/run.toml",
                 "--dir", scratch_ + "/" + name, "--set", "round.rounds=1"});
    EXPECT_EQ(run.AwaitExit(), exit_code) << run.output();
    return run.output();
  }
  static std::string HashIn(const std::string& output) {
    const size_t at = output.find("agree on ");
    return at == std::string::npos ? "no hash in: " + output : output.substr(at + 9, 32);
  }

  RunConfig config_ = TinyImageRun(ModelKind::kVit);
  const std::string scratch_;
  const std::string file_;
};

TEST_F(ModelProcess, ListShowsEveryPresetWithItsParameters) {
  Process list({INTERLUDE_PROGRAM, "model", "list"});
  EXPECT_EQ(list.AwaitExit(), kExitOk);
  EXPECT_THAT(list.output(), AllOf(HasSubstr("vit_ti8 "), HasSubstr("86567656"),
                                   HasSubstr("vit_h14 "), HasSubstr("632045800")));
}

TEST_F(ModelProcess, InspectShowsTensorsModelAndWhatARunWouldTake) {
  WriteFile(WeightNaming::kTimm, "BF16");
  Process inspect({INTERLUDE_PROGRAM, "model", "inspect", file_, "--config", scratch_ + "/run.toml",
                   "--set", "model.classes=3"});
  EXPECT_EQ(inspect.AwaitExit(), kExitOk) << inspect.output();
  EXPECT_THAT(inspect.output(),
              AllOf(HasSubstr("blocks.*.attn.qkv.weight  BF16  [48, 16]  x 2"),
                    HasSubstr("by the file, model: hidden_size 16"), HasSubstr("names of timm"),
                    HasSubstr("newly made: 2: classifier.weight, classifier.bias")));
}

TEST_F(ModelProcess, InspectSaysWhatIsWrongWithAFile) {
  std::ofstream(file_) << "1234567";
  Process inspect({INTERLUDE_PROGRAM, "model", "inspect", file_});
  EXPECT_EQ(inspect.AwaitExit(), kExitFailed);
  EXPECT_THAT(inspect.output(), HasSubstr("less than its header's length takes"));
}

TEST_F(ModelProcess, RunsBeginWithTheFilesWeightsInWhicheverNamingTheyAre) {
  WriteFile(WeightNaming::kHuggingFace);
  const std::string hash = HashIn(Run("one", kExitOk));
  WriteFile(WeightNaming::kTorchvision);
  EXPECT_EQ(HashIn(Run("two", kExitOk)), hash);
  WriteCheckpoint(file_, CheckpointTensors(WeightNaming::kTorchvision, config_.model, 3));
  EXPECT_NE(HashIn(Run("three", kExitOk)), hash);
}

TEST_F(ModelProcess, AFileThatIsNotThereIsFoundBeforeAnythingIsMade) {
  EXPECT_THAT(Run("run", kExitUsage), HasSubstr(file_));
  EXPECT_FALSE(std::filesystem::exists(scratch_ + "/run"));
}

}  // namespace
}  // namespace interlude
