#include "worker/host_model_copy.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace interlude {

HostModelCopy::HostModelCopy(LocalTrainer& trainer, Codec codec, bool error_feedback)
    : trainer_(trainer),
      layout_(trainer.layout()),
      codec_(codec),
      base_(Buffer::Floats("base", layout_.total_params())),
      chunk_hashes_(layout_.num_chunks()) {
  if (error_feedback) residual_ = Buffer::Floats("residual", layout_.total_params());
  for (uint32_t chunk = 0; chunk < layout_.num_chunks(); ++chunk) {
    std::ranges::copy(parameters(chunk), base(chunk).begin());
    chunk_hashes_[chunk] = HashFloats(base(chunk));
  }
}

EncodeOutcome HostModelCopy::Encode(uint32_t chunk, std::span<std::byte> out,
                                    Hash128& payload_hash) {
  const std::span<float> residual =
      residual_.size() == 0 ? std::span<float>() : Part(residual_.floats(), chunk);
  return EncodeDelta(codec_, parameters(chunk), base(chunk), residual, out, payload_hash);
}

void HostModelCopy::Apply(uint32_t chunk, std::span<const std::byte> payload) {
  chunk_hashes_[chunk] = ApplyAndHash(codec_, payload, base(chunk), parameters(chunk));
}

void HostModelCopy::CarryOver(uint32_t chunk, std::span<const std::byte> payload) {
  const std::span<float> values = parameters(chunk);
  const std::span<const float> from = base(chunk);
  if (residual_.size() != 0) {
    const std::span<float> residual = Part(residual_.floats(), chunk);
    if (!payload.empty()) {
      interlude::Apply(codec_, payload, residual, values);
    } else {
      for (size_t i = 0; i < values.size(); ++i) {
        const float sum = residual[i] + (values[i] - from[i]);
        if (std::isfinite(sum)) residual[i] = sum;
      }
    }
  }
  std::ranges::copy(from, values.begin());
}

void HostModelCopy::ReadBase(uint32_t chunk, std::span<std::byte> out) {
  std::ranges::copy(std::as_bytes(base(chunk)), out.begin());
}

Status HostModelCopy::ReplaceBase(uint32_t chunk, std::span<const std::byte> fp32_payload) {
  const std::span<float> to = base(chunk);
  INTERLUDE_RETURN_IF_ERROR(ValidatePayload(Codec::kFp32, fp32_payload, to.size()));
  std::memcpy(to.data(), fp32_payload.data(), fp32_payload.size());
  std::ranges::copy(to, parameters(chunk).begin());
  chunk_hashes_[chunk] = HashFloats(to);
  return OkStatus();
}

std::span<float> HostModelCopy::Part(std::span<float> all, uint32_t chunk) const {
  const ChunkRange range = layout_.chunk(chunk);
  return all.subspan(range.begin, range.count);
}

}  // namespace interlude
