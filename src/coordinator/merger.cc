#include "coordinator/merger.h"

#include <algorithm>
#include <cmath>

#include "base/free_memory.h"
#include "optim/merge.h"

namespace interlude {
namespace {

MergeRule RuleOf(MergeRuleKind kind) {
  return kind == MergeRuleKind::kMean ? MergeRule::kMean : MergeRule::kWeightedMean;
}

}  // namespace

Codec CodecOf(const RunConfig& config) {
  return config.round.codec == CodecKind::kFp32 ? Codec::kFp32 : Codec::kQ4;
}

OuterOptimizerOptions OuterOptimizerOf(const RunConfig& config) {
  OuterOptimizerOptions options;
  switch (config.outer.optimizer) {
    case OuterOptimizerKind::kSgd:
      options.type = OuterOptimizerType::kSgd;
      break;
    case OuterOptimizerKind::kNesterov:
      options.type = OuterOptimizerType::kNesterov;
      break;
    case OuterOptimizerKind::kAdam:
      options.type = OuterOptimizerType::kAdam;
      break;
  }
  options.learning_rate = static_cast<float>(config.outer.learning_rate);
  options.momentum = static_cast<float>(config.outer.momentum);
  options.beta1 = static_cast<float>(config.outer.beta1);
  options.beta2 = static_cast<float>(config.outer.beta2);
  options.epsilon = static_cast<float>(config.outer.epsilon);
  return options;
}

StatusOr<std::unique_ptr<Merger>> Merger::Create(const Layout& layout, const RunConfig& config) {
  const size_t copies = 1 + OuterStatePerParam(OuterOptimizerOf(config).type) +
                        (CodecOf(config) == Codec::kQ4 ? 1 : 0);
  const uint64_t wanted = uint64_t{layout.total_params()} * copies * sizeof(float);
  INTERLUDE_RETURN_IF_ERROR(
      CheckFreeMemory(fmt::format("the coordinator of a model of {} parameters ({} fp32 copies)",
                                  layout.total_params(), copies),
                      wanted));
  return std::unique_ptr<Merger>(new Merger(layout, config));
}

Merger::Merger(const Layout& layout, const RunConfig& config)
    : layout_(layout),
      codec_(CodecOf(config)),
      rule_(config.outer.merge),
      optimizer_(OuterOptimizerOf(config)),
      base_(Buffer::Floats("base", layout.total_params())),
      state_(Buffer::Floats("outer state", layout.total_params() *
                                               OuterStatePerParam(OuterOptimizerOf(config).type))),
      residual_(CodecOf(config) == Codec::kQ4 ? Buffer::Floats("residual", layout.total_params())
                                              : Buffer()),
      chunk_hashes_(layout.num_chunks()),
      chunk_rounds_(layout.num_chunks()),
      chunk_mutexes_(std::make_unique<Mutex[]>(layout.num_chunks())) {}

std::span<std::byte> Merger::BaseChunkBytes(uint32_t chunk) {
  const ChunkRange range = layout_.chunk(chunk);
  return base_.bytes().subspan(range.begin * sizeof(float), range.count * sizeof(float));
}

std::span<const std::byte> Merger::BaseChunk(uint32_t chunk) const {
  const ChunkRange range = layout_.chunk(chunk);
  return base_.bytes().subspan(range.begin * sizeof(float), range.count * sizeof(float));
}

ChunkHashes Merger::CopyBaseChunk(uint32_t chunk, std::span<std::byte> out) const {
  MutexLock lock(chunk_mutexes_[chunk]);
  std::ranges::copy(BaseChunk(chunk), out.begin());
  return {chunk_hashes_[chunk], chunk_hashes_[chunk], chunk_rounds_[chunk]};
}

Merger::ChunkState Merger::StateOf(uint32_t chunk) {
  const ChunkRange range = layout_.chunk(chunk);
  const size_t per_param = OuterStatePerParam(optimizer_.type);
  return {.base = base_.floats().subspan(range.begin, range.count),
          .outer = state_.floats().subspan(range.begin * per_param, range.count * per_param),
          .residual = codec_ == Codec::kQ4 ? residual_.floats().subspan(range.begin, range.count)
                                           : std::span<float>()};
}

ChunkHashes Merger::CopyState(uint32_t chunk, const ChunkState& out) {
  const ChunkState state = StateOf(chunk);
  MutexLock lock(chunk_mutexes_[chunk]);
  std::ranges::copy(state.base, out.base.begin());
  std::ranges::copy(state.outer, out.outer.begin());
  std::ranges::copy(state.residual, out.residual.begin());
  return {.payload = {}, .base = chunk_hashes_[chunk], .base_round = chunk_rounds_[chunk]};
}

Status Merger::Restore(uint32_t chunk, uint32_t round, const Hash128& base_hash) {
  const Hash128 hash = HashFloats(StateOf(chunk).base);
  if (hash != base_hash) {
    return DataLossError("chunk {} hashes to {}, the snapshot says {}", chunk, hash.ToHex(),
                         base_hash.ToHex());
  }
  chunk_hashes_[chunk] = hash;
  chunk_rounds_[chunk] = round;
  return OkStatus();
}

Status Merger::HashBase() {
  const std::span<const float> base = base_.floats();
  for (uint32_t c = 0; c < layout_.num_chunks(); ++c) {
    const ChunkRange range = layout_.chunk(c);
    const std::span<const float> values = base.subspan(range.begin, range.count);
    const auto bad =
        std::find_if(values.begin(), values.end(), [](float v) { return !std::isfinite(v); });
    if (bad != values.end()) {
      const size_t position = range.begin + static_cast<size_t>(bad - values.begin());
      return DataLossError("the first base holds {} in {}: start from finite parameters", *bad,
                           layout_.DescribePosition(position));
    }
    chunk_hashes_[c] = HashFloats(values);
  }
  return OkStatus();
}

std::vector<float> Merger::WeightsOf(const MergeOrder& order) const {
  std::vector<uint64_t> samples;
  for (const Contributor& contributor : order.contributors) samples.push_back(contributor.samples);
  return MergeWeights(RuleOf(rule_), samples);
}

StatusOr<ChunkHashes> Merger::MergeChunk(const MergeOrder& order,
                                         const std::vector<std::span<const std::byte>>& payloads,
                                         std::span<std::byte> sync, PhaseTimer& timer) {
  const ChunkRange range = layout_.chunk(order.chunk);
  const std::span<float> base = base_.floats().subspan(range.begin, range.count);
  const std::span<float> residual = codec_ == Codec::kQ4
                                        ? residual_.floats().subspan(range.begin, range.count)
                                        : std::span<float>();
  const size_t per_param = OuterStatePerParam(optimizer_.type);
  const OuterState state = ViewOuterState(
      optimizer_.type, state_.floats().subspan(range.begin * per_param, range.count * per_param));
  UpdateRule rule;
  rule.step = [&](size_t begin, std::span<float> values) {
    OuterStep(optimizer_, order.round, values, state.Slice(begin, values.size()), values);
  };
  if (optimizer_.type != OuterOptimizerType::kAdam) {
    rule.momentum = MomentumUpdate{optimizer_.learning_rate, optimizer_.momentum, state.momentum};
  }

  const PhaseTimer::Scope scope = timer.Enter();
  for (const auto& payload : payloads) timer.AddBytes(payload.size());
  timer.AddBytes(sync.size());
  timer.AddChunk();
  MutexLock lock(chunk_mutexes_[order.chunk]);
  const MergeOutcome outcome =
      MergeChunkUpdate(codec_, payloads, WeightsOf(order), rule, residual, base, sync);
  if (outcome.first_nonfinite) {
    timer.MarkFailed();
    return DataLossError(
        "round {}: the merged update of {} is not finite: lower outer.learning_rate or "
        "train.learning_rate",
        order.round, layout_.DescribePosition(range.begin + *outcome.first_nonfinite));
  }
  chunk_hashes_[order.chunk] = outcome.base_hash;
  chunk_rounds_[order.chunk] = order.round;
  return ChunkHashes{.payload = outcome.payload_hash, .base = outcome.base_hash};
}

}  // namespace interlude
