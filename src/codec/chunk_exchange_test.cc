// The fused calls of the exchange against their parts one after the other, bit for bit.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "codec/chunk_codec.h"
#include "codec/chunk_payload.h"
#include "codec/codec_test_data.h"
#include "codec/float_environment.h"

namespace interlude {
namespace {

/// One value, a short block, a block and its neighbours, about a tile of 8192 values, several tiles
/// with a short last block.
constexpr size_t kCounts[] = {1, 63, 64, 65, 8191, 8192, 8193, 16384, 2 * 8192 + 77};

/// One update from a merged delta and its state, as an outer optimizer makes it, value by value.
using StepFunction = void (*)(float& value, float& first, float& second);

void Sgd(float& value, float&, float&) { value = 0.7f * value; }

void Nesterov(float& value, float& momentum, float&) {
  momentum = 0.9f * momentum + value;
  value = 0.7f * (value + 0.9f * momentum);
}

void AdamLike(float& value, float& first, float& second) {
  first = 0.9f * first + 0.1f * value;
  second = 0.95f * second + 0.05f * (value * value);
  value = 0.01f * (first / (std::sqrt(second) + 1e-8f));
}

/// All that a merge of a chunk reads and writes. Spans begin `offset` values into their vectors.
struct Chunk {
  Chunk(Codec codec, size_t values, size_t begin, size_t contributors, Rng& rng)
      : count(values), offset(begin), out(EncodedBytes(codec, values) + 1) {
    base = GaussianValues(count + offset, rng);
    residual = Scaled(GaussianValues(count + offset, rng), 0.01f);
    params = GaussianValues(count + offset, rng);
    first.assign(count, 0.125f);
    second.assign(count, 0.25f);
    for (size_t k = 0; k < contributors; ++k) {
      payloads.emplace_back(EncodedBytes(codec, count) + 1);
      weights.push_back(rng.Uniform());
      Hash128 hash;
      EncodeDelta(codec, GaussianValues(count, rng), GaussianValues(count, rng), {},
                  std::span(payloads.back()).subspan(1), hash);
    }
  }

  std::span<float> At(std::vector<float>& values) const {
    return std::span(values).subspan(offset);
  }
  std::span<std::byte> Out() { return std::span(out).subspan(1); }
  std::vector<std::span<const std::byte>> Payloads() const {
    std::vector<std::span<const std::byte>> spans;
    for (const auto& payload : payloads) spans.push_back(std::span(payload).subspan(1));
    return spans;
  }

  size_t count;
  size_t offset;
  std::vector<float> base, residual, params, first, second, weights;
  std::vector<std::byte> out;
  std::vector<std::vector<std::byte>> payloads;
};

class Exchange : public testing::TestWithParam<Codec> {
 protected:
  /// DecodeAverage by the kernels of one payload after the other, from zero.
  std::vector<float> SumOf(const Chunk& chunk) const {
    std::vector<float> sum(chunk.count, 0.0f);
    for (size_t k = 0; k < chunk.payloads.size(); ++k) {
      const ChunkPayload payload(GetParam(), chunk.Payloads()[k], chunk.count);
      const WeightedPayload one = {payload.codes(0), payload.scales(0), chunk.weights[k]};
      SpecifiedKernels(GetParam()).decode_sum({&one, 1}, SumStart::kSum, sum.data(), sum.size());
    }
    return sum;
  }

  /// The merge stage by stage, with the specification's kernels.
  MergeOutcome MergeInStages(Chunk& chunk, StepFunction step, bool with_residual) const {
    std::vector<float> sum = SumOf(chunk);
    for (size_t i = 0; i < sum.size(); ++i) step(sum[i], chunk.first[i], chunk.second[i]);
    const std::span<float> base = chunk.At(chunk.base);
    const ChunkPayload out(GetParam(), chunk.Out(), chunk.count);
    const CodecKernels& kernels = SpecifiedKernels(GetParam());
    kernels.encode_update(sum.data(), with_residual ? chunk.At(chunk.residual).data() : nullptr,
                          base.data(), sum.size(), out.codes(0), out.scales(0));
    return {{}, HashFloats(base), HashBytes(chunk.Out())};
  }

