#include "ledger/confusion.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/rng.h"

namespace interlude {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const Confusion kThree = {{0, 0, 5}, {0, 2, 3}, {1, 1, 1}, {2, 0, 3}, {2, 2, 4}};

// Row by row; a row is a label.
Confusion ConfusionOf(const std::vector<uint64_t>& matrix, uint32_t classes) {
  Confusion confusion;
  for (uint32_t i = 0; i < matrix.size(); ++i) {
    if (matrix[i] > 0) confusion.push_back({i / classes, i % classes, matrix[i]});
  }
  return confusion;
}

std::vector<uint64_t> RandomMatrix(Rng& rng, uint32_t classes) {
  std::vector<uint64_t> matrix(size_t{classes} * classes);
  for (uint64_t& count : matrix) count = rng.Below(3) == 0 ? rng.Below(50) : 0;
  return matrix;
}

TEST(Confusion, OfPartsAddsUpToThatOfTheWhole) {
  Rng rng(4);
  for (int trial = 0; trial < 50; ++trial) {
    const auto classes = 1 + static_cast<uint32_t>(rng.Below(9));
    std::vector<uint64_t> whole(size_t{classes} * classes);
    Confusion sum;
    for (int part = 0; part < 4; ++part) {
      const std::vector<uint64_t> matrix = RandomMatrix(rng, classes);
      for (size_t i = 0; i < whole.size(); ++i) whole[i] += matrix[i];
      AddConfusion(ConfusionOf(matrix, classes), sum);
    }
    ASSERT_EQ(sum, ConfusionOf(whole, classes));
  }
}

TEST(Confusion, IsCheckedAgainstTheEvaluation) {
  EXPECT_TRUE(CheckConfusion(kThree, 3, 16, 10).ok());
  EXPECT_TRUE(CheckConfusion({}, 3, 16, 10).ok());
  const auto error = [](const Confusion& cells, uint32_t classes = 3, uint64_t samples = 16,
                        uint64_t correct = 10) {
    const Status status = CheckConfusion(cells, classes, samples, correct);
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
    return std::string(status.message());
  };
  EXPECT_THAT(error(kThree, 2), HasSubstr("class 0 taken for class 2, of 2 classes"));
  EXPECT_THAT(error(kThree, 3, 17), HasSubstr("16 samples with 10 right"));
  EXPECT_THAT(error(kThree, 3, 16, 9), HasSubstr("10 right, the evaluation of 16 with 9 right"));
  EXPECT_THAT(error(kThree, 3, 15), HasSubstr("4 times, of 15 samples"));
  EXPECT_THAT(error(kThree, 4097), HasSubstr("4097 classes"));
  EXPECT_THAT(error({{1, 0, 1}, {0, 0, 1}}), HasSubstr("not in order"));
  EXPECT_THAT(error({{1, 0, 1}, {1, 0, 1}}), HasSubstr("not in order"));
  EXPECT_THAT(error({{1, 0, 0}}), HasSubstr("0 times"));
  // Sums that would wrap around.
  EXPECT_THAT(error({{0, 0, 16}, {0, 1, UINT64_MAX}, {1, 1, 1}}), HasSubstr("of 16 samples"));
}

TEST(Confusion, GivesEachClassItsAccuracyAndHowOftenItWasPredicted) {
  const std::vector<ClassScore> scores = ClassScores(kThree);
  ASSERT_EQ(scores.size(), 3u);
  EXPECT_EQ(scores[0].samples, 8u);
  EXPECT_EQ(scores[0].correct, 5u);
  EXPECT_EQ(scores[0].predicted, 8u);
  EXPECT_EQ(scores[1].accuracy(), 1.0);
  EXPECT_EQ(scores[2].samples, 7u);
  EXPECT_EQ(ClassScore().accuracy(), 0);
  const std::vector<ClassScore> worst = WorstClasses(scores, 2);
  ASSERT_EQ(worst.size(), 2u);
  EXPECT_EQ(worst[0].label, 2u);
  EXPECT_EQ(worst[1].label, 0u);
  // A class that was only predicted has no accuracy.
  EXPECT_EQ(WorstClasses(ClassScores({{0, 1, 2}}), 5).size(), 1u);
}

TEST(Confusion, NamesThePairsThatAreTakenForEachOther) {
  EXPECT_THAT(MostConfused(kThree, 5), ElementsAre(ConfusionCell{0, 2, 3}, ConfusionCell{2, 0, 3}));
  EXPECT_THAT(MostConfused(kThree, 1), ElementsAre(ConfusionCell{0, 2, 3}));
  EXPECT_THAT(MostConfused({{1, 0, 2}, {1, 2, 9}}, 5),
              ElementsAre(ConfusionCell{1, 2, 9}, ConfusionCell{1, 0, 2}));
}

}  // namespace
}  // namespace interlude
