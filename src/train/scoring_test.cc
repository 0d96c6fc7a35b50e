#include "train/scoring.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "ledger/confusion.h"
#include "train/test_devices.h"

namespace interlude {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(Scorer, CountsByClassWhatIsRightAndWhatIsNearlyRight) {
  for (const at::Device device : TestDevices()) {
    Scorer scorer(7);
    const at::Tensor falling = at::arange(7, 0, -1, at::kFloat).to(device);
    // Twice class 0 is the likeliest, then 1, 2, ...; once all are alike.
    scorer.Add(at::stack({falling, falling}), at::tensor({0, 4}, at::kLong).to(device));
    scorer.Add(at::stack({falling, at::zeros({7}).to(device)}),
               at::tensor({5, 6}, at::kLong).to(device));
    const EvaluationResult result = scorer.result();
    EXPECT_EQ(result.samples, 4u);
    EXPECT_EQ(result.correct, 1u);
    EXPECT_EQ(result.top5, 3u);
    EXPECT_EQ(result.classes, 7u);
    EXPECT_THAT(result.confusion, ElementsAre(ConfusionCell{0, 0, 1}, ConfusionCell{4, 0, 1},
                                              ConfusionCell{5, 0, 1}, ConfusionCell{6, 0, 1}));
    const at::Tensor likely = at::log_softmax(falling, 0);
    EXPECT_NEAR(result.loss_sum, -(likely[0] + likely[4] + likely[5]).item<float>() + std::log(7.0),
                1e-5);
  }
}

TEST(Scorer, ALogitThatIsNotANumberIsNoHitAndCountsAsLarger) {
  for (const at::Device device : TestDevices()) {
    at::Tensor logits = at::arange(7, 0, -1, at::kFloat).repeat({3, 1});
    logits[0].fill_(NAN);
    logits[1].slice(0, 2, 7).fill_(NAN);  // five of them
    logits[2].slice(0, 3, 7).fill_(NAN);  // four
    Scorer scorer(7);
    scorer.Add(logits.to(device), at::tensor({3, 0, 0}, at::kLong).to(device));
    EXPECT_EQ(scorer.result().top5, 1u);
    EXPECT_EQ(scorer.result().correct, 0u);
  }
}

TEST(Scorer, AgreesWithTopKOnRandomLogits) {
  at::manual_seed(3);
  const at::Tensor logits = at::randn({200, 12});
  const at::Tensor labels = at::randint(12, {200}, at::kLong);
  Scorer scorer(12);
  scorer.Add(logits, labels);
  const EvaluationResult result = scorer.result();
  const at::Tensor five = std::get<1>(logits.topk(5, 1));
  EXPECT_EQ(result.top5, five.eq(labels.unsqueeze(1)).any(1).sum().item<int64_t>());
  EXPECT_EQ(result.correct, five.select(1, 0).eq(labels).sum().item<int64_t>());
}

TEST(Scorer, KeepsNoConfusionOfVeryManyClasses) {
  Scorer scorer(kMostConfusionClasses + 1);
  scorer.Add(at::zeros({2, kMostConfusionClasses + 1}), at::zeros({2}, at::kLong));
  EXPECT_THAT(scorer.result().confusion, IsEmpty());
  EXPECT_EQ(scorer.result().correct, 2u);
}

}  // namespace
}  // namespace interlude
