// Plug-ins as users build them: what works, and every way to get one wrong.
#include "coordinator/merge_plugin.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>

#include "base/rng.h"
#include "coordinator/coordinator.h"
#include "coordinator/merger.h"
#include "interlude/merge_plugin.h"
#include "store/temporary_directory.h"

namespace interlude {
namespace {

using testing::AllOf;
using testing::HasSubstr;

std::string PluginPath(const std::string& name) {
  return std::string(INTERLUDE_TEST_PLUGINS "/") + name + ".so";
}

Status LoadError(const std::string& path, const std::string& config = "") {
  return MergePlugin::Load(path, config).status();
}

TEST(MergePlugin, SaysWhatItIs) {
  const auto plugin = MergePlugin::Load(PluginPath("mean_nesterov"), "").value();
  EXPECT_EQ(plugin->name(), "mean and nesterov");
  EXPECT_TRUE(plugin->merges() && plugin->steps());
  EXPECT_EQ(plugin->state_per_param(), 1u);
  std::ifstream file(PluginPath("mean_nesterov"), std::ios::binary);
  const std::vector<char> bytes{std::istreambuf_iterator<char>(file), {}};
  EXPECT_EQ(plugin->hash(), HashBytes(std::as_bytes(std::span(bytes))));
}

TEST(MergePlugin, AMissingFileIsNotFoundAndNamed) {
  const Status status = LoadError("/nowhere/rule.so");
  EXPECT_EQ(status.code(), StatusCode::kNotFound);
  EXPECT_THAT(status.message(), HasSubstr("/nowhere/rule.so"));
  EXPECT_FALSE(LoadError("/tmp").ok());
}

TEST(MergePlugin, AFileThatIsNoLibraryIsRefused) {
  const TemporaryDirectory directory;
  const std::string path = directory.path() + "/rule.so";
  std::ofstream(path) << "not a library";
  const Status status = LoadError(path);
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(status.message(), AllOf(HasSubstr(path), HasSubstr("cannot be loaded")));
}

TEST(MergePlugin, WhatDoesNotFitTheInterfaceIsRefusedWithPathAndReason) {
  const std::pair<const char*, const char*> cases[] = {
      {"no_entry", "has no function interlude_merge_plugin_v1"},
      {"other_abi", "is built for version 2 of the plug-in interface, this program has version 1"},
      {"nothing", "neither a merge nor an outer_step"},
      {"state_without_step", "wants state but has no outer_step"},
      {"too_much_state", "wants 9 values of state a parameter; at most 8"},
  };
  for (const auto& [name, reason] : cases) {
    const Status status = LoadError(PluginPath(name));
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument) << name;
    EXPECT_THAT(status.message(), AllOf(HasSubstr(PluginPath(name)), HasSubstr(reason)));
  }
}

TEST(MergePlugin, ChecksItsSettingsWhenItIsLoaded) {
  EXPECT_THAT(LoadError(PluginPath("mean_nesterov"), "refuse me").message(),
              HasSubstr("these settings are no good"));
  EXPECT_TRUE(LoadError(PluginPath("sign_agreement"), "agreement=0.6 momentum=0").ok());
  EXPECT_THAT(LoadError(PluginPath("sign_agreement"), "agreement=much").message(),
              HasSubstr("a setting has no number"));
  EXPECT_THAT(LoadError(PluginPath("sign_agreement"), "agrement=1").message(),
              HasSubstr("known settings are"));
}

TEST(MergePlugin, TheCoordinatorEndsBeforeItMakesAnythingWhenItsPluginDoesNotFit) {
  const TemporaryDirectory directory;
  CoordinatorOptions options;
  options.workers = 1;
  options.directory = directory.path() + "/run";
  options.listen = "127.0.0.1:0";
  options.config.outer.plugin = PluginPath("other_abi");
  const auto coordinator = Coordinator::Start(options, SystemClock(), nullptr);
  EXPECT_THAT(coordinator.status().message(), HasSubstr("is built for version 2"));
  EXPECT_FALSE(std::ifstream(options.directory + "/run.db").good());
}

// What a merger with a plug-in does.

constexpr size_t kParams = 1000;  // eight chunks, the last one short

RunConfig Config(CodecKind codec, const std::string& plugin, const std::string& settings = "") {
  RunConfig config;
  config.round.codec = codec;
  config.round.chunk_params = 128;
  if (!plugin.empty()) config.outer.plugin = PluginPath(plugin);
  config.outer.plugin_config = settings;
  return config;
}

std::unique_ptr<Merger> MakeMerger(const RunConfig& config) {
  const Layout layout = Layout::Create({{.name = "a", .shape = {kParams}}}, 128).value();
  auto merger = Merger::Create(layout, config).value();
  EXPECT_TRUE(merger->HashBase().ok());
  return merger;
}

/// Three workers' deltas of a chunk, merged. `settings` of the deltas follow from round and chunk.
Status MergeOne(Merger& merger, uint32_t round, uint32_t chunk) {
  const size_t count = merger.layout().chunk(chunk).count;
  const std::vector<float> zero(count);
  std::vector<std::vector<std::byte>> payloads(
      3, std::vector<std::byte>(EncodedBytes(merger.codec(), count)));
  Rng rng(round * 1000 + chunk);
  for (auto& payload : payloads) {
    std::vector<float> delta(count);
    for (float& value : delta) value = rng.Uniform() - 0.5f;
    Hash128 hash;
    EncodeDelta(merger.codec(), delta, zero, {}, payload, hash);
  }
  std::vector<std::byte> sync(payloads[0].size());
  PhaseTimer timer(Phase::kMerge, round, kNoWorker, SystemClock());
  return merger
      .MergeChunk({round, chunk, {{0, 100}, {1, 300}, {4, 70}}},
                  std::vector<std::span<const std::byte>>(payloads.begin(), payloads.end()), sync,
                  timer)
      .status();
}

/// Rounds of all chunks, in an order that changes from round to round: what is kept for one must
/// not show in another.
void MergeRounds(Merger& merger, uint32_t rounds) {
  for (uint32_t round = 1; round <= rounds; ++round) {
    for (uint32_t i = 0; i < merger.layout().num_chunks(); ++i) {
      const uint32_t chunk = (i * 5 + round) % merger.layout().num_chunks();
      ASSERT_TRUE(MergeOne(merger, round, chunk).ok());
    }
  }
}

class MergeWithPlugin : public testing::TestWithParam<CodecKind> {};

TEST_P(MergeWithPlugin, TheBuiltInRulesOnceMoreGiveTheirBits) {
  for (const double bound : {0.0, 1.0}) {
    RunConfig own = Config(GetParam(), "");
    own.outer.norm_bound = bound;
    const auto expected = MakeMerger(own);
    MergeRounds(*expected, 4);
    for (const char* plugin : {"mean_nesterov", "only_merge", "only_step"}) {
      RunConfig config = Config(GetParam(), plugin);
      config.outer.norm_bound = bound;
      const auto merger = MakeMerger(config);
      EXPECT_EQ(merger->state_per_param(), 1u);
      MergeRounds(*merger, 4);
      EXPECT_EQ(0, std::memcmp(expected->base().data(), merger->base().data(), kParams * 4))
          << plugin;
      EXPECT_EQ(expected->Root(), merger->Root()) << plugin;
    }
  }
}

TEST_P(MergeWithPlugin, AnOuterStepGoesWithEveryBuiltInRule) {
  for (const MergeRuleKind rule : {MergeRuleKind::kTrimmedMean, MergeRuleKind::kCoordinateMedian}) {
    RunConfig own = Config(GetParam(), "");
    RunConfig config = Config(GetParam(), "only_step");
    own.outer.merge = config.outer.merge = rule;
    const auto expected = MakeMerger(own);
    const auto merger = MakeMerger(config);
    MergeRounds(*expected, 2);
    MergeRounds(*merger, 2);
    EXPECT_EQ(expected->Root(), merger->Root());
  }
}

TEST_P(MergeWithPlugin, ItsErrorTextEndsTheMerge) {
  for (const auto& [settings, text] :
       {std::pair("merge error", "the moon is full"), std::pair("step error", "no step today")}) {
    const auto merger = MakeMerger(Config(GetParam(), "mean_nesterov", settings));
    const Status status = MergeOne(*merger, 3, 2);
    EXPECT_EQ(status.code(), StatusCode::kInternal);
    EXPECT_THAT(status.message(),
                AllOf(HasSubstr("mean and nesterov"), HasSubstr(PluginPath("mean_nesterov")),
                      HasSubstr("round 3, chunk 2"), HasSubstr(text)));
  }
}

TEST_P(MergeWithPlugin, AnExceptionIsCaught) {
  const auto merger = MakeMerger(Config(GetParam(), "throwing"));
  EXPECT_THAT(MergeOne(*merger, 1, 0).message(), HasSubstr("caught you"));
}

TEST_P(MergeWithPlugin, NotANumberIsAnErrorThatNamesParameterAndPlugin) {
  const auto merger = MakeMerger(Config(GetParam(), "mean_nesterov", "nan"));
  const Status status = MergeOne(*merger, 2, 7);
  EXPECT_EQ(status.code(), StatusCode::kDataLoss);
  EXPECT_THAT(status.message(), AllOf(HasSubstr("round 2"), HasSubstr("a[999]"),
                                      HasSubstr("the merge plug-in mean and nesterov")));
}

TEST_P(MergeWithPlugin, IsNotAskedWhereNobodyContributed) {
  const auto merger = MakeMerger(Config(GetParam(), "mean_nesterov", "merge error"));
  std::vector<std::byte> sync(EncodedBytes(merger->codec(), 128));
  PhaseTimer timer(Phase::kMerge, 1, kNoWorker, SystemClock());
  const Hash128 before = merger->chunk_hashes()[0];
  const auto hashes = merger->MergeChunk({1, 0, {}}, {}, sync, timer);
  ASSERT_TRUE(hashes.ok());
  EXPECT_EQ(hashes->base, before);
}

TEST_P(MergeWithPlugin, TheExampleMovesWhereWorkersAgree) {
  RunConfig config =
      Config(GetParam(), "sign_agreement", "agreement=0.5 learning_rate=1 momentum=0");
  config.outer.merge = MergeRuleKind::kMean;
  const auto merger = MakeMerger(config);
  std::vector<std::vector<std::byte>> payloads(
      3, std::vector<std::byte>(EncodedBytes(merger->codec(), 128)));
  for (size_t k = 0; k < 3; ++k) {
    std::vector<float> delta(128, 1.0f);
    if (k == 0) delta[5] = -1.0f;  // two of three: 1/3 < 0.5
    if (k == 1) delta[6] = 0.0f;   // two of three, nobody against: 2/3
    Hash128 hash;
    EncodeDelta(merger->codec(), delta, std::vector<float>(128), {}, payloads[k], hash);
  }
  std::vector<std::byte> sync(payloads[0].size());
  PhaseTimer timer(Phase::kMerge, 1, kNoWorker, SystemClock());
  ASSERT_TRUE(
      merger
          ->MergeChunk({1, 0, {{0, 9}, {1, 1}, {2, 1}}},
                       std::vector<std::span<const std::byte>>(payloads.begin(), payloads.end()),
                       sync, timer)
          .ok());
  EXPECT_NEAR(merger->base()[0], 1.0f, 0.01f);
  EXPECT_EQ(merger->base()[5], 0.0f);
  EXPECT_NEAR(merger->base()[6], 0.667f, 0.1f);
}

TEST_P(MergeWithPlugin, ARuleOfItsOwnDoesNotGoWithASortingOne) {
  RunConfig config = Config(GetParam(), "mean_nesterov");
  config.outer.merge = MergeRuleKind::kTrimmedMean;
  EXPECT_THAT(ChunkMerge::Create(config).status().message(),
              AllOf(HasSubstr("merges itself"), HasSubstr("outer.merge")));
}

INSTANTIATE_TEST_SUITE_P(Codecs, MergeWithPlugin,
                         testing::Values(CodecKind::kQ4, CodecKind::kQ8, CodecKind::kFp32),
                         [](const auto& codec) {
                           return CodecName(static_cast<Codec>(codec.param));
                         });

}  // namespace
}  // namespace interlude
