// Properties of reading and writing, over random configs and damaged texts.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "base/rng.h"
#include "config/keys.h"
#include "config/run_config.h"

namespace interlude {
namespace {

using testing::HasSubstr;

uint64_t RandomInteger(const Key& key, Rng& rng) {
  const uint64_t width = key.most - key.least;
  // Half of the time near the lower end, where the interesting values are.
  return key.least +
         (rng.Below(2) == 0 ? rng.Below(std::min<uint64_t>(width, 100) + 1) : rng.Below(width + 1));
}

KeyValue RandomValue(const Key& key, Rng& rng) {
  switch (key.type) {
    case KeyType::kInteger:
      return RandomInteger(key, rng);
    case KeyType::kNumber: {
      const double share = static_cast<double>(rng() >> 11) * 0x1p-53;
      return key.low + (key.high - key.low) * share * (rng.Below(2) == 0 ? 1.0 : 1e-9);
    }
    case KeyType::kBoolean:
      return rng.Below(2) == 1;
    case KeyType::kChoice:
      return std::string(key.choices[rng.Below(key.choices.size())]);
    case KeyType::kText:
      break;
  }
  constexpr std::string_view kLetters = "aB3 _/.\"\\'#=[]{}\xC3\xA9";
  std::string text = "/";
  for (uint64_t i = rng.Below(12); i > 0; --i) text += kLetters[rng.Below(kLetters.size() - 2)];
  return text + "\xC3\xA9";
}

RunConfig RandomConfig(Rng& rng) {
  RunConfig config;
  for (const Key& key : AllKeys()) key.set(RandomValue(key, rng), config);
  config.model.heads = 1 + static_cast<uint32_t>(rng.Below(64));
  config.model.hidden_size = config.model.heads * (1 + static_cast<uint32_t>(rng.Below(100)));
  config.model.patch_size = 1 + static_cast<uint32_t>(rng.Below(16));
  config.model.image_size = config.model.patch_size * (1 + static_cast<uint32_t>(rng.Below(100)));
  if (config.model.kind != ModelKind::kVit) config.model.pretrained.clear();
  if (config.model.kind != ModelKind::kTorchScript) config.model.file.clear();
  if (config.model.kind != ModelKind::kModule) config.model.module.clear();
  config.train.accumulate = std::min(config.train.accumulate, config.train.batch);
  AugmentConfig& augment = config.augment;
  if (augment.scale_min > augment.scale_max) std::swap(augment.scale_min, augment.scale_max);
  if (augment.ratio_min > augment.ratio_max) std::swap(augment.ratio_min, augment.ratio_max);
  if (augment.eval_crop < 0.25) augment.eval_crop = 0;
  if (config.outer.norm_bound < 1) config.outer.norm_bound = 0;
  config.round.chunk_params = 64 * (1 + rng.Below(1u << 22));
  return config;
}

TEST(FormatRunConfig, IsReadBackEqualForRandomConfigs) {
  Rng rng(20);
  for (int i = 0; i < 300; ++i) {
    const RunConfig config = RandomConfig(rng);
    const std::string text = FormatRunConfig(config);
    const auto parsed = ParseRunConfig(text, "formatted");
    ASSERT_TRUE(parsed.ok()) << parsed.status().ToString() << "\n" << text;
    ASSERT_EQ(*parsed, config) << text;
  }
}

TEST(FormatRunConfig, ShowsEveryKeyWithCommentAndRange) {
  const std::string text = FormatRunConfig(RunConfig());
  for (const Key& key : AllKeys()) {
    EXPECT_THAT(text, HasSubstr(std::string(key.comment))) << key.full_name;
    EXPECT_THAT(text, HasSubstr(key.RangeText())) << key.full_name;
  }
  EXPECT_THAT(text, HasSubstr("(\"q4\", \"fp32\" or \"q8\")\ncodec = \"q4\"\n"));
}

std::string Mutate(std::string text, Rng& rng) {
  for (uint64_t changes = 1 + rng.Below(4); changes > 0; --changes) {
    const size_t at = rng.Below(text.size());
    switch (rng.Below(4)) {
      case 0:
        text[at] = static_cast<char>(rng.Below(256));
        break;
      case 1:
        text.erase(at, 1 + rng.Below(10));
        break;
      case 2:
        text.insert(at, text.substr(rng.Below(text.size()), rng.Below(30)));
        break;
      case 3:
        text.insert(at, 1, "[]{}=\"'.,#\n\\-0e"[rng.Below(15)]);
        break;
    }
    if (text.empty()) return "x";
  }
  return text;
}

// A changed text either parses into values that are all in range, or says what is wrong with the
// source's name.
TEST(ParseRunConfig, NeverCrashesOnChangedTexts) {
  const std::string valid = FormatRunConfig(RunConfig());
  Rng rng(21);
  int parsed = 0;
  for (int i = 0; i < 2000; ++i) {
    const std::string text = Mutate(valid, rng);
    const auto config = ParseRunConfig(text, "changed");
    if (!config.ok()) {
      ASSERT_THAT(config.status().message(), HasSubstr("changed")) << text;
      continue;
    }
    ++parsed;
    for (const Key& key : AllKeys()) {
      ASSERT_TRUE(key.CheckRange(key.get(*config)).ok()) << key.full_name << "\n" << text;
    }
  }
  EXPECT_GT(parsed, 100);
  EXPECT_LT(parsed, 1900);
}

TEST(ParseRunConfig, NeverCrashesOnATextCutAnywhere) {
  const std::string valid = FormatRunConfig(RunConfig());
  for (size_t size = 0; size < valid.size(); size += 3) {
    const auto config = ParseRunConfig(valid.substr(0, size), "cut");
    if (!config.ok()) {
      ASSERT_THAT(config.status().message(), HasSubstr("cut")) << size;
    }
  }
}

}  // namespace
}  // namespace interlude