  MergeOutcome MergeFused(Chunk& chunk, StepFunction step, bool with_residual,
                          bool in_registers) const {
    size_t next = 0;
    const auto update = [&](size_t begin, std::span<float> values) {
      EXPECT_EQ(next, begin);
      next = begin + values.size();
      for (size_t i = 0; i < values.size(); ++i) {
        step(values[i], chunk.first[begin + i], chunk.second[begin + i]);
      }
    };
    UpdateRule rule{update, {}, {}};
    if (in_registers) {
      rule.momentum = MomentumUpdate{
          0.7f, 0.9f, step == Nesterov ? std::span(chunk.first) : std::span<float>()};
    }
    const MergeOutcome outcome =
        MergeChunkUpdate(GetParam(), chunk.Payloads(), chunk.weights, rule,
                         with_residual ? chunk.At(chunk.residual) : std::span<float>(),
                         chunk.At(chunk.base), chunk.Out());
    if (!in_registers) {
      EXPECT_EQ(chunk.count, next);
    }
    return outcome;
  }

  void ExpectMergesEqual(const Chunk& chunk, StepFunction step, bool with_residual) {
    SCOPED_TRACE(testing::Message() << chunk.count << " values at " << chunk.offset << " of "
                                    << chunk.payloads.size() << ", residual " << with_residual);
    Chunk staged = chunk;
    const MergeOutcome expected = MergeInStages(staged, step, with_residual);
    for (const bool in_registers : {false, true}) {
      if (in_registers && step == AdamLike) continue;
      ExpectMerge(chunk, step, with_residual, in_registers, staged, expected);
    }
  }

  void ExpectMerge(const Chunk& chunk, StepFunction step, bool with_residual, bool in_registers,
                   const Chunk& staged, const MergeOutcome& expected) {
    SCOPED_TRACE(testing::Message() << "in registers " << in_registers);
    Chunk fused = chunk;
    const MergeOutcome outcome = MergeFused(fused, step, with_residual, in_registers);
    EXPECT_FALSE(outcome.first_nonfinite);
    EXPECT_EQ(expected.base_hash, outcome.base_hash);
    EXPECT_EQ(expected.payload_hash, outcome.payload_hash);
    EXPECT_TRUE(SameBits(staged.base, fused.base));
    EXPECT_TRUE(SameBits(staged.residual, fused.residual));
    EXPECT_TRUE(SameBits(staged.first, fused.first) && SameBits(staged.second, fused.second));
    EXPECT_EQ(staged.out, fused.out);
  }

