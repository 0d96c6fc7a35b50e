// The coordinator's arithmetic: base, outer state and residual, and what happens to one chunk:
// decode and average, outer step, encode the sync delta, hash the new base, all in one pass over
// memory. Chunks are merged side by side by the threads of a pool; no working memory is kept.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "base/hash128.h"
#include "base/memory_account.h"
#include "base/mutex.h"
#include "base/status.h"
#include "codec/chunk_codec.h"
#include "config/run_config.h"
#include "layout/layout.h"
#include "ledger/recorder.h"
#include "optim/outer_optimizer.h"
#include "protocol/types.h"
#include "wire/chunk_stream.h"

namespace interlude {

class Merger {
 public:
  /// Takes memory for base, outer state and (with q4) residual: ResourceExhausted when the machine
  /// has not that much free, with both figures.
  static StatusOr<std::unique_ptr<Merger>> Create(const Layout& layout, const RunConfig& config);

  /// The first base arrives here; then hash it with HashBase.
  std::span<std::byte> BaseChunkBytes(uint32_t chunk);
  /// Hashes all chunks of the base. DataLoss naming the parameter when a value is NaN or Inf.
  Status HashBase();

  /// Merges one chunk: `payloads[k]` is the k-th contributor's. Writes the sync payload to `sync`
  /// (EncodedBytes of the chunk), updates base, outer state, residual and the chunk's hash, and
  /// returns the hashes. The outer step's number is the round's. DataLoss when the update is not
  /// finite; the chunk's base, outer state and residual are then unspecified and the run cannot go
  /// on from them. Any thread; each chunk one thread at a time.
  StatusOr<ChunkHashes> MergeChunk(const MergeOrder& order,
                                   const std::vector<std::span<const std::byte>>& payloads,
                                   std::span<std::byte> sync, PhaseTimer& timer);

  /// Any thread: copies a chunk of the base as it is between two merges of it, and returns its
  /// hashes and the round after which it stands. `out` has the chunk's size.
  ChunkHashes CopyBaseChunk(uint32_t chunk, std::span<std::byte> out) const;

  /// All that is kept of one chunk.
  struct ChunkState {
    std::span<float> base;
    std::span<float> outer;     // the outer optimizer's values, OuterStatePerParam a parameter
    std::span<float> residual;  // empty with fp32
  };
  /// Sizes of it, in values.
  ChunkState StateOf(uint32_t chunk);
  /// Any thread: copies it as it is between two merges of the chunk, and returns the base's hash
  /// and round. The spans have StateOf's sizes.
  ChunkHashes CopyState(uint32_t chunk, const ChunkState& out);
  /// Before the first merge: what was written to StateOf(chunk) stands after `round` rounds.
  /// DataLoss when the base hashes to something else.
  Status Restore(uint32_t chunk, uint32_t round, const Hash128& base_hash);
  uint32_t chunk_round(uint32_t chunk) const { return chunk_rounds_[chunk]; }

  std::span<const float> base() const { return base_.floats(); }
  std::span<const std::byte> BaseChunk(uint32_t chunk) const;
  const Layout& layout() const { return layout_; }
  Codec codec() const { return codec_; }
  /// While no chunk is being merged.
  const std::vector<Hash128>& chunk_hashes() const { return chunk_hashes_; }
  Hash128 Root() const { return RootHash(chunk_hashes_); }

 private:
  Merger(const Layout& layout, const RunConfig& config);

  std::vector<float> WeightsOf(const MergeOrder& order) const;

  const Layout layout_;
  const Codec codec_;
  const MergeRuleKind rule_;
  const OuterOptimizerOptions optimizer_;
  Buffer base_;
  Buffer state_;     // chunk after chunk, each chunk's moments one after the other
  Buffer residual_;  // what encoding the sync delta lost; empty with fp32
  std::vector<Hash128> chunk_hashes_;
  std::vector<uint32_t> chunk_rounds_;  // the last round merged into each chunk
  /// One for each chunk: held while its base, hash and round change, and while they are copied.
  const std::unique_ptr<Mutex[]> chunk_mutexes_;
};

/// The codec and optimizer that a configuration names.
Codec CodecOf(const RunConfig& config);
OuterOptimizerOptions OuterOptimizerOf(const RunConfig& config);

}  // namespace interlude
