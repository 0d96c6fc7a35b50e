#include "bench/merge_benches.h"

#include <fmt/format.h>

#include <cstring>

#include "bench/bench_passes.h"
#include "codec/chunk_codec.h"
#include "codec/chunk_payload.h"
#include "optim/merge.h"
#include "optim/outer_optimizer.h"
#include "optim/trimmed_mean.h"

namespace interlude {
namespace {

using Payloads = std::vector<std::span<const std::byte>>;

Payloads Contributions(BenchArrays& a, size_t contributors, size_t c) {
  Payloads payloads;
  for (size_t k = 0; k < contributors; ++k) {
    payloads.push_back(a.ChunkPayload(a.contributions[k], c));
  }
  return payloads;
}

std::vector<float> EqualWeights(size_t contributors) {
  return std::vector<float>(contributors, 1.0f / static_cast<float>(contributors));
}

bool AveragePass(BenchArrays& a, size_t contributors) {
  const std::vector<float> weights = EqualWeights(contributors);
  return EachChunk(a, [&](size_t c) {
    DecodeAverage(a.codec(), Contributions(a, contributors, c), weights, a.Chunk(a.work, c));
    return true;
  });
}

Finding CheckAverage(BenchArrays& a, size_t contributors) {
  for (const size_t c : FirstAndLast(a)) {
    const size_t count = a.chunk_count(c);
    std::vector<float> expected(count);
    std::vector<WeightedPayload> payloads;
    for (const std::span<const std::byte> payload : Contributions(a, contributors, c)) {
      const ChunkPayload bytes(a.codec(), payload, count);
      payloads.push_back({bytes.codes(0), bytes.scales(0), EqualWeights(contributors).front()});
    }
    SpecifiedKernels(a.codec()).decode_sum(payloads, SumStart::kZero, expected.data(), count);
    if (std::memcmp(expected.data(), a.Chunk(a.work, c).data(), count * sizeof(float)) != 0) {
      return fmt::format("the average of chunk {} is not the scalar kernel's", c);
    }
  }
  return {};
}

// The coordinator's whole work on a chunk: merge rule, outer step, encode, hash.

struct MergeBench {
  size_t contributors;
  MergeOptions rule;
  bool hash = false;
};

std::vector<float> RuleWeights(const BenchArrays& a, const MergeBench& bench,
                               const Payloads& payloads, size_t count) {
  const std::vector<uint64_t> samples(bench.contributors, 100);
  std::vector<float> weights = MergeWeights(bench.rule.rule, samples);
  if (bench.rule.norm_bound == 0) return weights;
  std::vector<double> norms;
  for (const auto& payload : payloads) {
    norms.push_back(PayloadSquaredNorm(a.codec(), payload, count));
  }
  ScaleWeights(NormFactors(bench.rule.norm_bound, norms), weights);
  return weights;
}

CombineFunction RuleCombine(const MergeBench& bench) {
  if (IsMean(bench.rule.rule)) return {};
  const size_t cut = CutCount(bench.rule, bench.contributors);
  return [cut](std::span<const float* const> values, std::span<float> merged) {
    TrimmedMean(values, cut, merged);
  };
}

bool MergePass(BenchArrays& a, const MergeBench& bench) {
  const OuterOptimizerOptions nesterov;
  return EachChunk(a, [&](size_t c) {
    const std::span<float> momentum = a.Chunk(a.momentum, c);
    const auto step = [&](size_t begin, std::span<float> values) {
      OuterStep(nesterov, 1, values, momentum.subspan(begin, values.size()), values);
    };
    const UpdateRule rule{step, MomentumUpdate{nesterov.learning_rate, nesterov.momentum, momentum},
                          RuleCombine(bench)};
    const Payloads payloads = Contributions(a, bench.contributors, c);
    return !MergeChunkUpdate(a.codec(), payloads, RuleWeights(a, bench, payloads, a.chunk_count(c)),
                             rule, a.Chunk(a.residual, c), a.Chunk(a.base, c),
                             a.ChunkPayload(a.payload, c), bench.hash)
                .first_nonfinite;
  });
}

/// What the rule makes of chunk `c` must be what its executable form makes.
Finding CheckRule(BenchArrays& a, const MergeBench& bench, size_t c) {
  const size_t count = a.chunk_count(c);
  const Payloads payloads = Contributions(a, bench.contributors, c);
  std::vector<std::vector<float>> deltas;
  for (const std::span<const std::byte>& payload : payloads) {
    deltas.emplace_back(count);
    const float one = 1.0f;
    DecodeAverage(a.codec(), {&payload, 1}, {&one, 1}, deltas.back());
  }
  std::vector<float> expected(count);
  MergeDeltas(bench.rule, std::vector<std::span<const float>>(deltas.begin(), deltas.end()),
              std::vector<uint64_t>(bench.contributors, 100), expected);
  std::vector<float> merged(count);
  const std::vector<float> weights = RuleWeights(a, bench, payloads, count);
  if (const CombineFunction combine = RuleCombine(bench)) {
    DecodeCombined(a.codec(), payloads, weights, combine, merged);
  } else {
    DecodeAverage(a.codec(), payloads, weights, merged);
  }
  if (std::memcmp(expected.data(), merged.data(), count * sizeof(float)) == 0) return {};
  return fmt::format("the merged delta of chunk {} is not the specification's", c);
}

/// And what a pass encodes must take every other copy of the base to the same bits.
Finding CheckMerge(BenchArrays& a, const MergeBench& bench) {
  a.Copy(a.base, a.work);
  if (!MergePass(a, bench)) return "a finite update counts as not finite";
  EachChunk(a, [&](size_t c) {
    Apply(a.codec(), a.ChunkPayload(a.payload, c), a.Chunk(a.work, c), a.Chunk(a.params, c));
    return true;
  });
  if (!SameBytes(a.work, a.base)) return "Apply of the payload is not the encoder's base";
  if (!SameBytes(a.params, a.base)) return "Apply left other parameters than base";
  for (const size_t c : FirstAndLast(a)) {
    if (Finding wrong = CheckRule(a, bench, c)) return wrong;
  }
  return {};
}

/// Reads the payloads, writes the sum.
Bench AverageBench(size_t contributors) {
  return {fmt::format("decode + average of {}", contributors),
          [=](BenchArrays& a) { return ArrayBytes(a) + contributors * a.payload_bytes(); },
          [=](BenchArrays& a) { return AveragePass(a, contributors); },
          [=](BenchArrays& a) { return CheckAverage(a, contributors); }, ""};
}

/// Reads the payloads; reads and writes momentum, residual and base; writes one payload. The update
/// stays in cache.
Bench MergeBenchOf(const std::string& what, const MergeBench& bench, bool compared) {
  const auto name = [&](const std::string& how) {
    return fmt::format("merge of {}, {}", bench.contributors, how);
  };
  return {name(what),
          [=](BenchArrays& a) {
            return 6 * ArrayBytes(a) + (bench.contributors + 1) * a.payload_bytes();
          },
          [=](BenchArrays& a) { return MergePass(a, bench); },
          [=](BenchArrays& a) { return CheckMerge(a, bench); }, compared ? name("Nesterov") : ""};
}

}  // namespace

std::vector<Bench> MergeBenches(size_t contributors) {
  const MergeOptions mean{.rule = MergeRule::kMean};
  const MergeOptions bound{.rule = MergeRule::kMean, .norm_bound = 1};
  const MergeOptions trimmed{.rule = MergeRule::kTrimmedMean};
  const MergeOptions median{.rule = MergeRule::kCoordinateMedian};
  return {AverageBench(contributors), MergeBenchOf("Nesterov", {contributors, mean}, false),
          // The same bytes: base and payload are hashed while they are in cache.
          MergeBenchOf("Nesterov, hash", {contributors, mean, true}, false),
          MergeBenchOf("norm bound", {contributors, bound}, true),
          MergeBenchOf("trimmed mean", {contributors, trimmed}, true),
          MergeBenchOf("median", {contributors, median}, true)};
}

}  // namespace interlude
