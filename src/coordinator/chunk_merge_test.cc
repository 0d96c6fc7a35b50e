// Merging one chunk by every rule: against the rules in executable form (optim/merge.h) bit for
// bit, and what the rules promise about bad updates.
#include "coordinator/chunk_merge.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/rng.h"

namespace interlude {
namespace {

constexpr MergeRuleKind kAllRules[] = {MergeRuleKind::kWeightedMean, MergeRuleKind::kMean,
                                       MergeRuleKind::kTrimmedMean,
                                       MergeRuleKind::kCoordinateMedian};

std::vector<float> Noise(size_t count, float size, Rng& rng) {
  std::vector<float> values(count);
  for (float& value : values) value = (rng.Uniform() - 0.5f) * size;
  return values;
}

bool SameBits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() &&
         (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0);
}

/// The memory of a chunk, and what is merged into it.
struct Chunk {
  Chunk(const RunConfig& config, size_t count, Rng& rng)
      : codec(CodecOf(config)),
        optimizer(OuterOptimizerOf(config)),
        base(Noise(count, 1.0f, rng)),
        state(count * OuterStatePerParam(optimizer.type), 0.0f),
        residual(IsLossy(codec) ? count : 0, 0.0f),
        sync(EncodedBytes(codec, count)) {}

  void Add(const std::vector<float>& delta, uint64_t samples) {
    payloads.emplace_back(sync.size());
    Hash128 hash;
    const std::vector<float> zero(delta.size());
    EXPECT_FALSE(EncodeDelta(codec, delta, zero, {}, payloads.back(), hash).first_nonfinite);
    order.contributors.push_back({static_cast<WorkerId>(order.contributors.size()), samples});
  }

  StatusOr<MergeOutcome> Merge(const RunConfig& config, MergeReport* report = nullptr) {
    const ChunkMerge merge = ChunkMerge::Create(config).value();
    const std::vector<std::span<const std::byte>> spans(payloads.begin(), payloads.end());
    return merge.Merge(order, spans, {.base = base, .state = state, .residual = residual}, sync,
                       report);
  }

  /// The same by the specification, stage by stage.
  void MergeBySpecification(const RunConfig& config) {
    std::vector<std::vector<float>> deltas;
    std::vector<uint64_t> samples;
    for (size_t k = 0; k < payloads.size(); ++k) {
      deltas.emplace_back(base.size());
      const std::span<const std::byte> payload = payloads[k];
      const float one = 1.0f;
      DecodeAverage(codec, {&payload, 1}, {&one, 1}, deltas.back());
      samples.push_back(order.contributors[k].samples);
    }
    std::vector<float> update(base.size());
    MergeDeltas(MergeOptionsOf(config),
                std::vector<std::span<const float>>(deltas.begin(), deltas.end()), samples, update);
    OuterStep(optimizer, order.round, update, std::span<float>(state), update);
    EncodeUpdate(codec, update, residual, base, sync);
  }

