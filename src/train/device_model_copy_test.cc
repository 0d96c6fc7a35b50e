#include "train/device_model_copy.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <thread>

#include "base/thread_pool.h"
#include "codec/codec_test_data.h"
#include "train/test_devices.h"

namespace interlude {
namespace {

using Bytes = std::vector<std::byte>;

// Two tensors over five chunks, the last one short, of an odd number of values.
constexpr size_t kChunkParams = 320;
constexpr size_t kTotal = 4 * kChunkParams + 77;

Layout TestLayout() {
  return Layout::Create({{.name = "a", .shape = {500}}, {.name = "b", .shape = {kTotal - 500}}},
                        kChunkParams)
      .value();
}

// What the codec does in host memory, chunk by chunk.
struct HostCopy {
  Codec codec = Codec::kQ4;
  std::vector<float> parameters, base, residual;

  template <typename T>
  static std::span<T> Part(std::vector<T>& all, const ChunkRange& range) {
    return all.empty() ? std::span<T>() : std::span<T>(all).subspan(range.begin, range.count);
  }
  EncodeOutcome Encode(const ChunkRange& range, Bytes& out, Hash128& hash) {
    return EncodeDelta(codec, Part(parameters, range), Part(base, range), Part(residual, range),
                       out, hash);
  }
  Hash128 Apply(const ChunkRange& range, std::span<const std::byte> payload) {
    return ApplyAndHash(codec, payload, Part(base, range), Part(parameters, range));
  }
};

std::vector<float> FloatsOf(const at::Tensor& values) {
  const at::Tensor host = values.cpu();
  const float* data = host.data_ptr<float>();
  return {data, data + host.numel()};
}

class DeviceModelCopyTest : public ::testing::TestWithParam<std::tuple<Codec, bool>> {
 protected:
  void Begin(at::Device device) {
    host_.codec = std::get<0>(GetParam());
    host_.base = host_.parameters = Scaled(GaussianValues(kTotal, rng_), 0.05f);
    host_.residual.clear();
    if (std::get<1>(GetParam())) host_.residual.resize(kTotal);
    tensor_ = TensorOf(host_.parameters, device);
    copy_ = CreateDeviceModelCopy(layout_, host_.codec, std::get<1>(GetParam()), tensor_);
  }

  void Train(const std::vector<float>& step) {
    for (size_t i = 0; i < kTotal; ++i) host_.parameters[i] += step[i];
    tensor_.copy_(TensorOf(host_.parameters, at::kCPU));
  }

  // False where both refuse the chunk, whose residual is unspecified from then on.
  bool ExpectSameEncoding(uint32_t chunk) {
    const ChunkRange range = layout_.chunk(chunk);
    Bytes expected(EncodedBytes(host_.codec, range.count)), payload(expected.size());
    Hash128 expected_hash, hash;
    const auto expected_bad = host_.Encode(range, expected, expected_hash).first_nonfinite;
    EXPECT_EQ(copy_->Encode(chunk, payload, hash).first_nonfinite, expected_bad);
    if (expected_bad) return false;
    EXPECT_EQ(payload, expected);
    EXPECT_EQ(hash, expected_hash);
    return true;
  }

  bool ExpectSameEncodings() {
    bool sent = true;
    for (uint32_t chunk = 0; chunk < layout_.num_chunks(); ++chunk) {
      sent = ExpectSameEncoding(chunk) && sent;
    }
    return sent;
  }

  // The payload, at an odd address, is that of another model's chunk.
  Hash128 ApplySyncDelta(uint32_t chunk) {
    const ChunkRange range = layout_.chunk(chunk);
    const std::vector<float> zero(range.count),
        step = Scaled(GaussianValues(range.count, rng_), 1e-3f);
    Bytes memory(EncodedBytes(host_.codec, range.count) + 1);
    const std::span payload = std::span(memory).subspan(1);
    Hash128 ignored;
    EncodeDelta(host_.codec, step, zero, {}, payload, ignored);
    copy_->Apply(chunk, payload);
    return host_.Apply(range, payload);
  }

  std::vector<float> Base(uint32_t chunk) {
    std::vector<float> base(layout_.chunk(chunk).count);
    copy_->ReadBase(chunk, std::as_writable_bytes(std::span(base)));
    return base;
  }

  void ExpectSameBase(uint32_t chunk) {
    const auto part = HostCopy::Part(host_.base, layout_.chunk(chunk));
    EXPECT_TRUE(SameBits(Base(chunk), part));
    EXPECT_EQ(copy_->BaseHash(chunk), HashFloats(part));
  }

