// A worker's copy of the model where its parameters live: in host memory (host_model_copy.h) or on
// a device (train/). What crosses the border is payloads, hashes and, for the first base and for
// repairs, chunks in fp32; never the whole model at once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/hash128.h"
#include "base/status.h"
#include "codec/chunk_codec.h"
#include "config/run_config.h"

namespace interlude {

/// The configuration's word for a codec as codec/'s: the numbers are the same.
constexpr Codec CodecOf(const RoundConfig& config) { return static_cast<Codec>(config.codec); }

/// Parameters, base and optionally a residual, chunk by chunk. Different chunks may be worked on
/// from different threads at once; the trainer doesn't run meanwhile. Every implementation gives
/// the bits of codec/chunk_codec.h.
class ModelCopy {
 public:
  virtual ~ModelCopy() = default;

  /// Encodes the chunk's parameters - base (+ residual) into `out` (EncodedBytes of the chunk).
  virtual EncodeOutcome Encode(uint32_t chunk, std::span<std::byte> out, Hash128& payload_hash) = 0;

  /// base += decoded payload; parameters = base. Precondition: ValidatePayload passed.
  virtual void Apply(uint32_t chunk, std::span<const std::byte> payload) = 0;

  /// The chunk's delta will not be merged. With a residual it goes there, to be sent in a later
  /// round: what `payload` decodes to or, where it is empty, parameters - base; values that would
  /// make the residual NaN or infinite are lost. Afterwards parameters = base. Precondition as
  /// Apply.
  virtual void CarryOver(uint32_t chunk, std::span<const std::byte> payload) = 0;

  /// The hash of the chunk's base as it is after all that was applied or replaced. In host memory
  /// it was taken on the way; a device may compute those of all changed chunks together now.
  virtual Hash128 BaseHash(uint32_t chunk) = 0;

  /// Copies the chunk's base to `out`, in fp32.
  virtual void ReadBase(uint32_t chunk, std::span<std::byte> out) = 0;

  /// Replaces the chunk's base, and the parameters with it. DataLoss, as ValidatePayload, with
  /// everything as it was.
  virtual Status ReplaceBase(uint32_t chunk, std::span<const std::byte> fp32_payload) = 0;
};

}  // namespace interlude
