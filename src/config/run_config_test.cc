#include "config/run_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

namespace interlude {
namespace {

using testing::HasSubstr;

std::string ReadFile(const std::filesystem::path& path) {
  std::ifstream in(path);
  std::ostringstream out;
  out << in.rdbuf();
  return out.str();
}

std::string ErrorOf(std::string_view text) {
  const StatusOr<RunConfig> config = ParseRunConfig(text, "x.toml");
  if (config.ok()) return "no error";
  EXPECT_EQ(config.status().code(), StatusCode::kInvalidArgument);
  return config.status().message();
}

TEST(ParseRunConfig, GivesTheDefaultsForAnEmptyText) {
  const auto config = ParseRunConfig("", "x.toml");
  ASSERT_TRUE(config.ok()) << config.status().ToString();
  EXPECT_EQ(*config, RunConfig());
}

TEST(ParseRunConfig, SetsWhatTheTextNames) {
  const auto config = ParseRunConfig(R"(
seed = 7
[model]
hidden_size = 128
[train]
learning_rate = 1  # an integer is a number too
[round]
codec = "fp32"
error_feedback = true
[data]
directory = "/data/fashion"
)",
                                     "x.toml");
  ASSERT_TRUE(config.ok()) << config.status().ToString();
  RunConfig expected;
  expected.seed = 7;
  expected.model.hidden_size = 128;
  expected.train.learning_rate = 1.0;
  expected.round.codec = CodecKind::kFp32;
  expected.round.error_feedback = true;
  expected.data.directory = "/data/fashion";
  EXPECT_EQ(*config, expected);
}

TEST(ParseRunConfig, SuggestsTheNearestKeyForAMistypedOne) {
  EXPECT_EQ(ErrorOf("[round]\nrounds = 3\ncodex = \"q4\"\n"),
            "unknown key round.codex at x.toml:3:1; did you mean round.codec?");
  EXPECT_EQ(ErrorOf("sede = 3\n"), "unknown key sede at x.toml:1:1; did you mean seed?");
}

TEST(ParseRunConfig, SuggestsTheSectionWhereAMisplacedKeyBelongs) {
  EXPECT_EQ(ErrorOf("codec = \"q4\"\n"),
            "unknown key codec at x.toml:1:1; did you mean round.codec?");
  EXPECT_EQ(ErrorOf("[train]\nlocal_steps = 3\n"),
            "unknown key train.local_steps at x.toml:2:1; did you mean round.local_steps?");
  EXPECT_EQ(ErrorOf("evaluate_evry = 3\n"),
            "unknown key evaluate_evry at x.toml:1:1; did you mean round.evaluate_every?");
}

TEST(ParseRunConfig, ListsTheSectionsKeysWhenNoneIsNear) {
  EXPECT_EQ(ErrorOf("[data]\nzzzzzzzz = 3\n"),
            "unknown key data.zzzzzzzz at x.toml:2:1; keys of [data] are name, directory, "
            "sharing, train_limit, test_limit, train_csv, test_csv, test_share, bad_share, "
            "max_megapixels, decode_side, cache, cache_mb, loader_threads, prefetch");
  EXPECT_EQ(ErrorOf("zzzzzzzz = 3\n"),
            "unknown key zzzzzzzz at x.toml:1:1; keys outside every section are seed, threads");
}

TEST(ParseRunConfig, SuggestsTheNearestSection) {
  EXPECT_EQ(ErrorOf("[rouns]\ncodec = \"q4\"\n"),
            "unknown section [rouns] at x.toml:1:2; did you mean [round]?");
  EXPECT_EQ(ErrorOf("[optimizer]\n"),
            "unknown section [optimizer] at x.toml:1:2; sections are model, data, augment, train, "
            "round, outer");
}

TEST(ParseRunConfig, RefusesAValueWhereASectionBelongs) {
  EXPECT_EQ(ErrorOf("round = 3\n"),
            "round is a section at x.toml:1:1; write [round] and its keys below");
  EXPECT_THAT(ErrorOf("[[round]]\nrounds = 3\n"), HasSubstr("round is a section"));
}

TEST(ParseRunConfig, NamesTheRangeOfAValueOutsideIt) {
  EXPECT_EQ(ErrorOf("[round]\nlocal_steps = 0\n"),
            "round.local_steps = 0 is out of range 1 to 1000000 at x.toml:2:15");
  EXPECT_EQ(ErrorOf("[round]\nlocal_steps = -4\n"),
            "round.local_steps = -4 is out of range 1 to 1000000 at x.toml:2:15");
  EXPECT_EQ(ErrorOf("[train]\nbeta2 = 1.0\n"),
            "train.beta2 = 1.0 is out of range 0 to below 1 at x.toml:2:9");
  EXPECT_THAT(ErrorOf("[outer]\nlearning_rate = nan\n"), HasSubstr("out of range 0 to 100"));
}

TEST(ParseRunConfig, NamesTheTypeOfAValueOfAnother) {
  EXPECT_EQ(ErrorOf("[round]\nrounds = \"many\"\n"),
            "round.rounds must be an integer, 1 to 1000000, not a string at x.toml:2:10");
  EXPECT_EQ(ErrorOf("[round]\nrounds = 3.0\n"),
            "round.rounds must be an integer, 1 to 1000000, not a floating-point number at "
            "x.toml:2:10");
  EXPECT_EQ(ErrorOf("[round]\nerror_feedback = 1\n"),
            "round.error_feedback must be true or false, not an integer at x.toml:2:18");
  EXPECT_EQ(
      ErrorOf("[round]\ncodec = 4\n"),
      "round.codec must be a string, \"q4\", \"fp32\" or \"q8\", not an integer at x.toml:2:9");
  EXPECT_THAT(ErrorOf("[round.codec]\n"), HasSubstr("not a table"));
}

TEST(ParseRunConfig, NamesBothEndsOfARangeThatIsTurnedRound) {
  EXPECT_EQ(ErrorOf("[augment]\nscale_min = 0.5\nscale_max = 0.25\n"),
            "augment.scale_min = 0.5 is more than augment.scale_max = 0.25 at x.toml:3:13");
  EXPECT_THAT(ErrorOf("[augment]\nratio_min = 2.0\n"), HasSubstr("augment.ratio_max"));
  EXPECT_THAT(ErrorOf("[augment]\neval_crop = 0.1\n"), HasSubstr("or at least 0.25"));
}

TEST(ParseRunConfig, SuggestsTheNearestChoice) {
  EXPECT_EQ(
      ErrorOf("[round]\nexchange = \"pipeline\"\n"),
      "round.exchange = \"pipeline\" is not one of \"pipelined\" or \"barrier\"; did you mean "
      "\"pipelined\"? at x.toml:2:12");
  EXPECT_EQ(ErrorOf("[data]\nname = \"imagenet\"\n"),
            "data.name = \"imagenet\" is not one of \"fashion_mnist\", \"mnist\", \"cifar10\", "
            "\"cifar100\", \"pets\", \"folder\" or \"csv\" at x.toml:2:8");
}

TEST(ParseRunConfig, RefusesADirectoryThatIsEmptyOrHasControlCharacters) {
  EXPECT_THAT(ErrorOf("[data]\ndirectory = \"\"\n"), HasSubstr("data.directory must be neither"));
  EXPECT_THAT(ErrorOf("[data]\ndirectory = \"a\\nb\"\n"), HasSubstr("control characters"));
}

TEST(ParseRunConfig, RefusesANormBoundBelowTheMedian) {
  EXPECT_EQ(ErrorOf("[outer]\nnorm_bound = 0.5\n"),
            "outer.norm_bound = 0.5 would shorten the median delta too at x.toml:2:14; write 0 "
            "(off) or at least 1");
  EXPECT_EQ(ErrorOf("[outer]\nnorm_bound = 1\n"), "no error");
  EXPECT_THAT(ErrorOf("[outer]\ntrim = 0.5\n"), HasSubstr("out of range 0 to below 0.5"));
}

TEST(ParseRunConfig, APluginMayBeNoneAndHasNoControlCharacters) {
  EXPECT_EQ(ErrorOf("[outer]\nplugin = \"\"\nplugin_config = \"a=1, b\"\n"), "no error");
  EXPECT_THAT(ErrorOf("[outer]\nplugin_config = \"a\\nb\"\n"),
              HasSubstr("outer.plugin_config must not contain control characters"));
}

TEST(ParseRunConfig, NamesBothKeysWhenValuesDoNotFitTogether) {
  EXPECT_EQ(ErrorOf("[model]\nhidden_size = 90\n"),
            "model.hidden_size = 90 is not a multiple of model.heads = 4 at x.toml:2:15");
  EXPECT_EQ(ErrorOf("[model]\npatch_size = 5\n"),
            "model.image_size = 28 is not a multiple of model.patch_size = 5 at x.toml:2:14");
  EXPECT_EQ(ErrorOf("[round]\nchunk_params = 100\n"),
            "round.chunk_params = 100 is not a multiple of the block size = 64 at x.toml:2:16");
}

TEST(ParseRunConfig, DoesNotJudgeVitSizesOfOtherModels) {
  EXPECT_EQ(ErrorOf("[model]\nkind = \"convnet\"\nimage_size = 32\n"), "no error");
}

TEST(ParseRunConfig, ReportsTheFirstFaultInTheText) {
  EXPECT_THAT(ErrorOf("[train]\nbatch = 0\n[model]\nlayers = 0\n"), HasSubstr("train.batch"));
}

TEST(ParseRunConfig, SaysWhereTheSyntaxIsWrong) {
  EXPECT_THAT(ErrorOf("seed = 1\n[round\n"), HasSubstr("x.toml:2:"));
  EXPECT_THAT(ErrorOf("seed = 1\nseed = 2\n"), HasSubstr("x.toml:2:"));
}

TEST(ApplySettings, SetsValuesInOrder) {
  RunConfig config;
  ASSERT_TRUE(
      ApplySettings({"round.codec=fp32", "seed=5", "seed = 6", "round.error_feedback=true",
                     "train.learning_rate=3e-4", "data.directory=/tmp/a b", "outer.merge='mean'"},
                    config)
          .ok());
  EXPECT_EQ(config.round.codec, CodecKind::kFp32);
  EXPECT_EQ(config.seed, 6u);
  EXPECT_TRUE(config.round.error_feedback);
  EXPECT_EQ(config.train.learning_rate, 3e-4);
  EXPECT_EQ(config.data.directory, "/tmp/a b");
  EXPECT_EQ(config.outer.merge, MergeRuleKind::kMean);
}

TEST(ApplySettings, JudgesWhetherValuesFitOnlyAtTheEnd) {
  RunConfig config;
  EXPECT_TRUE(ApplySettings({"model.hidden_size=90", "model.heads=3"}, config).ok());
  EXPECT_EQ(config.model.hidden_size, 90u);
}

TEST(ApplySettings, LeavesTheConfigAloneOnAnError) {
  RunConfig config;
  EXPECT_FALSE(ApplySettings({"seed=5", "round.rounds=0"}, config).ok());
  EXPECT_FALSE(ApplySettings({"model.hidden_size=90"}, config).ok());
  EXPECT_EQ(config, RunConfig());
}

TEST(ApplySettings, NamesTheSettingInErrors) {
  RunConfig config;
  const auto error = [&](const std::string& setting) {
    return ApplySettings({setting}, config).message();
  };
  EXPECT_EQ(error("round.codex=q4"),
            "unknown key round.codex at setting 'round.codex=q4'; did you mean round.codec?");
  EXPECT_EQ(error("round.rounds=0"),
            "round.rounds = 0 is out of range 1 to 1000000 at setting 'round.rounds=0'");
  EXPECT_EQ(error("round.rounds=many"),
            "round.rounds must be an integer, 1 to 1000000, not a string at setting "
            "'round.rounds=many'");
  EXPECT_EQ(
      error("model.heads=5"),
      "model.hidden_size = 64 is not a multiple of model.heads = 5 at settings model.heads=5");
  EXPECT_EQ(error("round.codec"),
            "setting 'round.codec' has no '='; write KEY=VALUE, as round.codec=fp32");
  EXPECT_THAT(error("round=3"), HasSubstr("round is a section"));
}

TEST(ApplySettings, TakesNoSecondKeyInAValue) {
  RunConfig config;
  EXPECT_FALSE(ApplySettings({"seed=1\nthreads=2"}, config).ok());
}

TEST(ApplySettings, TakesNoTextThatCannotBeWrittenOut) {
  for (const std::string setting : {"outer.plugin=/a\x8e.so", "outer.plugin='/a\x8e.so'",
                                    "outer.plugin=\"/a.so", "outer.plugin='/a.so' x"}) {
    RunConfig config;
    const Status status = ApplySettings({setting}, config);
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument) << setting;
    EXPECT_THAT(status.message(), HasSubstr("the value is no text in UTF-8")) << setting;
  }
}