  Rng rng_{7};
  const Layout layout_ = TestLayout();
  HostCopy host_;
  at::Tensor tensor_;  // the trainer's parameters
  std::unique_ptr<ModelCopy> copy_;
};

TEST_P(DeviceModelCopyTest, WholeRoundsGiveTheBitsOfTheHostsCodec) {
  for (const at::Device device : TestDevices()) {
    for (const ValueShape& shape : ValueShapes()) {
      if (shape.name.starts_with("non-finite")) continue;
      SCOPED_TRACE(shape.name);
      Begin(device);
      for (int round = 0; round < 3; ++round) {
        Train(shape.make(kTotal, rng_));
        if (!ExpectSameEncodings()) break;  // sums of the largest values overflow
        std::vector<Hash128> hashes;
        for (uint32_t chunk = 0; chunk < layout_.num_chunks(); ++chunk) {
          hashes.push_back(ApplySyncDelta(chunk));
        }
        for (uint32_t chunk = 0; chunk < layout_.num_chunks(); ++chunk) {
          EXPECT_EQ(copy_->BaseHash(chunk), hashes[chunk]);
          ExpectSameBase(chunk);
        }
        EXPECT_TRUE(SameBits(FloatsOf(tensor_), host_.parameters));
      }
    }
  }
}

TEST_P(DeviceModelCopyTest, ADeltaThatIsCarriedOverGoesToTheResidualAsOnTheHost) {
  for (const at::Device device : TestDevices()) {
    Begin(device);
    Train(Scaled(GaussianValues(kTotal, rng_), 1e-3f));
    host_.parameters[3] = std::numeric_limits<float>::infinity();  // is lost
    tensor_.copy_(TensorOf(host_.parameters, at::kCPU));
    for (uint32_t chunk = 0; chunk < layout_.num_chunks(); ++chunk) {
      const ChunkRange range = layout_.chunk(chunk);
      const std::span<float> residual = HostCopy::Part(host_.residual, range);
      const std::span<float> values = HostCopy::Part(host_.parameters, range);
      const std::span<float> base = HostCopy::Part(host_.base, range);
      Bytes payload;
      if (chunk % 2 == 1) {  // encoded before the round went on without it
        payload.resize(EncodedBytes(host_.codec, range.count));
        Hash128 hash;
        copy_->Encode(chunk, payload, hash);
        host_.Encode(range, payload, hash);
      }
      copy_->CarryOver(chunk, payload);
      for (size_t i = 0; i < residual.size() && payload.empty(); ++i) {
        const float sum = residual[i] + (values[i] - base[i]);
        if (std::isfinite(sum)) residual[i] = sum;
      }
      std::vector<float> ignored(range.count);
      if (!payload.empty() && !residual.empty()) Apply(host_.codec, payload, residual, ignored);
      std::ranges::copy(base, values.begin());
    }
    EXPECT_TRUE(SameBits(FloatsOf(tensor_), host_.parameters));
    EXPECT_TRUE(ExpectSameEncodings());
  }
}

TEST_P(DeviceModelCopyTest, ANonFiniteDeltaIsReportedAsTheHostReportsIt) {
  const float inf = std::numeric_limits<float>::infinity();
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const at::Device device : TestDevices()) {
    for (const float bad : {inf, -inf, nan}) {
      Begin(device);
      std::vector<float> step(kTotal);
      step[kChunkParams + 100] = bad;
      step[kChunkParams + 17] = bad;
      step[kTotal - 1] = bad;
      Train(step);
      EXPECT_FALSE(ExpectSameEncodings());
    }
  }
}

TEST_P(DeviceModelCopyTest, AnOverflowingDifferenceIsReportedToo) {
  for (const at::Device device : TestDevices()) {
    Begin(device);
    const std::vector<float> lowest(kChunkParams, std::numeric_limits<float>::lowest());
    ASSERT_TRUE(copy_->ReplaceBase(1, std::as_bytes(std::span(lowest))).ok());
    std::vector<float> parameters(kTotal);
    parameters[kChunkParams + 33] = std::numeric_limits<float>::max();
    tensor_.copy_(TensorOf(parameters, at::kCPU));
    Bytes payload(EncodedBytes(host_.codec, kChunkParams));
    Hash128 hash;
    EXPECT_EQ(copy_->Encode(1, payload, hash).first_nonfinite, std::optional<size_t>(33));
  }
}

TEST_P(DeviceModelCopyTest, ACallerThatFlushesSubnormalsGetsTheSameBits) {
  if (!at::globalContext().setFlushDenormal(true)) GTEST_SKIP() << "this CPU can't flush";
  at::globalContext().setFlushDenormal(false);
  Begin(at::kCPU);
  const std::vector<float> zero(kTotal);
  for (uint32_t chunk = 0; chunk < layout_.num_chunks(); ++chunk) {
    const auto part = std::as_bytes(std::span(zero).first(layout_.chunk(chunk).count));
    ASSERT_TRUE(copy_->ReplaceBase(chunk, part).ok());
  }
  host_.base = host_.parameters = zero;
  for (int round = 0; round < 2; ++round) {
    Train(Scaled(GaussianValues(kTotal, rng_), 0x1p-135f));
    at::globalContext().setFlushDenormal(true);
    ExpectSameEncodings();
    at::globalContext().setFlushDenormal(false);
  }
}

TEST_P(DeviceModelCopyTest, AReplacedChunkIsBaseAndParametersAndKeepsTheRest) {
  for (const at::Device device : TestDevices()) {
    Begin(device);
    Train(Scaled(GaussianValues(kTotal, rng_), 1e-2f));
    const ChunkRange range = layout_.chunk(4);
    const std::vector<float> repaired = GaussianValues(range.count, rng_);
    ASSERT_TRUE(copy_->ReplaceBase(4, std::as_bytes(std::span(repaired))).ok());
    std::ranges::copy(repaired, host_.base.begin() + static_cast<long>(range.begin));
    std::ranges::copy(repaired, host_.parameters.begin() + static_cast<long>(range.begin));
    for (uint32_t chunk = 0; chunk < layout_.num_chunks(); ++chunk) ExpectSameBase(chunk);
    EXPECT_TRUE(SameBits(FloatsOf(tensor_), host_.parameters));
  }
}

TEST_P(DeviceModelCopyTest, ADamagedReplacementChangesNothing) {
  Begin(at::kCPU);
  std::vector<float> damaged(kChunkParams, 1.0f);
  damaged[3] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(copy_->ReplaceBase(0, std::as_bytes(std::span(damaged))).code(), StatusCode::kDataLoss);
  EXPECT_EQ(copy_->ReplaceBase(0, std::as_bytes(std::span(damaged).first(8))).code(),
            StatusCode::kInvalidArgument);
  ExpectSameBase(0);
  EXPECT_TRUE(SameBits(FloatsOf(tensor_), host_.parameters));
}

TEST_P(DeviceModelCopyTest, ThreadsMayWorkOnDifferentChunks) {
  Begin(at::kCPU);
  Train(Scaled(GaussianValues(kTotal, rng_), 1e-2f));
  std::vector<Bytes> payloads;
  std::vector<Hash128> hashes(layout_.num_chunks());
  for (uint32_t chunk = 0; chunk < layout_.num_chunks(); ++chunk) {
    payloads.emplace_back(EncodedBytes(host_.codec, layout_.chunk(chunk).count));
  }
  ThreadPool pool(3);
  pool.ParallelFor(layout_.num_chunks(), 1, [&](size_t begin, size_t end) {
    for (auto chunk = static_cast<uint32_t>(begin); chunk < end; ++chunk) {
      Hash128 hash;
      copy_->Encode(chunk, payloads[chunk], hash);
      copy_->Apply(chunk, payloads[chunk]);
      hashes[chunk] = copy_->BaseHash(chunk);
    }
  });
  for (uint32_t chunk = 0; chunk < layout_.num_chunks(); ++chunk) {
    Bytes expected(payloads[chunk].size());
    Hash128 hash;
    host_.Encode(layout_.chunk(chunk), expected, hash);
    EXPECT_EQ(payloads[chunk], expected);
    EXPECT_EQ(hashes[chunk], host_.Apply(layout_.chunk(chunk), expected));
  }
}

INSTANTIATE_TEST_SUITE_P(Codecs, DeviceModelCopyTest,
                         ::testing::Combine(::testing::ValuesIn(kAllCodecs), ::testing::Bool()),
                         [](const auto& instance) {
                           return std::string(CodecName(std::get<0>(instance.param))) +
                                  (std::get<1>(instance.param) ? "WithResidual" : "");
                         });

}  // namespace
}  // namespace interlude
