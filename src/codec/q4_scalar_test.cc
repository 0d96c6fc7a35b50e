// What docs/formats/q4.md says, statement by statement, on the scalar kernels.
#include <gtest/gtest.h>

#include <array>
#include <cfloat>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>
#include <vector>

#include "codec/block_format.h"
#include "codec/block_kernels.h"
#include "codec/chunk_codec.h"
#include "codec/codec_test_data.h"
#include "codec/q4_book.h"

namespace interlude {
namespace {

struct Encoded {
  size_t bad = kAllFinite;
  std::vector<std::byte> codes;
  std::vector<std::byte> scales;

  uint32_t code(size_t i) const {
    uint32_t lane;
    std::memcpy(&lane, &codes[i / 64 * kQ4CodeBytes + i % 8 * 4], sizeof(lane));
    return (lane >> (4 * (i % 64 / 8))) & 15u;
  }
  float scale(size_t block) const { return BlockScaleValue(LoadBlockScale(scales.data(), block)); }
};

Encoded Encode(const std::vector<float>& update, float* residual = nullptr) {
  Encoded out;
  out.codes.resize(BlockCount(update.size()) * kQ4CodeBytes);
  out.scales.resize(BlockCount(update.size()) * kBlockScaleBytes);
  const std::vector<float> base(update.size(), 0.0f);
  out.bad = ScalarQ4Kernels().encode_delta(update.data(), base.data(), residual, update.size(),
                                           out.codes.data(), out.scales.data());
  return out;
}

std::vector<float> Decode(const Encoded& in, size_t count) {
  std::vector<float> sum(count, 0.0f);
  const WeightedPayload one = {in.codes.data(), in.scales.data(), 1.0f};
  ScalarQ4Kernels().decode_sum({&one, 1}, SumStart::kSum, sum.data(), count);
  return sum;
}

TEST(Q4Scalar, EntriesTimesAScaleComeBackExactly) {
  std::vector<float> deltas(64);
  for (size_t j = 0; j < 64; ++j) deltas[j] = -0.75f * kQ4Book[j % 16];
  const Encoded out = Encode(deltas);
  EXPECT_EQ(-0.75f, out.scale(0));
  for (size_t j = 0; j < 64; ++j) EXPECT_EQ(j % 16, out.code(j)) << j;
  EXPECT_EQ(deltas, Decode(out, 64));
}

TEST(Q4Scalar, TheScaleHasTheSignOfTheLargestAndPlusWinsATie) {
  std::vector<float> deltas(64, 0.25f);
  deltas[3] = -2.0f;
  EXPECT_EQ(-2.0f, Encode(deltas).scale(0));
  deltas[60] = 2.0f;  // the order does not matter
  EXPECT_EQ(2.0f, Encode(deltas).scale(0));
  std::swap(deltas[3], deltas[60]);
  EXPECT_EQ(2.0f, Encode(deltas).scale(0));
  EXPECT_EQ(0u, Encode(deltas).code(60));
}

TEST(Q4Scalar, ValueJIsNibbleJOver8OfLaneJMod8) {
  for (size_t j = 0; j < 64; ++j) {
    std::vector<float> deltas(64, 0.0f);
    deltas[j] = 1.0f;
    std::array<uint8_t, 32> expected;
    expected.fill(0x77);
    uint8_t& byte = expected[j % 8 * 4 + j / 16];
    byte = j / 8 % 2 == 0 ? 0x7F : 0xF7;
    const Encoded out = Encode(deltas);
    EXPECT_EQ(0, std::memcmp(expected.data(), out.codes.data(), 32)) << j;
  }
}

TEST(Q4Scalar, ARatioAtAThresholdTakesTheUpperCode) {
  for (size_t i = 0; i < kQ4Thresholds.size(); ++i) {
    const float threshold = kQ4Thresholds[i];
    const Encoded out = Encode({1.0f, threshold, std::nextafter(threshold, -1.0f)});
    EXPECT_EQ(i + 1, out.code(1));
    EXPECT_EQ(i, out.code(2));
  }
}

TEST(Q4Scalar, MissingValuesOfAShortBlockAreTheCodeOfZero) {
  for (float sign : {1.0f, -1.0f}) {
    const Encoded out = Encode(std::vector<float>(70, sign));
    ASSERT_EQ(2 * kQ4CodeBytes, out.codes.size());
    for (size_t i = 0; i < 128; ++i) EXPECT_EQ(i < 70 ? 15u : kQ4ZeroCode, out.code(i)) << i;
  }
}

TEST(Q4Scalar, ABlockOfTinyDeltasIsAllZeroAndItsResidualKeepsThem) {
  const float tiny = std::nextafter(0x1p-100f, 0.0f);
  std::vector<float> residual(64, 0.0f);
  const Encoded out = Encode(std::vector<float>(64, -tiny), residual.data());
  EXPECT_EQ(0, LoadBlockScale(out.scales.data(), 0));
  for (size_t j = 0; j < 64; ++j) EXPECT_EQ(kQ4ZeroCode, out.code(j));
  EXPECT_EQ(std::vector<float>(64, -tiny), residual);
}

TEST(Q4Scalar, TheFirstNonFiniteDeltaIsNamed) {
  const float inf = std::numeric_limits<float>::infinity();
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (float bad : {inf, -inf, nan, -nan}) {
    std::vector<float> deltas(200, 0.5f);
    deltas[150] = nan;
    deltas[133] = bad;
    EXPECT_EQ(133u, Encode(deltas).bad);
  }
  EXPECT_EQ(kAllFinite, Encode(std::vector<float>(200, FLT_MAX)).bad);
}

TEST(Q4Scalar, ADifferenceThatOverflowsIsNonFinite) {
  const std::vector<float> params = {1.0f, FLT_MAX};
  const std::vector<float> base = {1.0f, -FLT_MAX};
  std::vector<std::byte> bytes(EncodedBytes(Codec::kQ4, 2));
  EXPECT_EQ(1u, ScalarQ4Kernels().encode_delta(params.data(), base.data(), nullptr, 2, bytes.data(),
                                               bytes.data() + kQ4CodeBytes));
}

TEST(Q4Scalar, DifferenceThenResidualAreRoundedOneAfterTheOther) {
  // 1 + 2^-25 rounds to 1, and 1 + 2^-24 again to 1; the exact sum would round up to 1 + 2^-23.
  const float params = 1.0f;
  const float base = -0x1p-25f;
  float residual = 0x1p-24f;
  std::vector<std::byte> bytes(EncodedBytes(Codec::kQ4, 1));
  ScalarQ4Kernels().encode_delta(&params, &base, &residual, 1, bytes.data(),
                                 bytes.data() + kQ4CodeBytes);
  EXPECT_EQ(0.0f, residual);
}

TEST(Q4Scalar, TheResidualIsWhatDecodingMisses) {
  Rng rng(3);
  const std::vector<float> deltas = GaussianValues(640, rng);
  std::vector<float> residual(deltas.size(), 0.0f);
  const std::vector<float> decoded = Decode(Encode(deltas, residual.data()), deltas.size());
  for (size_t i = 0; i < deltas.size(); ++i) EXPECT_EQ(deltas[i] - decoded[i], residual[i]);
}

TEST(Q4Scalar, WeightTimesValueIsRoundedBeforeItIsAdded) {
  const float weight = 1.0f / 3.0f;
  const Encoded out = Encode({1.1f, 0.7f, -0.3f});
  const std::vector<float> values = Decode(out, 3);
  std::vector<float> sum(3);
  for (size_t i = 0; i < 3; ++i) sum[i] = -(weight * values[i]);
  ASSERT_NE(0.0f, std::fma(weight, values[0], sum[0])) << "fusing would not show";
  const WeightedPayload one = {out.codes.data(), out.scales.data(), weight};
  ScalarQ4Kernels().decode_sum({&one, 1}, SumStart::kSum, sum.data(), 3);
  EXPECT_EQ(std::vector<float>(3, 0.0f), sum);
}

}  // namespace
}  // namespace interlude
