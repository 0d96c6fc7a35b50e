// What a worker holds of the model: the copy beside the trainer's parameters, the payload of the
// round, and room for what arrives; and of each chunk, after how many rounds its base stands and
// what became of its delta. No threads, no I/O.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/hash128.h"
#include "base/memory_account.h"
#include "codec/chunk_codec.h"
#include "config/run_config.h"
#include "worker/local_trainer.h"
#include "worker/model_copy.h"
#include "worker/staging.h"

namespace interlude {

/// Different threads may work on different chunks. The trainer outlives it.
class WorkerModel {
 public:
  /// The trainer's parameters as they are become the base, on the device where they live or in host
  /// memory. `threads` apply what arrives.
  /// ResourceExhausted when the machine has not that much memory free.
  static StatusOr<std::unique_ptr<WorkerModel>> Create(LocalTrainer& trainer,
                                                       const RoundConfig& config, int threads);

  const Layout& layout() const { return layout_; }
  uint32_t num_chunks() const { return layout_.num_chunks(); }
  Codec codec() const { return codec_; }
  bool barrier() const { return barrier_; }

  ModelCopy& copy() { return *copy_; }
  /// The chunk's place for its encoded delta; kept until the next round overwrites it.
  std::span<std::byte> payload(uint32_t chunk) { return Piece(*payload_, chunk); }
  /// Keeps all payloads alive for as long as gRPC may read them.
  std::shared_ptr<const void> payload_owner() const { return payload_; }
  /// After how many rounds the chunk's base stands; kNoBase: it is no base of the run.
  uint32_t base_round(uint32_t chunk) const { return chunks_[chunk].base_round; }
  void set_base_round(uint32_t chunk, uint32_t round) { chunks_[chunk].base_round = round; }
  /// The chunks whose base stands after `round` rounds, ascending.
  std::vector<uint32_t> ChunksAt(uint32_t round) const;

  /// The parameters are about to move away from the base.
  void BeginTraining();
  /// Encodes the chunk's delta into its payload.
  EncodeOutcome Encode(uint32_t chunk, Hash128& payload_hash);
  /// Applies the sync delta of `round`, after which the chunk's base then stands. A delta of this
  /// worker's that is not in it is carried over. Precondition: ValidatePayload passed.
  void ApplySync(uint32_t chunk, std::span<const std::byte> payload, uint32_t round, bool dropped);
  /// Replaces the chunk's base; a delta that was on its way is lost. Errors as ModelCopy.
  Status ReplaceBase(uint32_t chunk, std::span<const std::byte> fp32_payload, uint32_t round);
  /// No sync delta will come for deltas that were not applied: they are carried over, and the
  /// parameters are the base.
  void Settle();

  /// With a barrier: the chunk's place for its sync delta, until all have come.
  std::span<std::byte> sync_payload(uint32_t chunk) { return Piece(sync_payload_, chunk); }
  /// Each place has room for any one chunk in any codec.
  Staging& staging() { return staging_; }

  /// Payload size of a chunk in a codec, and of all chunks.
  size_t PayloadBytes(Codec codec, uint32_t chunk) const {
    return EncodedBytes(codec, layout_.chunk(chunk).count);
  }
  std::vector<size_t> PayloadBytes(Codec codec) const;

  /// The base's hashes, and the root over them.
  std::vector<Hash128> BaseHashes();
  Hash128 Root() { return RootHash(BaseHashes()); }

 private:
  /// What became of the change that training made to a chunk.
  enum class Delta : uint8_t { kNone, kTrained, kEncoded };
  struct ChunkState {
    uint32_t base_round = 0;
    Delta delta = Delta::kNone;
  };

  void CarryOver(uint32_t chunk);
  WorkerModel(const Layout& layout, const RoundConfig& config, int threads,
              std::unique_ptr<ModelCopy> copy);
  std::span<std::byte> Piece(Buffer& buffer, uint32_t chunk) const;

  const Layout layout_;
  const Codec codec_;
  const bool barrier_;
  const size_t full_chunk_bytes_;  // payload bytes of every chunk but the last
  const std::unique_ptr<ModelCopy> copy_;
  std::vector<ChunkState> chunks_;
  const std::shared_ptr<Buffer> payload_;
  Buffer sync_payload_;
  Staging staging_;
};

}  // namespace interlude