  Codec codec;
  OuterOptimizerOptions optimizer;
  std::vector<float> base, state, residual;
  std::vector<std::byte> sync;
  std::vector<std::vector<std::byte>> payloads;
  MergeOrder order{.round = 1};
};

class ChunkMergeTest : public testing::TestWithParam<CodecKind> {
 protected:
  RunConfig Config(MergeRuleKind rule) const {
    RunConfig config;
    config.round.codec = GetParam();
    config.outer.merge = rule;
    return config;
  }
};

TEST_P(ChunkMergeTest, EveryRuleGivesItsSpecificationsBits) {
  Rng rng(1);
  for (const MergeRuleKind rule : kAllRules) {
    for (const OuterOptimizerKind optimizer :
         {OuterOptimizerKind::kNesterov, OuterOptimizerKind::kAdam}) {
      for (const double bound : {0.0, 1.0, 2.5}) {
        for (const size_t contributors : {1, 2, 3, 4, 5, 8, 17}) {
          RunConfig config = Config(rule);
          config.outer.optimizer = optimizer;
          config.outer.norm_bound = bound;
          Chunk fused(config, contributors == 3 ? 20'003 : 777, rng);
          for (size_t k = 0; k < contributors; ++k) {
            fused.Add(Noise(fused.base.size(), std::ldexp(1.0f, static_cast<int>(k % 5)), rng),
                      1 + rng.Below(1000));
          }
          Chunk staged = fused;
          for (uint32_t round = 1; round <= 2; ++round) {
            fused.order.round = staged.order.round = round;
            const auto outcome = fused.Merge(config);
            ASSERT_TRUE(outcome.ok() && !outcome->first_nonfinite);
            staged.MergeBySpecification(config);
            ASSERT_EQ(outcome->base_hash, HashFloats(staged.base));
            ASSERT_EQ(outcome->payload_hash, HashBytes(staged.sync));
          }
          ASSERT_TRUE(SameBits(fused.base, staged.base) && SameBits(fused.state, staged.state) &&
                      SameBits(fused.residual, staged.residual) && fused.sync == staged.sync)
              << "rule " << static_cast<int>(rule) << ", bound " << bound << ", " << contributors;
        }
      }
    }
  }
}

/// How far a merge of honest deltas, all shorter than 1 a parameter, and one huge one goes.
double FarthestMove(const RunConfig& config, size_t honest, float huge, uint64_t seed,
                    MergeReport* report = nullptr) {
  Rng rng(seed);
  Chunk chunk(config, 1000, rng);
  const size_t bad = rng.Below(honest + 1);
  for (size_t k = 0; k <= honest; ++k) {
    if (k == bad) {
      chunk.Add(Noise(1000, huge, rng), 1 + rng.Below(100));
    } else {
      chunk.Add(Noise(1000, 2.0f, rng), 1 + rng.Below(100));
    }
  }
  const std::vector<float> before = chunk.base;
  const auto outcome = chunk.Merge(config, report);
  EXPECT_TRUE(outcome.ok() && !outcome->first_nonfinite);
  double farthest = 0;
  for (size_t i = 0; i < before.size(); ++i) {
    farthest = std::max(farthest, std::abs(static_cast<double>(chunk.base[i] - before[i])));
  }
  return farthest;
}

TEST_P(ChunkMergeTest, OneOfThreeOrMoreWithAHugeDeltaMovesTheBaseNoFartherThanTheOthersWould) {
  for (const MergeRuleKind rule : {MergeRuleKind::kTrimmedMean, MergeRuleKind::kCoordinateMedian}) {
    RunConfig config = Config(rule);
    config.outer.optimizer = OuterOptimizerKind::kSgd;
    config.outer.learning_rate = 1.0;
    for (uint64_t seed = 1; seed <= 40; ++seed) {
      for (const float huge : {1e3f, 1e20f, 3e38f}) {
        // The sync delta's block maximum is rounded to bf16: by up to 2^-8 of it.
        EXPECT_LE(FarthestMove(config, 2 + seed % 6, huge, seed), 1.0 + 0x1p-7);
      }
    }
  }
}

TEST_P(ChunkMergeTest, ANormBoundKeepsAHugeDeltaToItsShare) {
  for (const MergeRuleKind rule : {MergeRuleKind::kMean, MergeRuleKind::kWeightedMean}) {
    RunConfig config = Config(rule);
    config.outer.optimizer = OuterOptimizerKind::kSgd;
    config.outer.learning_rate = 1.0;
    config.outer.norm_bound = 3.0;
    for (uint64_t seed = 1; seed <= 40; ++seed) {
      for (const float huge : {1e3f, 1e20f, 3e38f}) {
        MergeReport report;
        // A uniform delta of 1000 values within 1 has a norm of about 18.3, and the bad one at
        // most 3 times that spread in the same way: 3 a parameter, weighed with the others.
        EXPECT_LE(FarthestMove(config, 2 + seed % 6, huge, seed, &report), 3.5);
        EXPECT_EQ(1, std::count_if(report.factors.begin(), report.factors.end(),
                                   [](double factor) { return factor < 0.01; }));
        EXPECT_EQ(2 + seed % 6, static_cast<uint64_t>(
                                    std::count(report.factors.begin(), report.factors.end(), 1.0)));
      }
    }
  }
}

TEST_P(ChunkMergeTest, TheReportShowsWhoIsAlwaysCut) {
  Rng rng(5);
  RunConfig config = Config(MergeRuleKind::kTrimmedMean);
  Chunk chunk(config, 200'000, rng);
  for (size_t k = 0; k < 5; ++k) chunk.Add(Noise(200'000, k == 2 ? 1e6f : 1.0f, rng), 1);
  MergeReport report;
  ASSERT_TRUE(chunk.Merge(config, &report).ok());
  EXPECT_EQ(report.factors, std::vector<double>(5, 1.0));
  EXPECT_EQ(report.usual_cut_share, 0.8);
  EXPECT_GT(report.cut_shares[2], 0.99);
  for (const size_t k : {0, 1, 3, 4}) EXPECT_LT(report.cut_shares[k], 0.9);
  config.outer.merge = MergeRuleKind::kMean;
  ASSERT_TRUE(chunk.Merge(config, &report).ok());
  EXPECT_EQ(report.cut_shares, std::vector<double>(5, 0.0));
}

TEST_P(ChunkMergeTest, NobodysChunkMovesNothingAndItsPayloadIsOfZeros) {
  for (const MergeRuleKind rule : kAllRules) {
    Rng rng(6);
    RunConfig config = Config(rule);
    config.outer.norm_bound = 2;
    Chunk chunk(config, 1000, rng);
    for (size_t k = 0; k < 3; ++k) chunk.Add(Noise(1000, 1.0f, rng), 1);
    ASSERT_TRUE(chunk.Merge(config).ok());  // state and residual are not zero afterwards
    chunk.payloads.clear();
    chunk.order.contributors.clear();
    chunk.base[17] = -0.0f;
    Chunk before = chunk;
    MergeReport report;
    const auto outcome = chunk.Merge(config, &report);
    ASSERT_TRUE(outcome.ok());
    EXPECT_TRUE(SameBits(before.state, chunk.state));
    EXPECT_TRUE(SameBits(before.residual, chunk.residual));
    EXPECT_EQ(before.base, chunk.base);
    EXPECT_EQ(outcome->base_hash, HashFloats(chunk.base));
    EXPECT_EQ(outcome->payload_hash, HashBytes(chunk.sync));
    EXPECT_TRUE(report.factors.empty() && report.cut_shares.empty());
    // Whoever applies it has the same bits, -0 included.
    std::vector<float> params(1000);
    EXPECT_EQ(ApplyAndHash(chunk.codec, chunk.sync, before.base, params), outcome->base_hash);
    EXPECT_EQ(PayloadSquaredNorm(chunk.codec, chunk.sync, 1000), 0.0);
  }
}

INSTANTIATE_TEST_SUITE_P(Codecs, ChunkMergeTest,
                         testing::Values(CodecKind::kQ4, CodecKind::kQ8, CodecKind::kFp32),
                         [](const auto& codec) {
                           return CodecName(static_cast<Codec>(codec.param));
                         });

}  // namespace
}  // namespace interlude
