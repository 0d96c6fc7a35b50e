// The four loops over q4 blocks, as a table of functions: the scalar ones, which are the
// specification, and the SIMD ones, which give the same bits. Single-threaded; chunk_codec.h is
// what others call. All need the default floating-point environment (codec/float_environment.h).
#pragma once

#include <cstddef>
#include <cstdint>

namespace interlude {

/// What encoding returns when every delta was finite; otherwise the index of the first that was
/// not.
inline constexpr size_t kAllFinite = SIZE_MAX;

/// Each works on `count` values from the beginning of a block on; `codes` and `scales` point to
/// that block's bytes, with no alignment asked. Float arrays of one call don't overlap. Encoding
/// stops at the first block with a non-finite delta: earlier blocks are done, that one and later
/// ones are untouched.
struct Q4Kernels {
  /// Encodes params - base (+ residual unless null, then replaced by what was lost).
  size_t (*encode_delta)(const float* params, const float* base, float* residual, size_t count,
                         std::byte* codes, std::byte* scales);
  /// Encodes update (+ residual, likewise) and adds the decoded values to base.
  size_t (*encode_update)(const float* update, float* residual, float* base, size_t count,
                          std::byte* codes, std::byte* scales);
  /// sum += weight * value, two roundings.
  void (*decode_accumulate)(const std::byte* codes, const std::byte* scales, float weight,
                            float* sum, size_t count);
  /// base += value; params = base.
  void (*apply)(const std::byte* codes, const std::byte* scales, float* base, float* params,
                size_t count);
};

/// The specification in executable form.
const Q4Kernels& ScalarQ4Kernels();

/// The best instruction set that this machine has, chosen on first use.
const Q4Kernels& SimdQ4Kernels();

/// The instruction set that SimdQ4Kernels uses, as Highway names it, such as "AVX3" (AVX-512).
const char* SimdQ4TargetName();

}  // namespace interlude
