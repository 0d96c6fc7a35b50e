// What the coordinator keeps of the model: base, outer state, residual, and the base's hashes. What
// a merge does with a chunk of them is in chunk_merge.h. Chunks are merged side by side by the
// threads of a pool; no working memory is kept.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "base/hash128.h"
#include "base/memory_account.h"
#include "base/mutex.h"
#include "base/status.h"
#include "config/run_config.h"
#include "coordinator/chunk_merge.h"
#include "layout/layout.h"
#include "ledger/recorder.h"
#include "protocol/types.h"
#include "wire/chunk_stream.h"

namespace interlude {

class Merger {
 public:
  /// Takes memory for base, outer state and (unless fp32) residual: ResourceExhausted when the
  /// machine has not that much free, with both figures. Errors of ChunkMerge::Create.
  static StatusOr<std::unique_ptr<Merger>> Create(const Layout& layout, const RunConfig& config);

  /// The first base arrives here; then hash it with HashBase.
  std::span<std::byte> BaseChunkBytes(uint32_t chunk);
  /// Hashes all chunks of the base. DataLoss naming the parameter when a value is NaN or Inf.
  Status HashBase();

  /// Merges one chunk: `payloads[k]` is the k-th contributor's. Writes the sync payload to `sync`
  /// (EncodedBytes of the chunk), updates base, outer state, residual and the chunk's hash, and
  /// returns the hashes. The outer step's number is the round's. Without contributors the sync
  /// payload is of zeros and nothing moves (ChunkMerge::Merge). `report`, where given, says what
  /// the rule did to each. DataLoss when the update is not finite, Internal when a plug-in fails;
  /// the chunk's base, outer state and residual are then unspecified and the run cannot go on from
  /// them. Any thread; each chunk one thread at a time.
  StatusOr<ChunkHashes> MergeChunk(const MergeOrder& order,
                                   const std::vector<std::span<const std::byte>>& payloads,
                                   std::span<std::byte> sync, PhaseTimer& timer,
                                   MergeReport* report = nullptr);

  /// Any thread: copies a chunk of the base as it is between two merges of it, and returns its
  /// hashes and the round after which it stands. `out` has the chunk's size.
  ChunkHashes CopyBaseChunk(uint32_t chunk, std::span<std::byte> out) const;

  /// Called under a chunk's lock, before a merge changes its base: the chunk's number, the round
  /// after which it stands, and its values.
  using BaseLook =
      std::function<void(uint32_t chunk, uint32_t round, std::span<const float> values)>;
  /// Set while nothing is being merged. Null: nobody looks.
  void SetBeforeMerge(BaseLook look) { before_merge_ = std::move(look); }
  /// Any thread: shows a chunk of the base as it is between two merges of it.
  void LookAtBase(uint32_t chunk, const BaseLook& look) const;
  /// While no chunk is being merged: the moving average of the base's chunk after `rounds` rounds.
  /// `out` has the chunk's size. Only with outer.ema_decay.
  void CopyAverage(uint32_t chunk, uint32_t rounds, std::span<float> out);

  /// All that is kept of one chunk.
  ChunkArrays StateOf(uint32_t chunk);
  /// Any thread: copies it as it is between two merges of the chunk, and returns the base's hash
  /// and round. The spans have StateOf's sizes.
  ChunkHashes CopyState(uint32_t chunk, const ChunkArrays& out);
  /// Before the first merge: what was written to StateOf(chunk) stands after `round` rounds.
  /// DataLoss when the base hashes to something else.
  Status Restore(uint32_t chunk, uint32_t round, const Hash128& base_hash);
  uint32_t chunk_round(uint32_t chunk) const { return chunk_rounds_[chunk]; }

  std::span<const float> base() const { return base_.floats(); }
  std::span<const std::byte> BaseChunk(uint32_t chunk) const;
  const Layout& layout() const { return layout_; }
  Codec codec() const { return merge_.codec(); }
  bool has_average() const { return merge_.ema_decay() > 0; }
  /// Values of outer state kept for each parameter, by the optimizer or the plug-in.
  size_t state_per_param() const { return merge_.state_per_param(); }
  /// While no chunk is being merged.
  const std::vector<Hash128>& chunk_hashes() const { return chunk_hashes_; }
  Hash128 Root() const { return RootHash(chunk_hashes_); }

 private:
  Merger(const Layout& layout, ChunkMerge merge);

  const Layout layout_;
  const ChunkMerge merge_;
  Buffer base_;
  Buffer state_;     // chunk after chunk, each chunk's moments one after the other
  Buffer residual_;  // what encoding the sync delta lost; empty with fp32
  std::vector<Hash128> chunk_hashes_;
  std::vector<uint32_t> chunk_rounds_;  // the last round merged into each chunk
  /// One for each chunk: held while its base, hash and round change, and while they are copied.
  const std::unique_ptr<Mutex[]> chunk_mutexes_;
  BaseLook before_merge_;
};

}  // namespace interlude