TEST(ParseRunConfig, AModelOfOnesOwnIsNamed) {
  EXPECT_EQ(ErrorOf("[model]\nkind = \"torchscript\"\nfile = \"net.pt\"\n"), "no error");
  EXPECT_EQ(ErrorOf("[model]\nkind = \"module\"\nmodule = \"net\"\n"), "no error");
  EXPECT_EQ(ErrorOf("[model]\nkind = \"torchscript\"\n"),
            "model.kind = \"torchscript\" and model.file belong together: give both or none at "
            "x.toml:2:8");
  EXPECT_THAT(ErrorOf("[model]\nfile = \"net.pt\"\n"),
              HasSubstr("give both or none at x.toml:2:8"));
  EXPECT_THAT(ErrorOf("[model]\nkind = \"module\"\nfile = \"net.pt\"\n"),
              HasSubstr("\"torchscript\" and model.file"));
  EXPECT_THAT(ErrorOf("[model]\nkind = \"module\"\n"), HasSubstr("\"module\" and model.module"));
}

TEST(ParseRunConfig, TakesTextsOnlyAsLongAsTheyCanBeWrittenOut) {
  const std::string longest(1024, '"');
  RunConfig config;
  ASSERT_TRUE(ApplySettings({"data.directory='" + longest + "'", "outer.plugin='" + longest + "'",
                             "outer.plugin_config='" + longest + "'"},
                            config)
                  .ok());
  const auto again = ParseRunConfig(FormatRunConfig(config), "again");
  ASSERT_TRUE(again.ok()) << again.status().ToString();
  EXPECT_EQ(*again, config);
  EXPECT_THAT(ErrorOf("[outer]\nplugin = '" + longest + "a'\n"),
              HasSubstr("outer.plugin has 1025 bytes; a text has at most 1024"));
}

TEST(Examples, AllParse) {
  int files = 0;
  for (const auto& file : std::filesystem::directory_iterator(INTERLUDE_EXAMPLES)) {
    if (file.path().extension() != ".toml") continue;
    ++files;
    const auto config = ParseRunConfig(ReadFile(file.path()), file.path().string());
    EXPECT_TRUE(config.ok()) << config.status().ToString();
  }
  EXPECT_GE(files, 2);
}

TEST(Examples, TheDemoRunsAtLeastTenRoundsOfTwentyLocalSteps) {
  const auto config = ParseRunConfig(
      ReadFile(std::filesystem::path(INTERLUDE_EXAMPLES) / "fashion_mnist.toml"), "demo");
  ASSERT_TRUE(config.ok());
  EXPECT_GE(config->round.rounds, 10u);
  EXPECT_EQ(config->round.local_steps, 20u);
}

}  // namespace
}  // namespace interlude
