// What a worker holds of the model besides the trainer's parameters: the base, its hashes, the
// payload of the round, and (with error feedback) what encoding lost. Memory and arithmetic only;
// no threads, no I/O.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/hash128.h"
#include "base/memory_account.h"
#include "base/status.h"
#include "codec/chunk_codec.h"
#include "config/run_config.h"
#include "worker/local_trainer.h"

namespace interlude {

/// Different threads may work on different chunks. The trainer outlives it.
class WorkerModel {
 public:
  /// The trainer's parameters as they are become the base.
  WorkerModel(LocalTrainer& trainer, const RoundConfig& config);

  const Layout& layout() const { return layout_; }
  uint32_t num_chunks() const { return layout_.num_chunks(); }
  Codec codec() const { return codec_; }

  std::span<float> parameters(uint32_t chunk) { return Part(trainer_.parameters(), chunk); }
  std::span<float> base(uint32_t chunk) { return Part(base_.floats(), chunk); }
  /// Empty without error feedback.
  std::span<float> residual(uint32_t chunk);
  /// The chunk's place for its encoded delta; kept until the next round overwrites it.
  std::span<std::byte> payload(uint32_t chunk) { return Piece(payload_, chunk); }
  /// With a barrier: the chunk's place for its sync delta, until all have come.
  std::span<std::byte> sync_payload(uint32_t chunk) { return Piece(sync_payload_, chunk); }
  bool barrier() const { return barrier_; }
  /// Room for any one chunk in any codec, for the thread that downloads.
  std::span<std::byte> staging() { return staging_.bytes(); }

  /// Payload sizes of all chunks in a codec.
  std::vector<size_t> PayloadBytes(Codec codec) const;

  /// Hashes the chunk's base, keeps the hash and returns it.
  Hash128 HashBase(uint32_t chunk);
  const std::vector<Hash128>& chunk_hashes() const { return chunk_hashes_; }
  /// Over chunk_hashes().
  Hash128 Root() const { return RootHash(chunk_hashes_); }

  /// Replaces the chunk's base, and the parameters with it, by a payload in fp32, and hashes it.
  /// DataLoss, as ValidatePayload, with everything as it was.
  Status ReplaceBase(uint32_t chunk, std::span<const std::byte> fp32_payload);

 private:
  std::span<float> Part(std::span<float> all, uint32_t chunk) const;
  std::span<std::byte> Piece(Buffer& buffer, uint32_t chunk) const;

  LocalTrainer& trainer_;
  const Layout layout_;
  const Codec codec_;
  const bool barrier_;
  const size_t full_chunk_bytes_;  // payload bytes of every chunk but the last
  Buffer base_;
  Buffer payload_;
  Buffer sync_payload_;
  Buffer staging_;
  Buffer residual_;
  std::vector<Hash128> chunk_hashes_;
};

}  // namespace interlude
