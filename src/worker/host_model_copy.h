// The worker's copy of the model in host memory, beside the trainer's parameters.
#pragma once

#include <vector>

#include "base/memory_account.h"
#include "layout/layout.h"
#include "worker/local_trainer.h"
#include "worker/model_copy.h"

namespace interlude {

class HostModelCopy final : public ModelCopy {
 public:
  /// The trainer's parameters as they are become the base. The trainer outlives the copy.
  HostModelCopy(LocalTrainer& trainer, Codec codec, bool error_feedback);

  EncodeOutcome Encode(uint32_t chunk, std::span<std::byte> out, Hash128& payload_hash) override;
  void Apply(uint32_t chunk, std::span<const std::byte> payload) override;
  void CarryOver(uint32_t chunk, std::span<const std::byte> payload) override;
  Hash128 BaseHash(uint32_t chunk) override { return chunk_hashes_[chunk]; }
  void ReadBase(uint32_t chunk, std::span<std::byte> out) override;
  Status ReplaceBase(uint32_t chunk, std::span<const std::byte> fp32_payload) override;

 private:
  std::span<float> Part(std::span<float> all, uint32_t chunk) const;
  std::span<float> parameters(uint32_t chunk) { return Part(trainer_.parameters(), chunk); }
  std::span<float> base(uint32_t chunk) { return Part(base_.floats(), chunk); }

  LocalTrainer& trainer_;
  const Layout layout_;
  const Codec codec_;
  Buffer base_;
  Buffer residual_;  // empty without error feedback
  std::vector<Hash128> chunk_hashes_;
};

}  // namespace interlude
