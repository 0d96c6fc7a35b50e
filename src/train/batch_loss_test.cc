#include "train/batch_loss.h"

#include <gtest/gtest.h>

#include <iterator>

#include "train/test_devices.h"

namespace interlude {
namespace {

struct Golden {
  const char* name;
  bool mixed;
  double smoothing;
  double loss;
  double gradient[30];
};

// clang-format off
#include "train/batch_loss_golden.inc"
// clang-format on

at::Tensor Indexes(const int64_t* values, at::Device device) {
  return at::from_blob(const_cast<int64_t*>(values), {kSize}, at::kLong).clone().to(device);
}

at::Tensor Logits(at::Device device) {
  return TensorOf(kLogits, device).view({kSize, kClasses}).requires_grad_(true);
}

TEST(BatchLoss, IsPyTorchsOfTheSameLabelsWrittenOut) {
  ASSERT_EQ(kSize * kClasses, static_cast<int64_t>(std::size(Golden{}.gradient)));
  for (const at::Device device : TestDevices()) {
    for (const Golden& golden : kGoldens) {
      Batch batch{
          .images = at::zeros({kSize, 1, 2, 2}, at::TensorOptions(at::kFloat).device(device)),
          .labels = Indexes(kLabels, device)};
      if (golden.mixed) batch = MixUp(batch, Indexes(kPartners, device), TensorOf(kShares, device));
      const at::Tensor logits = Logits(device);
      const at::Tensor loss = BatchLoss(logits, batch, golden.smoothing);
      EXPECT_NEAR(loss.item<float>(), golden.loss, 1e-6) << golden.name;
      loss.backward();
      const at::Tensor gradient = logits.grad().cpu().flatten();
      for (int64_t i = 0; i < kSize * kClasses; ++i) {
        EXPECT_NEAR(gradient[i].item<float>(), golden.gradient[i], 1e-7) << golden.name << i;
      }
    }
  }
}

TEST(BatchLoss, OfPicturesThatAreNotMixedOrSmoothedHasTheBitsOfCrossEntropy) {
  const Batch batch{.images = at::zeros({kSize, 1, 2, 2}), .labels = Indexes(kLabels, at::kCPU)};
  const at::Tensor logits = Logits(at::kCPU);
  EXPECT_EQ(BatchLoss(logits, batch, 0).item<float>(),
            at::cross_entropy_loss(logits, batch.labels).item<float>());
}

TEST(MixUp, AddsThePictureOfThePartnerByTheRestOfTheShare) {
  const at::Tensor images = at::arange(12, at::kFloat).view({3, 1, 2, 2});
  const Batch batch{.images = images, .labels = at::arange(3, at::kLong)};
  const at::Tensor partners = at::tensor({2, 1, 0}, at::kLong);
  const at::Tensor shares = at::tensor({0.25f, 0.5f, 1.0f});
  const Batch mixed = MixUp(batch, partners, shares);
  EXPECT_TRUE(mixed.is_mixed());
  EXPECT_FALSE(batch.is_mixed());
  EXPECT_TRUE(at::equal(mixed.images[0], images[0] * 0.25 + images[2] * 0.75));
  EXPECT_TRUE(at::equal(mixed.images[1], images[1]));
  EXPECT_TRUE(at::equal(mixed.images[2], images[2]));
  EXPECT_TRUE(at::equal(mixed.partner_labels, partners));
  EXPECT_TRUE(at::equal(mixed.labels, batch.labels));
}

TEST(MixUp, IsCutIntoPartsWithItsLabels) {
  const Batch batch{.images = at::rand({4, 1, 2, 2}), .labels = at::arange(4, at::kLong)};
  const Batch plain = batch.Slice(1, 2);
  EXPECT_FALSE(plain.is_mixed());
  EXPECT_TRUE(at::equal(plain.labels, at::tensor({1, 2}, at::kLong)));
  const Batch mixed =
      MixUp(batch, at::tensor({3, 2, 1, 0}, at::kLong), at::tensor({0.1f, 0.2f, 0.3f, 0.4f}));
  const Batch part = mixed.Slice(2, 2);
  EXPECT_EQ(part.size(), 2);
  EXPECT_TRUE(at::equal(part.images, mixed.images.narrow(0, 2, 2)));
  EXPECT_TRUE(at::equal(part.partner_labels, at::tensor({1, 0}, at::kLong)));
  EXPECT_TRUE(at::equal(part.shares, at::tensor({0.3f, 0.4f})));
}

}  // namespace
}  // namespace interlude
