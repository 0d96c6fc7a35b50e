#include "config/keys.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <set>

namespace interlude {
namespace {

TEST(Keys, HaveUniqueNamesAndAComment) {
  std::set<std::string_view> names;
  for (const Key& key : AllKeys()) {
    EXPECT_TRUE(names.insert(key.full_name).second) << key.full_name;
    EXPECT_FALSE(key.comment.empty()) << key.full_name;
  }
}

TEST(Keys, OfOneSectionStandTogether) {
  std::set<std::string_view> sections(AllSections().begin(), AllSections().end());
  EXPECT_EQ(sections.size(), AllSections().size());
  EXPECT_EQ(sections,
            (std::set<std::string_view>{"model", "data", "augment", "train", "round", "outer"}));
}

TEST(Keys, HoldDefaultsThatAreInTheirRange) {
  const RunConfig defaults;
  for (const Key& key : AllKeys()) {
    EXPECT_TRUE(key.CheckRange(key.get(defaults)).ok()) << key.full_name;
  }
}

// The counts of choices must follow the enums: each choice set and read back is itself.
TEST(Keys, ReadBackEveryChoiceTheySet) {
  for (const Key& key : AllKeys()) {
    for (const std::string_view choice : key.choices) {
      RunConfig config;
      key.set(KeyValue(std::string(choice)), config);
      EXPECT_EQ(key.get(config), KeyValue(std::string(choice))) << key.full_name;
    }
  }
}

TEST(Keys, MapChoicesToTheEnumOfTheSameName) {
  RunConfig config;
  FindKey("round.codec")->set(KeyValue("fp32"), config);
  FindKey("round.exchange")->set(KeyValue("barrier"), config);
  FindKey("round.persistence")->set(KeyValue("every_round"), config);
  FindKey("model.kind")->set(KeyValue("synthetic"), config);
  FindKey("train.optimizer")->set(KeyValue("sgd"), config);
  FindKey("train.schedule")->set(KeyValue("constant"), config);
  FindKey("outer.merge")->set(KeyValue("coordinate_median"), config);
  FindKey("outer.optimizer")->set(KeyValue("adam"), config);
  EXPECT_EQ(config.round.codec, CodecKind::kFp32);
  EXPECT_EQ(config.round.exchange, ExchangeMode::kBarrier);
  EXPECT_EQ(config.round.persistence, PersistenceMode::kEveryRound);
  EXPECT_EQ(config.model.kind, ModelKind::kSynthetic);
  EXPECT_EQ(config.train.optimizer, LocalOptimizerKind::kSgd);
  EXPECT_EQ(config.train.schedule, ScheduleKind::kConstant);
  EXPECT_EQ(config.outer.merge, MergeRuleKind::kCoordinateMedian);
  EXPECT_EQ(config.outer.optimizer, OuterOptimizerKind::kAdam);
}

TEST(Keys, FitTheWholeRangeIntoTheirField) {
  for (const Key& key : AllKeys()) {
    if (key.type != KeyType::kInteger) continue;
    RunConfig config;
    for (const uint64_t value : {key.least, key.most}) {
      key.set(KeyValue(value), config);
      EXPECT_EQ(key.get(config), KeyValue(value)) << key.full_name;
    }
  }
}

TEST(Keys, RefuseNotANumberAndInfinity) {
  for (const Key& key : AllKeys()) {
    if (key.type != KeyType::kNumber) continue;
    EXPECT_FALSE(key.CheckRange(std::nan("")).ok()) << key.full_name;
    EXPECT_FALSE(key.CheckRange(std::numeric_limits<double>::infinity()).ok()) << key.full_name;
  }
}

TEST(Keys, ExcludeTheUpperEndWhereTheySaySo) {
  const Key& momentum = *FindKey("train.momentum");
  EXPECT_TRUE(momentum.CheckRange(0.0).ok());
  EXPECT_EQ(momentum.CheckRange(1.0).message(),
            "train.momentum = 1.0 is out of range 0 to below 1");
  EXPECT_TRUE(FindKey("train.final_learning_rate_ratio")->CheckRange(1.0).ok());
}

TEST(Keys, ADecayOfTheAverageThatFp32WouldTakeForOneIsRefused) {
  const Key& decay = *FindKey("outer.ema_decay");
  EXPECT_TRUE(decay.CheckRange(0.999'999).ok());
  EXPECT_LT(static_cast<float>(decay.high), 1.0f);
  EXPECT_EQ(decay.CheckRange(0.99'999'999).message(),
            "outer.ema_decay = 0.99999999 is out of range 0 to 0.999999");
}

TEST(KeyValueText, WritesNumbersThatTomlReadsAsTheirType) {
  EXPECT_EQ(KeyValueText(KeyValue(uint64_t{20})), "20");
  EXPECT_EQ(KeyValueText(KeyValue(20.0)), "20.0");
  EXPECT_EQ(KeyValueText(KeyValue(0.7)), "0.7");
  EXPECT_EQ(KeyValueText(KeyValue(1e-8)), "1e-08");
  EXPECT_EQ(KeyValueText(KeyValue("a\"b\\c")), R"("a\"b\\c")");
}

}  // namespace
}  // namespace interlude
