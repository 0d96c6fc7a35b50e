// What docs/formats/q8.md says of codes and their error, statement by statement, on the scalar
// kernels. What q8 shares with q4 is tested in q4_scalar_test.cc and block_format_test.cc.
#include <gtest/gtest.h>

#include <array>
#include <cfloat>
#include <cmath>
#include <vector>

#include "codec/block_format.h"
#include "codec/block_kernels.h"
#include "codec/codec_test_data.h"
#include "codec/float_environment.h"

namespace interlude {
namespace {

struct Encoded {
  size_t bad = kAllFinite;
  std::vector<uint8_t> codes;
  std::vector<std::byte> scales;

  float scale(size_t block) const { return BlockScaleValue(LoadBlockScale(scales.data(), block)); }
};

std::byte* Bytes(std::vector<uint8_t>& codes) { return reinterpret_cast<std::byte*>(codes.data()); }

Encoded Encode(const std::vector<float>& update, float* residual = nullptr) {
  Encoded out;
  out.codes.resize(BlockCount(update.size()) * kQ8CodeBytes);
  out.scales.resize(BlockCount(update.size()) * kBlockScaleBytes);
  std::vector<float> base(update.size(), 0.0f);
  out.bad = ScalarQ8Kernels().encode_update(update.data(), residual, base.data(), update.size(),
                                            Bytes(out.codes), out.scales.data());
  return out;
}

std::vector<float> Decode(Encoded in, size_t count) {
  std::vector<float> values(count, -0.0f);  // -0 + v is v, of either sign
  std::vector<float> params(count);
  ScalarQ8Kernels().apply(Bytes(in.codes), in.scales.data(), values.data(), params.data(), count);
  return values;
}

class Q8Scalar : public testing::Test {
  const DefaultFloatEnvironment environment_;
};

TEST_F(Q8Scalar, EveryEntryTimesAScaleComesBackExactlyAsItsCode) {
  for (const float scale : {-0.75f, 1.9921875f, 0x1p-100f, -0x1.fep127f}) {
    for (int first = 0; first < 256; first += 63) {
      std::vector<float> deltas(64, scale);
      const auto code = [&](size_t j) { return static_cast<uint8_t>((first + j) % 256); };
      for (size_t j = 1; j < 64; ++j) deltas[j] = scale * ((code(j) - 127.0f) / 128.0f);
      const Encoded out = Encode(deltas);
      EXPECT_EQ(scale, out.scale(0));
      EXPECT_EQ(255, out.codes[0]);
      for (size_t j = 1; j < 64; ++j) EXPECT_EQ(code(j), out.codes[j]) << scale;
      EXPECT_TRUE(SameBits(deltas, Decode(out, 64))) << scale;
    }
  }
}

TEST_F(Q8Scalar, OfTwoEntriesEquallyNearTheEvenNumberOfStepsIsTaken) {
  for (int steps = -127; steps < 128; ++steps) {
    const float middle = (static_cast<float>(steps) + 0.5f) / 128.0f;
    const Encoded out =
        Encode({1.0f, middle, std::nextafter(middle, -2.0f), std::nextafter(middle, 2.0f)});
    EXPECT_EQ((steps % 2 == 0 ? steps : steps + 1) + 127, out.codes[1]) << steps;
    EXPECT_EQ(steps + 127, out.codes[2]) << steps;
    EXPECT_EQ(steps + 128, out.codes[3]) << steps;
  }
}

TEST_F(Q8Scalar, StepsBeyondTheEndsAreBounded) {
  EXPECT_EQ(0, Encode({1.0f, -1.0f}).codes[1]);
  EXPECT_EQ(0, Encode({1.0f, -127.4f / 128.0f}).codes[1]);
  const Encoded largest = Encode({FLT_MAX, -FLT_MAX});  // 128.502 steps of either sign
  EXPECT_EQ(255, largest.codes[0]);
  EXPECT_EQ(0, largest.codes[1]);
  EXPECT_EQ(1.0f, Encode({1.0f + 0x1p-8f}).scale(0));  // 128.5 steps
  EXPECT_EQ(255, Encode({1.0f + 0x1p-8f}).codes[0]);
}

TEST_F(Q8Scalar, MissingValuesOfAShortBlockAndABlockOfTinyDeltasAreTheCodeOfZero) {
  for (const float sign : {1.0f, -1.0f}) {
    const Encoded out = Encode(std::vector<float>(70, sign));
    ASSERT_EQ(2 * kQ8CodeBytes, out.codes.size());
    for (size_t i = 0; i < 128; ++i) EXPECT_EQ(i < 70 ? 255 : 127, out.codes[i]) << i;
  }
  const float tiny = std::nextafter(0x1p-100f, 0.0f);
  std::vector<float> residual(64, 0.0f);
  const Encoded out = Encode(std::vector<float>(64, -tiny), residual.data());
  EXPECT_EQ(0, LoadBlockScale(out.scales.data(), 0));
  EXPECT_EQ(std::vector<uint8_t>(64, 127), out.codes);
  EXPECT_EQ(std::vector<float>(64, -tiny), residual);
}

TEST_F(Q8Scalar, TheFirstNonFiniteDeltaIsNamed) {
  std::vector<float> deltas(200, 0.5f);
  deltas[150] = NAN;
  deltas[133] = -INFINITY;
  EXPECT_EQ(133u, Encode(deltas).bad);
  EXPECT_EQ(kAllFinite, Encode(std::vector<float>(200, FLT_MAX)).bad);
}

/// |delta - value| of one value against the page's bounds.
void ExpectWithinBounds(double delta, double value, double scale) {
  if (scale == 0) {
    EXPECT_EQ(0, value);
    EXPECT_LT(std::abs(delta), 0x1p-100);
    return;
  }
  const double step = scale / 128;
  const double most = delta / step < -127.5 ? 1.502 : 0.502;
  EXPECT_LE(std::abs(delta - value), most * std::abs(step)) << delta << " of " << scale;
}

TEST_F(Q8Scalar, NoValueIsFurtherOffThanThePageSays) {
  Rng rng(41);
  for (const ValueShape& shape : ValueShapes()) {
    if (shape.name.starts_with("non-finite")) continue;
    SCOPED_TRACE(shape.name);
    for (const size_t count : {1, 64, 77, 6400}) {
      const std::vector<float> deltas = shape.make(count, rng);
      const Encoded out = Encode(deltas);
      const std::vector<float> values = Decode(out, count);
      for (size_t i = 0; i < count; ++i) {
        ExpectWithinBounds(deltas[i], values[i], out.scale(i / kBlockValues));
      }
    }
  }
}

}  // namespace
}  // namespace interlude
