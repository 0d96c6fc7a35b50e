#include "ledger/data_facts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace interlude {
namespace {

using ::testing::HasSubstr;

const DataFacts kFacts = {{"cat", "dog \"big\"", "\xC3\xA4"}, {0.286f, 0.5f}, {0.353f, 0.25f}};

TEST(DataFacts, ComeBackFromTheirTexts) {
  const auto back = ReadDataFacts(ClassesText(kFacts), NormalizationText(kFacts));
  ASSERT_TRUE(back.ok()) << back.status().ToString();
  EXPECT_EQ(*back, kFacts);
  EXPECT_EQ(NormalizationText(kFacts), "{\"mean\": [0.286, 0.5], \"deviation\": [0.353, 0.25]}");
  const DataFacts none;
  EXPECT_EQ(ClassesText(none) + NormalizationText(none), "");
  EXPECT_TRUE(ReadDataFacts("", "")->empty());
}

TEST(DataFacts, ThatAreWrongAreRefused) {
  for (const char* classes : {"x", "{}", "[]", "[1]", "[\"a\", null]"}) {
    EXPECT_EQ(ReadDataFacts(classes, "").status().code(), StatusCode::kInvalidArgument) << classes;
  }
  for (const char* text :
       {"x", "[]", "{\"mean\": [1]}", "{\"mean\": [1], \"deviation\": []}",
        "{\"mean\": [1], \"deviation\": [0]}", "{\"mean\": [1, 2], \"deviation\": [1]}",
        "{\"mean\": [1e99], \"deviation\": [1]}", "{\"mean\": [\"1\"], \"deviation\": [1]}"}) {
    EXPECT_EQ(ReadDataFacts("", text).status().code(), StatusCode::kInvalidArgument) << text;
  }
  EXPECT_FALSE(ReadDataFacts("[" + std::string(5000 * 3, ' ') + "]", "").ok());
}

TEST(DataFacts, ClassNamesAreCleanInTheTrainerAsOnTheWire) {
  const std::vector<std::string> clean =
      CleanClassNames({"d\xc3\xb6g", "c\xff\x1b", std::string(1000, 'x')});
  EXPECT_EQ(clean,
            (std::vector<std::string>{"d\xc3\xb6g", "c??", std::string(kMostClassNameBytes, 'x')}));
  EXPECT_EQ(CleanClassNames(clean), clean);
  EXPECT_TRUE(CleanClassNames(std::vector<std::string>(kMostClassNames + 1, "x")).empty());
}

TEST(DataFacts, SayWhereTheyDiffer) {
  EXPECT_EQ(DescribeDifference(kFacts, kFacts), "");
  EXPECT_EQ(DescribeDifference({}, kFacts), "");
  EXPECT_EQ(DescribeDifference(kFacts, {}), "");
  DataFacts other = kFacts;
  other.classes[0] = "cow";
  EXPECT_EQ(DescribeDifference(other, kFacts), "class 0 is \"cow\", the run's is \"cat\"");
  other.classes.pop_back();
  EXPECT_EQ(DescribeDifference(other, kFacts), "2 classes, the run has 3");
  other = kFacts;
  other.mean[1] = 0.25f;
  EXPECT_THAT(DescribeDifference(other, kFacts), HasSubstr("[0.286, 0.25]"));
}

TEST(DataFacts, SayWherePicturesOfOneSetAreCountedDifferently) {
  DataFacts ours = kFacts;
  ours.counts = {{4, 5, 6}, {1, 2, 3}};
  DataFacts theirs = ours;
  EXPECT_EQ(DescribeCountDifference(theirs, ours), "");
  EXPECT_EQ(DescribeCountDifference(kFacts, ours) + DescribeCountDifference(ours, kFacts), "");
  EXPECT_EQ(DescribeDifference(kFacts, ours), "");
  theirs.counts.test[2] = 4;
  EXPECT_EQ(DescribeCountDifference(theirs, ours),
            "4 test pictures of class \"\xC3\xA4\", the run's data set has 3");
  theirs.counts.train[0] = 0;
  EXPECT_EQ(DescribeCountDifference(theirs, ours),
            "0 training pictures of class \"cat\", the run's data set has 4");
  theirs.counts.train.pop_back();
  EXPECT_EQ(DescribeCountDifference(theirs, ours), "2 classes, the run has 3");
}

TEST(DataFacts, OfTooManyClassesNoPicturesAreCounted) {
  const std::vector<uint64_t> most(kMostClassNames, 1), more(kMostClassNames + 1, 1);
  EXPECT_FALSE(KeptClassCounts({most, most}).empty());
  EXPECT_TRUE(KeptClassCounts({more, more}).empty());
  EXPECT_TRUE(KeptClassCounts({more, more}).test.empty());
}

TEST(DataFacts, NameAClassOrGiveItsNumber) {
  EXPECT_EQ(ClassName(kFacts.classes, 0), "cat");
  EXPECT_EQ(ClassName(kFacts.classes, 3), "3");
}

}  // namespace
}  // namespace interlude
