// How much of the deltas q4 and q8 keep: the bars that the formats have to hold.
#include <gtest/gtest.h>

#include "codec/chunk_codec.h"
#include "codec/codec_test_data.h"

namespace interlude {
namespace {

constexpr size_t kCount = size_t{1} << 18;

/// Most relative errors.
struct Bars {
  Codec codec;
  double gaussian;
  double laplace;
  double student3;
};

void PrintTo(const Bars& bars, std::ostream* out) { *out << CodecName(bars.codec); }

class Quality : public testing::TestWithParam<Bars> {
 protected:
  std::vector<float> Through(const std::vector<float>& update, std::span<float> residual) const;
  double ErrorOf(const std::vector<float>& update) const {
    return RelativeL2(update, Through(update, {}));
  }
};

/// What a worker's delta becomes at the receiver.
std::vector<float> Quality::Through(const std::vector<float>& update,
                                    std::span<float> residual) const {
  const Codec codec = GetParam().codec;
  std::vector<std::byte> payload(EncodedBytes(codec, update.size()));
  const std::vector<float> base(update.size(), 0.0f);
  Hash128 hash;
  EXPECT_FALSE(EncodeDelta(codec, update, base, residual, payload, hash).first_nonfinite);
  const std::span<const std::byte> received = payload;
  const float weight = 1.0f;
  std::vector<float> sum(update.size());
  DecodeAverage(codec, {&received, 1}, {&weight, 1}, sum);
  return sum;
}

TEST_P(Quality, RelativeErrorIsBelowItsBars) {
  Rng rng(11);
  EXPECT_LT(ErrorOf(GaussianValues(kCount, rng)), GetParam().gaussian);
  EXPECT_LT(ErrorOf(LaplaceValues(kCount, rng)), GetParam().laplace);
  EXPECT_LT(ErrorOf(Student3Values(kCount, rng)), GetParam().student3);
}

TEST_P(Quality, NothingIsLostAtDeltasOfAnySize) {
  Rng rng(12);
  const std::vector<float> values = GaussianValues(kCount / 8, rng);
  const double error = ErrorOf(values);
  for (float size : {1e-4f, 1e-7f, 1e-8f, 1e-20f, 1e20f}) {
    EXPECT_NEAR(error, ErrorOf(Scaled(values, size)), error / 100) << size;
  }
}

TEST_P(Quality, ErrorFeedbackCutsTheErrorAccumulatedOver64RoundsToAnEighth) {
  constexpr size_t kValues = 4096;
  std::vector<float> true_sum(kValues, 0.0f);
  std::vector<float> plain_sum(kValues, 0.0f);
  std::vector<float> feedback_sum(kValues, 0.0f);
  std::vector<float> residual(kValues, 0.0f);
  Rng rng(13);
  for (int round = 0; round < 64; ++round) {
    const std::vector<float> update = GaussianValues(kValues, rng);
    const std::vector<float> plain = Through(update, {});
    const std::vector<float> feedback = Through(update, residual);
    for (size_t i = 0; i < kValues; ++i) {
      true_sum[i] += update[i];
      plain_sum[i] += plain[i];
      feedback_sum[i] += feedback[i];
    }
  }
  const double ratio = RelativeL2(true_sum, feedback_sum) / RelativeL2(true_sum, plain_sum);
  EXPECT_LT(ratio, 0.14);
}

INSTANTIATE_TEST_SUITE_P(Formats, Quality,
                         testing::Values(Bars{Codec::kQ4, 0.087, 0.102, 0.125},
                                         Bars{Codec::kQ8, 0.0061, 0.0080, 0.0115}),
                         [](const auto& bars) { return CodecName(bars.param.codec); });

}  // namespace
}  // namespace interlude
