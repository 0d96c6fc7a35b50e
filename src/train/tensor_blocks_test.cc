#include "train/tensor_blocks.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "codec/block_format.h"
#include "codec/chunk_payload.h"
#include "codec/codec_test_data.h"
#include "codec/q4_book.h"
#include "codec/q8_codes.h"
#include "train/tensor_non_finite.h"
#include "train/test_devices.h"

namespace interlude {
namespace {

using Payload = std::vector<std::byte>;

const size_t kCounts[] = {1, 5, 63, 64, 65, 127, 640, 4133, 40001};

bool AllFinite(const std::vector<float>& values) {
  return std::ranges::none_of(values, [](float value) { return IsNonFinite(value); });
}

// As the specification does it.
Payload ScalarEncode(Codec codec, const std::vector<float>& deltas) {
  Payload bytes(EncodedBytes(codec, deltas.size()));
  const ChunkPayload payload(codec, std::span(bytes), deltas.size());
  std::vector<float> base(deltas.size());
  SpecifiedKernels(codec).encode_update(deltas.data(), nullptr, base.data(), deltas.size(),
                                        payload.codes(0), payload.scales(0));
  return bytes;
}

std::vector<float> ScalarDecode(Codec codec, const Payload& bytes, size_t count) {
  const ChunkPayload payload(codec, std::span(bytes), count);
  std::vector<float> base(count, -0.0f);  // -0 + v is v, of either sign
  std::vector<float> params(count);
  SpecifiedKernels(codec).apply(payload.codes(0), payload.scales(0), base.data(), params.data(),
                                count);
  return base;
}

Payload BytesOf(const at::Tensor& payload) {
  const at::Tensor host = payload.cpu();
  Payload bytes(static_cast<size_t>(host.numel()));
  std::memcpy(bytes.data(), host.data_ptr<uint8_t>(), bytes.size());
  return bytes;
}

std::vector<float> FloatsOf(const at::Tensor& values) {
  const at::Tensor host = values.cpu().contiguous();
  const float* data = host.data_ptr<float>();
  return {data, data + host.numel()};
}

class TensorBlocksTest : public testing::TestWithParam<Codec> {
 protected:
  static void ExpectSpecified(const std::vector<float>& deltas, at::Device device) {
    const TensorBlocks blocks(GetParam(), device);
    const Payload expected = ScalarEncode(GetParam(), deltas);
    const at::Tensor payload = blocks.Encode(TensorOf(deltas, device));
    EXPECT_EQ(BytesOf(payload), expected);
    EXPECT_TRUE(SameBits(FloatsOf(blocks.Decode(payload, static_cast<int64_t>(deltas.size()))),
                         ScalarDecode(GetParam(), expected, deltas.size())));
  }

  // Ratios of values and scales between two codes.
  static std::vector<float> Thresholds() {
    if (GetParam() == Codec::kQ4) return {kQ4Thresholds.begin(), kQ4Thresholds.end()};
    std::vector<float> middles;
    for (float steps = kQ8LowestSteps; steps < kQ8Steps; ++steps) {
      middles.push_back((steps + 0.5f) / kQ8Steps);
    }
    return middles;
  }
};

TEST_P(TensorBlocksTest, EncodesAndDecodesEveryKindOfValuesAsSpecified) {
  Rng rng(1);
  for (const at::Device device : TestDevices()) {
    for (const ValueShape& shape : ValueShapes()) {
      for (const size_t count : kCounts) {
        const std::vector<float> deltas = shape.make(count, rng);
        if (!AllFinite(deltas)) continue;
        SCOPED_TRACE(fmt::format("{}, {} values, {}", shape.name, count, device.str()));
        ExpectSpecified(deltas, device);
      }
    }
  }
}

// The numbers on and next to each threshold, times scales that are powers of two, so that the ratio
// is exact.
TEST_P(TensorBlocksTest, ARatioOnAThresholdTakesTheCodeOfTheFormat) {
  for (const at::Device device : TestDevices()) {
    for (const float scale : {1.0f, -1.0f, 0x1p-100f, -0x1p-90f, 0x1p120f}) {
      std::vector<float> deltas;
      for (const float threshold : Thresholds()) {
        if (deltas.size() % 64 == 0) deltas.push_back(scale);
        for (const float ratio :
             {std::nextafter(threshold, -2.0f), threshold, std::nextafter(threshold, 2.0f)}) {
          deltas.push_back(ratio * scale);
        }
      }
      SCOPED_TRACE(scale);
      ExpectSpecified(deltas, device);
    }
  }
}

// 1 / scale is subnormal from 2^126 on, and the largest values round up to an infinite bf16.
TEST_P(TensorBlocksTest, ScalesAtBothEndsAreAsSpecified) {
  constexpr float kLargest = std::numeric_limits<float>::max();
  for (const at::Device device : TestDevices()) {
    for (const float end : {kLargest, 3.3895e38f, 0x1p126f, 0x1p-100f, 0x1.fffffep-101f, 1e-30f,
                            std::numeric_limits<float>::denorm_min()}) {
      for (const float sign : {1.0f, -1.0f}) {
        std::vector<float> deltas;
        for (int i = 0; i < 70; ++i) deltas.push_back(sign * end * (1 - 0.025f * i));
        SCOPED_TRACE(sign * end);
        ExpectSpecified(deltas, device);
      }
    }
  }
}

TEST_P(TensorBlocksTest, AnyCodesAndAnyValidScalesDecodeAsSpecified) {
  Rng rng(3);
  constexpr size_t kCount = 64 * 300 + 9;
  Payload payload(EncodedBytes(GetParam(), kCount));
  for (std::byte& byte : payload) byte = static_cast<std::byte>(rng());
  for (size_t block = 0; block < BlockCount(kCount); ++block) {
    StoreBlockScale(BlockScaleOf(static_cast<uint32_t>(rng()) & ~0x40000000u),
                    payload.data() + BlockCount(kCount) * BlockCodeBytes(GetParam()), block);
  }
  for (const at::Device device : TestDevices()) {
    const at::Tensor tensor =
        at::from_blob(payload.data(), {static_cast<int64_t>(payload.size())}, at::kByte)
            .clone()
            .to(device);
    EXPECT_TRUE(SameBits(FloatsOf(TensorBlocks(GetParam(), device).Decode(tensor, kCount)),
                         ScalarDecode(GetParam(), payload, kCount)));
  }
}

INSTANTIATE_TEST_SUITE_P(Codecs, TensorBlocksTest, testing::Values(Codec::kQ4, Codec::kQ8),
                         [](const auto& codec) { return CodecName(codec.param); });

TEST(TensorNonFiniteTest, TheFirstBadPositionIsFoundInEveryPiece) {
  constexpr int64_t kCount = (int64_t{1} << 22) + 100;
  for (const at::Device device : TestDevices()) {
    at::Tensor values = at::full({kCount}, std::numeric_limits<float>::max(), at::kFloat);
    values = values.to(device);
    EXPECT_EQ(FindNonFinite(values), std::nullopt);
    for (const int64_t position :
         {kCount - 1, int64_t{1} << 22, (int64_t{1} << 22) - 1, int64_t{77}, int64_t{0}}) {
      values[position] = position % 2 == 0 ? -std::numeric_limits<float>::infinity()
                                           : std::numeric_limits<float>::quiet_NaN();
      EXPECT_EQ(FindNonFinite(values), static_cast<size_t>(position));
    }
  }
}

}  // namespace
}  // namespace interlude
