// How much of the deltas q4 keeps: the bars that the format has to hold.
#include <gtest/gtest.h>

#include "codec/chunk_codec.h"
#include "codec/codec_test_data.h"

namespace interlude {
namespace {

constexpr size_t kCount = size_t{1} << 18;

/// What a worker's delta becomes at the receiver.
std::vector<float> ThroughQ4(const std::vector<float>& update, std::span<float> residual) {
  std::vector<std::byte> payload(EncodedBytes(Codec::kQ4, update.size()));
  const std::vector<float> base(update.size(), 0.0f);
  Hash128 hash;
  EXPECT_FALSE(EncodeDelta(Codec::kQ4, update, base, residual, payload, hash).first_nonfinite);
  const std::span<const std::byte> received = payload;
  const float weight = 1.0f;
  std::vector<float> sum(update.size());
  DecodeAverage(Codec::kQ4, {&received, 1}, {&weight, 1}, sum);
  return sum;
}

double ErrorOf(const std::vector<float>& update) {
  return RelativeL2(update, ThroughQ4(update, {}));
}

TEST(Q4Quality, RelativeErrorIsBelowItsBars) {
  Rng rng(11);
  EXPECT_LT(ErrorOf(GaussianValues(kCount, rng)), 0.087);
  EXPECT_LT(ErrorOf(LaplaceValues(kCount, rng)), 0.102);
  EXPECT_LT(ErrorOf(Student3Values(kCount, rng)), 0.125);
}

TEST(Q4Quality, NothingIsLostAtDeltasOfAnySize) {
  Rng rng(12);
  const std::vector<float> values = GaussianValues(kCount / 8, rng);
  const double error = ErrorOf(values);
  for (float size : {1e-4f, 1e-7f, 1e-8f, 1e-20f, 1e20f}) {
    EXPECT_NEAR(error, ErrorOf(Scaled(values, size)), 0.0005) << size;
  }
}

TEST(Q4Quality, ErrorFeedbackCutsTheErrorAccumulatedOver64RoundsToAnEighth) {
  constexpr size_t kValues = 4096;
  std::vector<float> true_sum(kValues, 0.0f);
  std::vector<float> plain_sum(kValues, 0.0f);
  std::vector<float> feedback_sum(kValues, 0.0f);
  std::vector<float> residual(kValues, 0.0f);
  Rng rng(13);
  for (int round = 0; round < 64; ++round) {
    const std::vector<float> update = GaussianValues(kValues, rng);
    const std::vector<float> plain = ThroughQ4(update, {});
    const std::vector<float> feedback = ThroughQ4(update, residual);
    for (size_t i = 0; i < kValues; ++i) {
      true_sum[i] += update[i];
      plain_sum[i] += plain[i];
      feedback_sum[i] += feedback[i];
    }
  }
  const double ratio = RelativeL2(true_sum, feedback_sum) / RelativeL2(true_sum, plain_sum);
  EXPECT_LT(ratio, 0.14);
}

}  // namespace
}  // namespace interlude
