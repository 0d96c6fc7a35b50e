#include "coordinator/merger.h"

#include <algorithm>
#include <cmath>

#include "base/free_memory.h"
#include "optim/base_average.h"

namespace interlude {
StatusOr<std::unique_ptr<Merger>> Merger::Create(const Layout& layout, const RunConfig& config) {
  INTERLUDE_ASSIGN_OR_RETURN(ChunkMerge merge, ChunkMerge::Create(config));
  const size_t copies = 1 + merge.state_per_param() + (IsLossy(merge.codec()) ? 1 : 0);
  const uint64_t wanted = uint64_t{layout.total_params()} * copies * sizeof(float);
  INTERLUDE_RETURN_IF_ERROR(
      CheckFreeMemory(fmt::format("the coordinator of a model of {} parameters ({} fp32 copies)",
                                  layout.total_params(), copies),
                      wanted));
  return std::unique_ptr<Merger>(new Merger(layout, std::move(merge)));
}

Merger::Merger(const Layout& layout, ChunkMerge merge)
    : layout_(layout),
      merge_(std::move(merge)),
      base_(Buffer::Floats("base", layout.total_params())),
      state_(Buffer::Floats("outer state", layout.total_params() * merge_.state_per_param())),
      residual_(IsLossy(merge_.codec()) ? Buffer::Floats("residual", layout.total_params())
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

ChunkHashes Merger::CopyState(uint32_t chunk, const ChunkArrays& out) {
  const ChunkArrays state = StateOf(chunk);
  MutexLock lock(chunk_mutexes_[chunk]);
  std::ranges::copy(state.base, out.base.begin());
  std::ranges::copy(state.state, out.state.begin());
  std::ranges::copy(state.residual, out.residual.begin());
  return {.payload = {}, .base = chunk_hashes_[chunk], .base_round = chunk_rounds_[chunk]};
}

void Merger::LookAtBase(uint32_t chunk, const BaseLook& look) const {
  const ChunkRange range = layout_.chunk(chunk);
  MutexLock lock(chunk_mutexes_[chunk]);
  look(chunk, chunk_rounds_[chunk], base_.floats().subspan(range.begin, range.count));
}

void Merger::CopyAverage(uint32_t chunk, uint32_t rounds, std::span<float> out) {
  CorrectAverage(merge_.ema_decay(), rounds, StateOf(chunk).state.last(out.size()), out);
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

ChunkArrays Merger::StateOf(uint32_t chunk) {
  const ChunkRange range = layout_.chunk(chunk);
  const size_t per_param = state_per_param();
  return {.first_param = range.begin,
          .base = base_.floats().subspan(range.begin, range.count),
          .state = state_.floats().subspan(range.begin * per_param, range.count * per_param),
          .residual = residual_.size() == 0 ? std::span<float>()
                                            : residual_.floats().subspan(range.begin, range.count)};
}

StatusOr<ChunkHashes> Merger::MergeChunk(const MergeOrder& order,
                                         const std::vector<std::span<const std::byte>>& payloads,
                                         std::span<std::byte> sync, PhaseTimer& timer,
                                         MergeReport* report) {
  const PhaseTimer::Scope scope = timer.Enter(order.chunk);
  for (const auto& payload : payloads) timer.AddBytes(payload.size());
  timer.AddBytes(sync.size());
  timer.AddChunk();
  MutexLock lock(chunk_mutexes_[order.chunk]);
  const ChunkArrays arrays = StateOf(order.chunk);
  if (before_merge_) before_merge_(order.chunk, chunk_rounds_[order.chunk], arrays.base);
  const StatusOr<MergeOutcome> outcome = merge_.Merge(order, payloads, arrays, sync, report);
  if (!outcome.ok() || outcome->first_nonfinite) timer.MarkFailed();
  INTERLUDE_RETURN_IF_ERROR(outcome.status());
  if (outcome->first_nonfinite) {
    return DataLossError(
        "round {}: the merged update of {} is not finite: {}", order.round,
        layout_.DescribePosition(arrays.first_param + *outcome->first_nonfinite),
        merge_.plugin() != nullptr
            ? fmt::format("look at what the merge plug-in {} makes", merge_.plugin()->description())
            : "lower outer.learning_rate or train.learning_rate");
  }
  chunk_hashes_[order.chunk] = outcome->base_hash;
  chunk_rounds_[order.chunk] = order.round;
  return ChunkHashes{.payload = outcome->payload_hash, .base = outcome->base_hash};
}

}  // namespace interlude
