#include "coordinator/chunk_merge.h"

#include "base/memory_account.h"
#include "codec/float_environment.h"
#include "interlude/merge_plugin.h"
#include "optim/base_average.h"
#include "optim/trimmed_mean.h"

namespace interlude {
namespace {

/// Every so many parameters it is counted who was cut: a few thousand of a chunk.
constexpr size_t kCutStride = 512;

/// What encoding made of an update, with the hashes.
MergeOutcome Encode(Codec codec, std::span<const float> update, const ChunkArrays& arrays,
                    std::span<float> residual, std::span<std::byte> sync) {
  const EncodeOutcome encoded = EncodeUpdate(codec, update, residual, arrays.base, sync);
  if (encoded.first_nonfinite) return {.first_nonfinite = encoded.first_nonfinite};
  return {.base_hash = HashFloats(arrays.base), .payload_hash = HashBytes(sync)};
}

}  // namespace

struct ChunkMerge::Work {
  const MergeOrder& order;
  std::span<const std::span<const std::byte>> payloads;
  const ChunkArrays& arrays;
  std::span<std::byte> sync;
  std::vector<uint64_t> samples;
  std::vector<double> factors;       // from the norm bound
  std::vector<float> weights;        // that each payload's values are multiplied with
  std::vector<uint32_t> cut_counts;  // of each contributor; empty with a mean
  size_t counted = 0;                // parameters that were looked at for them
};

StatusOr<ChunkMerge> ChunkMerge::Create(const RunConfig& config) {
  std::shared_ptr<const MergePlugin> plugin;
  if (!config.outer.plugin.empty()) {
    INTERLUDE_ASSIGN_OR_RETURN(plugin,
                               MergePlugin::Load(config.outer.plugin, config.outer.plugin_config));
    if (plugin->merges() && !IsMean(MergeOptionsOf(config).rule)) {
      return InvalidArgumentError(
          "the merge plug-in {} merges itself, so outer.merge only says how it is told to weigh: "
          "choose weighted_mean or mean",
          plugin->description());
    }
  }
  return ChunkMerge(config, std::move(plugin));
}

ChunkMerge::ChunkMerge(const RunConfig& config, std::shared_ptr<const MergePlugin> plugin)
    : codec_(CodecOf(config)),
      rule_(MergeOptionsOf(config)),
      optimizer_(OuterOptimizerOf(config)),
      plugin_(std::move(plugin)),
      step_state_per_param_(plugin_ != nullptr && plugin_->steps()
                                ? plugin_->state_per_param()
                                : OuterStatePerParam(optimizer_.type)),
      ema_decay_(static_cast<float>(config.outer.ema_decay)) {}

StatusOr<MergeOutcome> ChunkMerge::Merge(const MergeOrder& order,
                                         std::span<const std::span<const std::byte>> payloads,
                                         const ChunkArrays& arrays, std::span<std::byte> sync,
                                         MergeReport* report) const {
  const DefaultFloatEnvironment environment;
  ChunkArrays step = arrays;
  step.state = arrays.state.first(arrays.base.size() * step_state_per_param_);
  const StatusOr<MergeOutcome> outcome = MergeWithoutAverage(order, payloads, step, sync, report);
  if (ema_decay_ > 0 && outcome.ok() && !outcome->first_nonfinite)
    AddToAverage(ema_decay_, arrays.base, arrays.state.last(arrays.base.size()));
  return outcome;
}

StatusOr<MergeOutcome> ChunkMerge::MergeWithoutAverage(
    const MergeOrder& order, std::span<const std::span<const std::byte>> payloads,
    const ChunkArrays& arrays, std::span<std::byte> sync, MergeReport* report) const {
  if (report != nullptr) *report = {};
  if (payloads.empty()) {
    return Encode(codec_, std::vector<float>(arrays.base.size()), arrays, {}, sync);
  }
  Work work{.order = order, .payloads = payloads, .arrays = arrays, .sync = sync};
  for (const Contributor& contributor : order.contributors) {
    work.samples.push_back(contributor.samples);
  }
  Weigh(work);
  const StatusOr<MergeOutcome> outcome =
      plugin_ == nullptr ? StatusOr<MergeOutcome>(MergeByRule(work)) : MergeByPlugin(work);
  if (report != nullptr) *report = ReportOf(work);
  return outcome;
}

void ChunkMerge::Weigh(Work& work) const {
  work.weights = MergeWeights(rule_.rule, work.samples);
  work.factors.assign(work.payloads.size(), 1.0);
  if (rule_.norm_bound == 0) return;
  std::vector<double> norms;
  for (const auto& payload : work.payloads) {
    norms.push_back(PayloadSquaredNorm(codec_, payload, work.arrays.base.size()));
  }
  work.factors = NormFactors(rule_.norm_bound, norms);
  ScaleWeights(work.factors, work.weights);
}

MergeReport ChunkMerge::ReportOf(const Work& work) const {
  const size_t n = work.payloads.size();
  MergeReport report{.factors = work.factors, .cut_shares = std::vector<double>(n, 0.0)};
  if (work.counted == 0) return report;
  for (size_t k = 0; k < n; ++k) {
    report.cut_shares[k] = work.cut_counts[k] / static_cast<double>(work.counted);
  }
  report.usual_cut_share = static_cast<double>(2 * CutCount(rule_, n)) / static_cast<double>(n);
  return report;
}

CombineFunction ChunkMerge::CombineOf(Work& work) const {
  if (IsMean(rule_.rule)) return {};
  const size_t cut = CutCount(rule_, work.payloads.size());
  work.cut_counts.assign(work.payloads.size(), 0);
  return [&work, cut](std::span<const float* const> values, std::span<float> merged) {
    TrimmedMean(values, cut, merged);
    CountCut(values, merged.size(), cut, kCutStride, work.cut_counts);
    work.counted += (merged.size() + kCutStride - 1) / kCutStride;
  };
}

UpdateFunction ChunkMerge::StepOf(const Work& work) const {
  const OuterState state = ViewOuterState(optimizer_.type, work.arrays.state);
  return [this, round = work.order.round, state](size_t begin, std::span<float> values) {
    OuterStep(optimizer_, round, values, state.Slice(begin, values.size()), values);
  };
}

MergeOutcome ChunkMerge::MergeByRule(Work& work) const {
  UpdateRule rule{.step = StepOf(work), .combine = CombineOf(work)};
  if (optimizer_.type != OuterOptimizerType::kAdam) {
    rule.momentum = MomentumUpdate{optimizer_.learning_rate, optimizer_.momentum,
                                   ViewOuterState(optimizer_.type, work.arrays.state).momentum};
  }
  return MergeChunkUpdate(codec_, work.payloads, work.weights, rule, work.arrays.residual,
                          work.arrays.base, work.sync);
}

StatusOr<MergeOutcome> ChunkMerge::MergeByPlugin(Work& work) const {
  const size_t count = work.arrays.base.size();
  const interlude_merge_chunk chunk = {.config = nullptr,
                                       .round = work.order.round,
                                       .chunk = work.order.chunk,
                                       .first_param = work.arrays.first_param,
                                       .count = count};
  Buffer merged = Buffer::Floats("merged delta", count);
  if (plugin_->merges()) {
    INTERLUDE_RETURN_IF_ERROR(PluginMerge(work, chunk, merged.floats()));
  } else if (const CombineFunction combine = CombineOf(work)) {
    DecodeCombined(codec_, work.payloads, work.weights, combine, merged.floats());
  } else {
    DecodeAverage(codec_, work.payloads, work.weights, merged.floats());
  }
  if (!plugin_->steps()) {
    StepOf(work)(0, merged.floats());
    return Encode(codec_, merged.floats(), work.arrays, work.arrays.residual, work.sync);
  }
  Buffer update = Buffer::Floats("update", count);
  INTERLUDE_RETURN_IF_ERROR(plugin_->OuterStep(chunk, merged.floats(), work.arrays.base,
                                               work.arrays.state, update.floats()));
  return Encode(codec_, update.floats(), work.arrays, work.arrays.residual, work.sync);
}

Status ChunkMerge::PluginMerge(const Work& work, const interlude_merge_chunk& chunk,
                               std::span<float> merged) const {
  const size_t n = work.payloads.size();
  Buffer decoded = Buffer::Floats("decoded deltas", n * chunk.count);
  std::vector<const float*> deltas;
  for (size_t k = 0; k < n; ++k) {
    const std::span<float> delta = decoded.floats().subspan(k * chunk.count, chunk.count);
    constexpr float kAsItIs = 1.0f;
    DecodeAverage(codec_, work.payloads.subspan(k, 1), {&kAsItIs, 1}, delta);
    deltas.push_back(delta.data());
  }
  return plugin_->Merge(chunk,
                        {.contributors = static_cast<uint32_t>(n),
                         .deltas = deltas.data(),
                         .weights = work.weights.data(),
                         .samples = work.samples.data()},
                        merged);
}

}  // namespace interlude
