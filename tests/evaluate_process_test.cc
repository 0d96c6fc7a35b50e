// A small run on pictures through the real programs, and what `interlude evaluate` says of the
// models it saved.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "cli/exit_codes.h"
#include "config/run_config.h"
#include "ledger/run_database.h"
#include "tests/process.h"
#include "train/test_images.h"

namespace interlude {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using Arguments = std::vector<std::string>;

class EvaluateProcess : public testing::Test {
 protected:
  EvaluateProcess() {
    std::filesystem::remove_all(scratch_);
    std::filesystem::create_directories(scratch_);
  }
  ~EvaluateProcess() override { std::filesystem::remove_all(scratch_); }

  void Run(const Arguments& more) {
    RunConfig config = TinyImageRun(ModelKind::kVit);
    std::ofstream(scratch_ + "/run.toml") << FormatRunConfig(config);
    Arguments arguments = {INTERLUDE_PROGRAM,      "run",   "--workers", "2", "--config",
                           scratch_ + "/run.toml", "--dir", directory_};
    arguments.insert(arguments.end(), more.begin(), more.end());
    Process run(arguments);
    ASSERT_EQ(run.AwaitExit(), kExitOk) << run.output();
  }

  // What it says, with the exit status before it.
  static std::string Evaluate(Arguments arguments) {
    arguments.insert(arguments.begin(), {INTERLUDE_PROGRAM, "evaluate"});
    Process process(arguments);
    const int status = process.AwaitExit();
    return std::to_string(status) + "\n" + process.output();
  }

  static nlohmann::json Json(const std::string& model) {
    const std::string said = Evaluate({model, "--json", "--threads", "1"});
    EXPECT_EQ(said.substr(0, 2), "0\n") << said;
    return nlohmann::json::parse(said.substr(2), nullptr, /*allow_exceptions=*/false);
  }

  const std::string scratch_ = testing::TempDir() + "/evaluate-" + std::to_string(::getpid());
  const std::string directory_ = scratch_ + "/run";
};

TEST_F(EvaluateProcess, SaysOfASavedModelWhatItsRunSaid) {
  for (const char* device : {"cpu", "cpu_tensors"}) {
    std::filesystem::remove_all(directory_);
    Run({"--set", "round.evaluate_every=2", "--set", "outer.ema_decay=0.9", "--set",
         std::string("train.device=") + device});
    auto database = RunDatabase::OpenReadOnly(directory_ + "/run.db");
    ASSERT_TRUE(database.ok());
    const auto evaluations = (*database)->Evaluations().value();
    ASSERT_FALSE(evaluations.empty());
    const EvaluationRecord& last = evaluations.back();
    EXPECT_EQ(last.classes, 10u);
    EXPECT_FALSE(last.confusion.empty());

    const auto json = Json(directory_ + "/model.safetensors");
    EXPECT_EQ(json["after_rounds"], last.after_rounds);
    EXPECT_EQ(json["samples"], kTinyTestImages);
    EXPECT_EQ(json["correct"], last.correct);
    EXPECT_EQ(json["top5"], last.top5);
    EXPECT_EQ(json["confusion"].size(), last.confusion.size());
    EXPECT_EQ(json["classes"][0]["name"], "T-shirt/top");

    uint64_t best = 0;
    for (const EvaluationRecord& one : evaluations) best = std::max(best, one.correct);
    EXPECT_EQ(Json(directory_ + "/model-best.safetensors")["correct"], best);
    EXPECT_EQ(Json(directory_ + "/model-ema.safetensors")["samples"], kTinyTestImages);
  }
}

TEST_F(EvaluateProcess, IsATableForPeopleAndTakesAnotherDataSet) {
  Run({});
  const std::string model = directory_ + "/model.safetensors";
  const std::string elsewhere = scratch_ + "/data";
  std::filesystem::copy(TinyImageRun(ModelKind::kVit).data.directory, elsewhere);
  const std::string text = Evaluate({model, "--data", elsewhere, "--set", "data.test_limit=20"});
  EXPECT_THAT(text, AllOf(HasSubstr("Accuracy "), HasSubstr("top 5: "),
                          HasSubstr("20 test samples of fashion_mnist in " + elsewhere),
                          HasSubstr("taken for most"), HasSubstr("Ankle boot")));
  EXPECT_THAT(Evaluate({model, "--data", scratch_ + "/absent"}),
              AllOf(HasSubstr("2\n"), HasSubstr(scratch_ + "/absent")));
  EXPECT_THAT(Evaluate({model, "--set", "data.nane=x"}), HasSubstr("data.nane"));
  EXPECT_THAT(Evaluate({model, "--set", "model.layers=3"}),
              AllOf(HasSubstr("has no tensor"), HasSubstr("encoder.layer.2")));
}

TEST_F(EvaluateProcess, WhatIsNoModelOfARunIsRefused) {
  EXPECT_THAT(Evaluate({scratch_ + "/absent.safetensors"}), HasSubstr("absent.safetensors"));
  std::ofstream(scratch_ + "/x.safetensors") << "no model";
  EXPECT_THAT(Evaluate({scratch_ + "/x.safetensors"}), HasSubstr("x.safetensors"));
  const std::string foreign = INTERLUDE_SOURCE_DIR "/testdata/safetensors";
  for (const auto& entry : std::filesystem::directory_iterator(foreign)) {
    if (entry.path().extension() != ".safetensors") continue;
    EXPECT_THAT(Evaluate({entry.path().string()}), HasSubstr("error: "));
  }
  EXPECT_EQ(Evaluate({}).substr(0, 2), "2\n");
}

}  // namespace
}  // namespace interlude
