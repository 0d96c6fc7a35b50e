// Small runs through the real programs, and what `interlude predict` says of files with the models
// they saved.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "cli/exit_codes.h"
#include "config/run_config.h"
#include "images/test_pictures.h"
#include "tests/process.h"
#include "train/test_images.h"

namespace interlude {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;
using Arguments = std::vector<std::string>;
using Json = nlohmann::json;

class PredictProcess : public testing::Test {
 protected:
  PredictProcess() {
    std::filesystem::remove_all(scratch_);
    std::filesystem::create_directories(scratch_);
  }
  ~PredictProcess() override { std::filesystem::remove_all(scratch_); }

  void Write(const std::string& path, const std::string& bytes) const {
    const std::filesystem::path whole = scratch_ + "/" + path;
    std::filesystem::create_directories(whole.parent_path());
    std::ofstream(whole, std::ios::binary) << bytes;
  }

  /// Four classes: gray ones, and how a picture is turned; a third of the turned test pictures lies
  /// in a wrong folder, so that whatever is learned is not always right.
  RunConfig FolderRun() const {
    for (int i = 0; i < 24; ++i) {
      const std::string part = i % 2 == 0 ? "train" : "test";
      const int width = 24 + i % 5, height = 30 - i % 7;
      for (const int turned : {1, 3, 6}) {
        const int really = i % 6 == 1 ? 8 : turned;
        Write(fmt::format("photos/{}/turned{}/{}.jpg", part, turned, i),
              PictureFile(PictureKind::kColor, width, height, ".jpg", really));
      }
      Write(fmt::format("photos/{}/gray/{}.png", part, i),
            PictureFile(PictureKind::kGray, width, height, ".png"));
    }
    RunConfig config = TinyImageRun(ModelKind::kVit);
    config.data = {.name = "folder", .directory = scratch_ + "/photos"};
    config.model.channels = 3;
    config.model.classes = 4;
    config.train.batch = 8;
    config.train.warmup_steps = 1;
    return config;
  }

  void Run(const RunConfig& config, const Arguments& more = {},
           const std::string& name = "run") const {
    std::ofstream(scratch_ + "/run.toml") << FormatRunConfig(config);
    Arguments arguments = {INTERLUDE_PROGRAM,      "run",   "--workers",          "1", "--config",
                           scratch_ + "/run.toml", "--dir", scratch_ + "/" + name};
    arguments.insert(arguments.end(), more.begin(), more.end());
    Process run(arguments);
    ASSERT_EQ(run.AwaitExit(), kExitOk) << run.output();
  }

  // What a shell's command says, with the exit status before it.
  static std::string Shell(const std::string& command) {
    Process process(Arguments{"/bin/sh", "-c", command});
    const int status = process.AwaitExit();
    return std::to_string(status) + "\n" + process.output();
  }
  static std::string Predict(const std::string& arguments) {
    return Shell(std::string(INTERLUDE_PROGRAM) + " predict " + arguments);
  }

  static std::vector<Json> JsonLines(const std::string& arguments) {
    const std::string said = Predict("--json " + arguments + " 2>/dev/null");
    std::istringstream lines(said.substr(said.find('\n') + 1));
    std::vector<Json> all;
    for (std::string line; std::getline(lines, line);) all.push_back(Json::parse(line));
    return all;
  }

