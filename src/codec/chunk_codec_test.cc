#include "codec/chunk_codec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cfloat>
#include <cstring>
#include <limits>

#include "codec/block_format.h"
#include "codec/codec_test_data.h"

#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

namespace interlude {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr size_t kCount = 3 * 256 * 64 + 77;  // several tiles, a short last block

class EveryCodec : public testing::TestWithParam<Codec> {
 protected:
  void SetUp() override {
    Rng rng(21);
    params_ = GaussianValues(kCount, rng);
    base_ = GaussianValues(kCount, rng);
    residual_ = Scaled(GaussianValues(kCount, rng), 0.1f);
    payload_.resize(EncodedBytes(GetParam(), kCount));
  }

  EncodeOutcome Encode(std::span<const float> params, std::span<const float> base,
                       std::span<float> residual) {
    return EncodeDelta(GetParam(), params, base, residual, payload_, payload_hash_);
  }

  std::vector<float> params_;
  std::vector<float> base_;
  std::vector<float> residual_;
  std::vector<std::byte> payload_;
  Hash128 payload_hash_;
};

TEST_P(EveryCodec, EncodeUpdateLeavesTheBaseThatApplyMakesOfThePayload) {
  for (const ValueShape& shape : ValueShapes()) {
    if (shape.name.starts_with("non-finite")) continue;
    Rng rng(22);
    const std::vector<float> update = shape.make(kCount, rng);
    std::vector<float> encoded_base = base_;
    std::vector<float> applied_base = base_;
    std::vector<float> applied_params(kCount);
    ASSERT_FALSE(EncodeUpdate(GetParam(), update, {}, encoded_base, payload_).first_nonfinite);
    ASSERT_TRUE(ValidatePayload(GetParam(), payload_, kCount).ok()) << shape.name;
    Apply(GetParam(), payload_, applied_base, applied_params);
    EXPECT_TRUE(SameBits(encoded_base, applied_base)) << shape.name;
    EXPECT_TRUE(SameBits(encoded_base, applied_params)) << shape.name;
    if (shape.name == "Gaussian") {
      EXPECT_FALSE(SameBits(base_, encoded_base)) << "nothing was applied";
    }
  }
}

TEST_P(EveryCodec, ADeltaAndAnUpdateOfTheSameValuesAreTheSamePayload) {
  std::vector<float> update(kCount);
  for (size_t i = 0; i < kCount; ++i) update[i] = params_[i] - base_[i];
  std::vector<std::byte> from_update = payload_;
  std::vector<float> update_residual = residual_;
  Encode(params_, base_, residual_);
  EncodeUpdate(GetParam(), update, update_residual, base_, from_update);
  EXPECT_EQ(payload_, from_update);
  EXPECT_TRUE(SameBits(residual_, update_residual));
}

TEST_P(EveryCodec, NamesTheFirstNonFiniteValue) {
  const auto first = [&] { return Encode(params_, base_, {}).first_nonfinite; };
  params_[kCount - 1] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(kCount - 1, first());
  params_[20000] = -std::numeric_limits<float>::infinity();
  EXPECT_EQ(20000u, first());
  EXPECT_EQ(20000u, EncodeUpdate(GetParam(), params_, {}, base_, payload_).first_nonfinite);
  params_[7] = FLT_MAX;
  base_[7] = -FLT_MAX;
  EXPECT_EQ(7u, first());
}

TEST_P(EveryCodec, AnEmptyChunkIsNoBytes) {
  EXPECT_EQ(0u, EncodedBytes(GetParam(), 0));
  EXPECT_TRUE(ValidatePayload(GetParam(), {}, 0).ok());
  payload_.clear();
  EXPECT_FALSE(Encode({}, {}, {}).first_nonfinite);
  EXPECT_FALSE(EncodeUpdate(GetParam(), {}, {}, {}, {}).first_nonfinite);
  Apply(GetParam(), {}, {}, {});
}

TEST_P(EveryCodec, APayloadOfAnotherSizeIsRefused) {
  for (size_t size : {size_t{0}, payload_.size() - 1, payload_.size() + 1}) {
    const Status status = ValidatePayload(GetParam(), std::vector<std::byte>(size), kCount);
    EXPECT_EQ(StatusCode::kInvalidArgument, status.code()) << size;
    EXPECT_THAT(status.message(), AllOf(HasSubstr(std::to_string(size) + " bytes"),
                                        HasSubstr(std::to_string(payload_.size()))));
  }
}

#if defined(__SSE2__)
TEST_P(EveryCodec, AThreadThatFlushesSubnormalsGetsTheSameBits) {
  Rng rng(23);
  const std::vector<float> tiny = Scaled(GaussianValues(kCount, rng), 0x1p-130f);
  std::vector<float> residual(kCount, 0.0f);
  std::vector<float> flushing_residual = residual;
  std::vector<std::byte> flushing_payload = payload_;
  std::vector<float> base = tiny;
  std::vector<float> flushing_base = tiny;
  EncodeUpdate(GetParam(), tiny, residual, base, payload_);
  const unsigned before = _mm_getcsr();
  _mm_setcsr(before | 0x8040u);  // flush to zero, denormals are zero
  EncodeUpdate(GetParam(), tiny, flushing_residual, flushing_base, flushing_payload);
  const unsigned after = _mm_getcsr();
  _mm_setcsr(before);
  EXPECT_EQ((before | 0x8040u) & ~0x3Fu, after & ~0x3Fu)
      << "the thread's own setting must come back";
  EXPECT_EQ(payload_, flushing_payload);
  EXPECT_TRUE(SameBits(residual, flushing_residual));
  EXPECT_TRUE(SameBits(base, flushing_base));
}
#endif

INSTANTIATE_TEST_SUITE_P(ChunkCodec, EveryCodec, testing::ValuesIn(kAllCodecs),
                         [](const auto& codec) { return CodecName(codec.param); });

TEST(ChunkCodec, SizesAreThoseOfTheFormats) {
  EXPECT_EQ(34u, EncodedBytes(Codec::kQ4, 1));
  EXPECT_EQ(34u, EncodedBytes(Codec::kQ4, 64));
  EXPECT_EQ(68u, EncodedBytes(Codec::kQ4, 65));
  EXPECT_EQ(66u, EncodedBytes(Codec::kQ8, 1));
  EXPECT_EQ(132u, EncodedBytes(Codec::kQ8, 65));
  EXPECT_EQ(260u, EncodedBytes(Codec::kFp32, 65));
}

TEST(ChunkCodec, Fp32LosesNothingAndEmptiesTheResidual) {
  Rng rng(24);
  const std::vector<float> update = Student3Values(1000, rng);
  std::vector<float> residual(1000, 0.25f);
  std::vector<float> with_residual(1000);
  for (size_t i = 0; i < 1000; ++i) with_residual[i] = update[i] + residual[i];
  std::vector<std::byte> payload(EncodedBytes(Codec::kFp32, 1000));
  Hash128 hash;
  EncodeDelta(Codec::kFp32, update, std::vector<float>(1000), residual, payload, hash);
  EXPECT_EQ(0, std::memcmp(payload.data(), with_residual.data(), payload.size()));
  EXPECT_EQ(std::vector<float>(1000, 0.0f), residual);
  const std::span<const std::byte> received = payload;
  const float weight = 1.0f;
  std::vector<float> sum(1000);
  DecodeAverage(Codec::kFp32, {&received, 1}, {&weight, 1}, sum);
  EXPECT_EQ(with_residual, sum);
}

TEST(ChunkCodec, ADamagedScaleIsRefusedWithItsBlock) {
  for (const Codec codec : {Codec::kQ4, Codec::kQ8}) {
    std::vector<std::byte> payload(EncodedBytes(codec, 130));
    const size_t last = payload.size() / kBlockScaleBytes - 1;
    ASSERT_TRUE(ValidatePayload(codec, payload, 130).ok());
    // Inf, -Inf, NaN, -0, a subnormal, and a normal one that is smaller than any encoder writes.
    for (uint16_t bad : {0x7F80, 0xFF80, 0x7FC1, 0x8000, 0x0001, 0x0D00}) {
      StoreBlockScale(bad, payload.data(), last);
      const Status status = ValidatePayload(codec, payload, 130);
      EXPECT_EQ(StatusCode::kDataLoss, status.code()) << bad;
      EXPECT_THAT(status.message(),
                  AllOf(HasSubstr(CodecName(codec)), HasSubstr("block 2 (values 128 to 129)")));
    }
    StoreBlockScale(0xFF7F, payload.data(), last);
    EXPECT_TRUE(ValidatePayload(codec, payload, 130).ok());
  }
}

TEST(ChunkCodec, AnyCodesWithValidScalesAreFiniteValues) {
  Rng rng(25);
  for (const Codec codec : {Codec::kQ4, Codec::kQ8}) {
    for (const uint16_t scale : {0x7F7F, 0xFF7F, 0x0D80, 0x8D80, 0x0000}) {
      constexpr size_t kValues = 3 * 64 + 5;
      std::vector<std::byte> payload(EncodedBytes(codec, kValues));
      for (std::byte& byte : payload) byte = static_cast<std::byte>(rng());
      for (size_t k = 0; k < 4; ++k) {
        StoreBlockScale(scale, payload.data(), payload.size() / kBlockScaleBytes - 1 - k);
      }
      ASSERT_TRUE(ValidatePayload(codec, payload, kValues).ok());
      std::vector<float> base(kValues, 0.0f);
      std::vector<float> params(kValues);
      Apply(codec, payload, base, params);
      for (const float value : params) EXPECT_FALSE(IsNonFinite(value));
    }
  }
}

TEST(ChunkCodec, EveryTruncationIsRefused) {
  for (const Codec codec : kAllCodecs) {
    const std::vector<std::byte> payload(EncodedBytes(codec, 130));
    for (size_t size = 0; size < payload.size(); ++size) {
      EXPECT_EQ(StatusCode::kInvalidArgument,
                ValidatePayload(codec, std::span(payload).first(size), 130).code());
    }
  }
}

TEST(ChunkCodec, ANonFiniteFp32ValueIsRefusedWithItsPlace) {
  std::vector<float> values(130, 1.0f);
  values[129] = std::numeric_limits<float>::infinity();
  const Status status = ValidatePayload(Codec::kFp32, std::as_bytes(std::span(values)), 130);
  EXPECT_EQ(StatusCode::kDataLoss, status.code());
  EXPECT_THAT(status.message(), HasSubstr("value 129"));
}

TEST(ChunkCodec, AnUnknownCodecIsRefused) {
  EXPECT_EQ(StatusCode::kInvalidArgument, ValidatePayload(static_cast<Codec>(9), {}, 0).code());
}

}  // namespace
}  // namespace interlude
