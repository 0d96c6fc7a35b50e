// The fp32 codec: values as they are, little-endian, next to q4 for comparison. Loops over a range
// of values, single-threaded; chunk_codec.h is what others call. Payloads need no alignment.
#pragma once

#include <cstddef>

namespace interlude {

/// Writes params - base (+ residual unless null, which becomes 0: nothing is lost) as the payload.
/// Returns the index of the first non-finite delta, where it stops, or kAllFinite (q4_kernels.h).
size_t Fp32EncodeDelta(const float* params, const float* base, float* residual, size_t count,
                       std::byte* out);

/// Writes update (+ residual, likewise) and adds it to base.
size_t Fp32EncodeUpdate(const float* update, float* residual, float* base, size_t count,
                        std::byte* out);

/// sum += weight * value, two roundings.
void Fp32DecodeAccumulate(const std::byte* payload, float weight, float* sum, size_t count);

/// base += value; params = base.
void Fp32Apply(const std::byte* payload, float* base, float* params, size_t count);

}  // namespace interlude