  const std::string scratch_ = testing::TempDir() + "/predict-" + std::to_string(::getpid());
  const std::string directory_ = scratch_ + "/run";
};

TEST_F(PredictProcess, PredictsOfTheTestFilesWhatEvaluateCounts) {
  Run(FolderRun(), {"--set", "outer.ema_decay=0.5"});
  for (const char* name : {"model.safetensors", "model-ema.safetensors"}) {
    const std::string model = directory_ + "/" + name;
    const std::string said = Shell(std::string(INTERLUDE_PROGRAM) + " evaluate --json " + model);
    ASSERT_EQ(said.substr(0, 2), "0\n") << said;
    const Json evaluation = Json::parse(said.substr(2));
    std::map<std::pair<std::string, std::string>, uint64_t> evaluated, predicted;
    const auto& classes = evaluation["classes"];
    for (const Json& cell : evaluation["confusion"]) {
      evaluated[{classes[cell[0].get<size_t>()]["name"], classes[cell[1].get<size_t>()]["name"]}] =
          cell[2].get<uint64_t>();
    }
    const auto lines = JsonLines(model + " " + scratch_ + "/photos/test");
    for (const Json& line : lines) {
      const std::filesystem::path file = line["file"].get<std::string>();
      ++predicted[{file.parent_path().filename(), line["top"][0]["class"].get<std::string>()}];
      double sum = 0;
      for (const Json& one : line["top"]) sum += one["probability"].get<double>();
      EXPECT_EQ(line["top"].size(), 4u);
      EXPECT_NEAR(sum, 1, 1e-9);
    }
    EXPECT_EQ(lines.size(), 48u);
    EXPECT_EQ(predicted, evaluated);
    EXPECT_GT(evaluated.size(), 4u) << "a model that is right, or always the same, shows little";
  }
}

TEST_F(PredictProcess, KeepsTheOrderOfFilesFoldersAndLists) {
  Run(FolderRun());
  const std::string photos = scratch_ + "/photos";
  Write("list", photos + "/test/gray/3.png\n" + photos + "/train/gray\n");
  const auto names = [&](const std::string& arguments) {
    std::string all;
    for (const Json& line : JsonLines(arguments)) {
      all += line["file"].get<std::string>().substr(photos.size()) + " ";
    }
    return all;
  };
  EXPECT_EQ(names("--top 1 --batch 3 " + directory_ + " " + photos + "/train/turned1/4.jpg - " +
                  photos + "/train/turned1/2.jpg <" + scratch_ + "/list"),
            "/train/turned1/4.jpg /test/gray/3.png /train/gray/0.png /train/gray/10.png "
            "/train/gray/12.png /train/gray/14.png /train/gray/16.png /train/gray/18.png "
            "/train/gray/2.png /train/gray/20.png /train/gray/22.png /train/gray/4.png "
            "/train/gray/6.png /train/gray/8.png /train/turned1/2.jpg ");
  const std::string text = Predict("--top 2 " + directory_ + " " + photos + "/test/gray/3.png");
  EXPECT_THAT(text, AllOf(HasSubstr("model.safetensors: after 6 rounds"),
                          HasSubstr(photos + "/test/gray/3.png\n"), HasSubstr(" %  ")));
  const std::string csv =
      Predict("--top 9 --csv " + directory_ + " " + photos + "/test/gray/3.png");
  EXPECT_THAT(csv, AllOf(HasSubstr("file,class_1,"), HasSubstr(",class_4,probability_4\n"),
                         HasSubstr(photos + "/test/gray/3.png,")));
  EXPECT_EQ(Predict("--json " + directory_ + " - </dev/null"), "0\n");
}

TEST_F(PredictProcess, WhatCannotBeReadIsNamedAndSkippedAndTheExitStatusSaysSo) {
  Run(FolderRun());
  const std::string good = scratch_ + "/photos/test/gray/3.png";
  Write("bad.jpg", "no picture");
  Write("empty/notes.txt", "");
  const std::string said = Predict(directory_ + " " + scratch_ + "/bad.jpg " + good + " " +
                                   scratch_ + "/empty " + scratch_ + "/absent.png");
  EXPECT_THAT(said, AllOf(StartsWith("3\n"), HasSubstr(good), HasSubstr("3 skipped, 1 predicted"),
                          HasSubstr("skipped: " + scratch_ + "/bad.jpg: not a JPEG"),
                          HasSubstr(scratch_ + "/empty: no pictures"),
                          HasSubstr(scratch_ + "/absent.png")));
  EXPECT_THAT(Predict(directory_ + " " + good),
              AllOf(StartsWith("0\n"), Not(HasSubstr("skipped"))));
  EXPECT_THAT(Predict(directory_ + " " + good + " >/dev/full"),
              AllOf(StartsWith("1\n"), HasSubstr("No space left")));
}

TEST_F(PredictProcess, AModelOfADataSetInMemoryTakesPictureFiles) {
  Run(TinyImageRun(ModelKind::kConvNet));
  Write("shirt.jpg", PictureFile(PictureKind::kCmyk, 90, 60, ".jpg"));
  Write("small.png", PictureFile(PictureKind::kWide, 3, 5, ".png"));
  const auto lines =
      JsonLines(directory_ + " " + scratch_ + "/shirt.jpg " + scratch_ + "/small.png");
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[0]["top"].size(), 5u);
}

TEST_F(PredictProcess, WhatIsNoUsableModelIsRefused) {
  const RunConfig config = FolderRun();
  Run(config);
  const std::string photo = " " + scratch_ + "/photos/test/gray/3.png";
  EXPECT_THAT(Predict(scratch_ + "/absent" + photo), AllOf(StartsWith("2\n"), HasSubstr("absent")));
  EXPECT_THAT(Predict(scratch_ + photo), AllOf(StartsWith("2\n"), HasSubstr("model.safetensors")));
  EXPECT_THAT(Predict(photo + photo), StartsWith("2\n"));
  EXPECT_THAT(Predict("--set model.image_size=12 " + directory_ + photo),
              AllOf(StartsWith("2\n"), HasSubstr("position_embeddings"), HasSubstr("shape")));
  EXPECT_THAT(Predict("--set train.device=cuda:77 " + directory_ + photo), HasSubstr("error: "));
  EXPECT_THAT(Predict("--set model.classes=3 " + directory_ + photo),
              AllOf(StartsWith("2\n"), HasSubstr("model.classes = 3"), HasSubstr("4 classes")));

  // The last value of the file, in the last tensor, is a NaN.
  const std::string model = directory_ + "/model.safetensors";
  std::fstream file(model, std::ios::binary | std::ios::in | std::ios::out);
  file.seekp(-4, std::ios::end);
  file.write("\x00\x00\xC0\x7F", 4);
  file.close();
  EXPECT_THAT(Predict(model + photo), AllOf(StartsWith("1\n"), HasSubstr(model),
                                            HasSubstr("parameter "), HasSubstr("is nan")));

  Run(config, {"--set", "model.kind=synthetic"}, "synthetic");
  EXPECT_THAT(Predict(scratch_ + "/synthetic" + photo),
              AllOf(StartsWith("2\n"), HasSubstr("synthetic")));
}

}  // namespace
}  // namespace interlude