  const DefaultFloatEnvironment environment_;
};

TEST_P(Exchange, AMergeEqualsItsStagesOneAfterTheOther) {
  Rng rng(31);
  for (const size_t count : kCounts) {
    for (const size_t offset : {0, 3}) {
      const Chunk chunk(GetParam(), count, offset, 1 + rng.Below(5), rng);
      for (const StepFunction step : {Sgd, Nesterov, AdamLike}) {
        ExpectMergesEqual(chunk, step, true);
        ExpectMergesEqual(chunk, step, false);
      }
    }
  }
}

TEST_P(Exchange, AMergeOfNobodyOrOfManyEqualsItsStages) {
  Rng rng(32);
  for (const size_t contributors : {0, 16, 17, 40}) {
    ExpectMergesEqual(Chunk(GetParam(), 8300, 0, contributors, rng), Nesterov, true);
  }
}

TEST_P(Exchange, AMergeNamesTheFirstNonFiniteUpdate) {
  Rng rng(33);
  for (const size_t bad : {size_t{0}, size_t{70}, size_t{8192}, size_t{18001}}) {
    Chunk chunk(GetParam(), 18002, 0, 2, rng);
    const auto step = [&](size_t begin, std::span<float> values) {
      for (const size_t i : {bad, size_t{18001}}) {
        if (begin <= i && i < begin + values.size()) {
          values[i - begin] = std::numeric_limits<float>::infinity();
        }
      }
    };
    EXPECT_EQ(bad, MergeChunkUpdate(GetParam(), chunk.Payloads(), chunk.weights,
                                    UpdateRule{step, {}, {}}, {}, chunk.base, chunk.Out())
                       .first_nonfinite);
  }
}

TEST_P(Exchange, AnAverageIsTheSumInOrderFromPlusZero) {
  Rng rng(34);
  for (const size_t count : kCounts) {
    for (const size_t contributors : {0, 1, 4, 17}) {
      for (const size_t offset : {0, 3}) {
        const Chunk chunk(GetParam(), count, offset, contributors, rng);
        std::vector<float> sum(count + offset, 5.0f);
        DecodeAverage(GetParam(), chunk.Payloads(), chunk.weights, chunk.At(sum));
        const std::vector<float> expected = SumOf(chunk);
        EXPECT_TRUE(SameBits(expected, chunk.At(sum))) << count << " of " << contributors;
      }
    }
  }
}

/// Not a sum, and another value for another order of contributors.
void Alternate(std::span<const float* const> values, std::span<float> merged) {
  for (size_t i = 0; i < merged.size(); ++i) {
    merged[i] = values[0][i];
    for (size_t k = 1; k < values.size(); ++k) merged[i] = values[k][i] - 0.5f * merged[i];
  }
}

TEST_P(Exchange, ACombinedMergeEqualsItsStagesOneAfterTheOther) {
  Rng rng(38);
  for (const size_t count : kCounts) {
    for (const size_t contributors : {1, 3, 8, 17, 200}) {
      if (contributors == 200 && count > 9000) continue;
      Chunk staged(GetParam(), count, 3, contributors, rng);
      Chunk fused = staged;
      std::vector<std::vector<float>> decoded(contributors, std::vector<float>(count));
      std::vector<const float*> rows;
      for (size_t k = 0; k < contributors; ++k) {
        const std::span<const std::byte> payload = staged.Payloads()[k];
        DecodeAverage(GetParam(), {&payload, 1}, {&staged.weights[k], 1}, decoded[k]);
        rows.push_back(decoded[k].data());
      }
      std::vector<float> update(count);
      Alternate(rows, update);
      std::vector<float> combined(count);
      DecodeCombined(GetParam(), staged.Payloads(), staged.weights, Alternate, combined);
      EXPECT_TRUE(SameBits(update, combined));
      for (float& value : update) value = 0.7f * value;
      EncodeUpdate(GetParam(), update, staged.At(staged.residual), staged.At(staged.base),
                   staged.Out());
      const auto step = [](size_t, std::span<float> values) {
        for (float& value : values) value = 0.7f * value;
      };
      const MergeOutcome outcome =
          MergeChunkUpdate(GetParam(), fused.Payloads(), fused.weights,
                           UpdateRule{step, MomentumUpdate{0.7f, 0, {}}, Alternate},
                           fused.At(fused.residual), fused.At(fused.base), fused.Out());
      EXPECT_FALSE(outcome.first_nonfinite);
      EXPECT_TRUE(SameBits(staged.base, fused.base)) << count << " of " << contributors;
      EXPECT_TRUE(SameBits(staged.residual, fused.residual)) << count << " of " << contributors;
      EXPECT_EQ(staged.out, fused.out);
      EXPECT_EQ(HashBytes(fused.Out()), outcome.payload_hash);
    }
  }
}

TEST_P(Exchange, CombiningNobodysDeltasGivesZeros) {
  std::vector<float> merged(100, 5.0f);
  DecodeCombined(GetParam(), {}, {}, Alternate, merged);
  EXPECT_TRUE(SameBits(merged, std::vector<float>(100, 0.0f)));
}

TEST_P(Exchange, APayloadsNormIsThatOfItsDecodedValues) {
  Rng rng(39);
  for (const ValueShape& shape : ValueShapes()) {
    if (shape.name.starts_with("non-finite")) continue;
    for (const size_t count : {1, 64, 65, 1000, 16384}) {
      std::vector<std::byte> payload(EncodedBytes(GetParam(), count));
      std::vector<float> base(count);
      EncodeUpdate(GetParam(), shape.make(count, rng), {}, base, payload);
      const std::span<const std::byte> received = payload;
      const float weight = 1.0f;
      std::vector<float> values(count);
      DecodeAverage(GetParam(), {&received, 1}, {&weight, 1}, values);
      double expected = 0;
      for (size_t begin = 0; begin < count; begin += kBlockValues) {
        double in_block = 0;
        for (size_t i = begin; i < std::min(count, begin + kBlockValues); ++i) {
          in_block += static_cast<double>(values[i]) * static_cast<double>(values[i]);
        }
        expected += in_block;
      }
      EXPECT_EQ(expected, PayloadSquaredNorm(GetParam(), payload, count)) << shape.name;
      EXPECT_TRUE(std::isfinite(expected)) << shape.name;
    }
  }
}

TEST_P(Exchange, ApplyAndHashIsApplyAndTheBasesHash) {
  Rng rng(35);
  for (const size_t count : kCounts) {
    for (const size_t offset : {0, 3}) {
      Chunk chunk(GetParam(), count, offset, 1, rng);
      Chunk fused = chunk;
      Chunk single = chunk;
      const ChunkPayload payload(GetParam(), chunk.Payloads()[0], count);
      SpecifiedKernels(GetParam())
          .apply(payload.codes(0), payload.scales(0), chunk.At(chunk.base).data(),
                 chunk.At(chunk.params).data(), count);
      const Hash128 hash = ApplyAndHash(GetParam(), fused.Payloads()[0], fused.At(fused.base),
                                        fused.At(fused.params));
      Apply(GetParam(), single.Payloads()[0], single.At(single.base), single.At(single.params));
      EXPECT_EQ(HashFloats(chunk.At(chunk.base)), hash) << count;
      EXPECT_TRUE(SameBits(chunk.base, fused.base) && SameBits(chunk.base, single.base)) << count;
      EXPECT_TRUE(SameBits(chunk.params, fused.params)) << count;
      EXPECT_TRUE(SameBits(chunk.params, single.params)) << count;
    }
  }
}

TEST_P(Exchange, AnEncodedDeltaComesWithItsPayloadsHash) {
  Rng rng(36);
  for (const size_t count : kCounts) {
    for (const size_t offset : {0, 3}) {
      Chunk chunk(GetParam(), count, offset, 0, rng);
      Chunk whole = chunk;
      const ChunkPayload out(GetParam(), whole.Out(), count);
      SpecifiedKernels(GetParam())
          .encode_delta(whole.At(whole.params).data(), whole.At(whole.base).data(),
                        whole.At(whole.residual).data(), count, out.codes(0), out.scales(0));
      Hash128 hash;
      EXPECT_FALSE(EncodeDelta(GetParam(), chunk.At(chunk.params), chunk.At(chunk.base),
                               chunk.At(chunk.residual), chunk.Out(), hash)
                       .first_nonfinite);
      EXPECT_EQ(HashBytes(whole.Out()), hash) << count;
      EXPECT_EQ(whole.out, chunk.out) << count;
      EXPECT_TRUE(SameBits(whole.residual, chunk.residual)) << count;
    }
  }
}

TEST_P(Exchange, ANonFiniteDeltaOfALaterTileIsNamed) {
  Rng rng(37);
  Chunk chunk(GetParam(), 18002, 0, 0, rng);
  chunk.params[17999] = std::numeric_limits<float>::quiet_NaN();
  Hash128 hash{1, 2};
  EXPECT_EQ(
      17999u,
      EncodeDelta(GetParam(), chunk.params, chunk.base, {}, chunk.Out(), hash).first_nonfinite);
  EXPECT_EQ(Hash128{}, hash);
}

INSTANTIATE_TEST_SUITE_P(Codecs, Exchange, testing::ValuesIn(kAllCodecs),
                         [](const auto& codec) { return CodecName(codec.param); });

}  // namespace
}  // namespace interlude
