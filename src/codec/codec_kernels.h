// The loops over a range of one chunk, as a table of functions: one table for each codec and, for
// q4, one for each way it is written. Single-threaded; chunk_codec.h is what others call. All need
// the default floating-point environment (codec/float_environment.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace interlude {

/// What encoding returns when every delta was finite; otherwise the index of the first that was
/// not.
inline constexpr size_t kAllFinite = SIZE_MAX;

/// A range of a payload that counts with `weight`. `scales` is unused by codecs that have none.
struct WeightedPayload {
  const std::byte* codes;
  const std::byte* scales;
  float weight;
};

/// What a sum starts from, and where it goes.
enum class SumStart : uint8_t {
  kSum,           // the values that are there
  kZero,          // +0
  kZeroStreamed,  // +0; written past the caches where `sum` is aligned for it
};

/// The outer steps that fit between decoding and encoding a block in registers: SGD, or with
/// `velocity` Nesterov's momentum. Each operation is rounded on its own:
///   velocity = (momentum * velocity) + d;  update = learning_rate * (d + (momentum * velocity))
/// and without velocity update = learning_rate * d.
struct MomentumStep {
  float learning_rate;
  float momentum;
  float* velocity;  // null: none
};

/// Each works on `count` values from the beginning of a block on; `codes` and `scales` point to
/// that block's bytes, with no alignment asked. Float arrays of one call don't overlap. Encoding
/// stops at the first block with a non-finite delta: earlier blocks are done, that one and later
/// ones are untouched. What is written past the caches is for other threads only after the caller's
/// hwy::FlushStream.
struct CodecKernels {
  /// Encodes params - base (+ residual unless null, then replaced by what was lost).
  size_t (*encode_delta)(const float* params, const float* base, float* residual, size_t count,
                         std::byte* codes, std::byte* scales);
  /// Encodes update (+ residual, likewise) and adds the decoded values to base.
  size_t (*encode_update)(const float* update, float* residual, float* base, size_t count,
                          std::byte* codes, std::byte* scales);
  /// sum = start + weight * value of each payload in the order given, two roundings a payload.
  void (*decode_sum)(std::span<const WeightedPayload> payloads, SumStart start, float* sum,
                     size_t count);
  /// decode_sum from +0, the step, encode_update: the same bits. A non-finite update leaves the
  /// arrays unspecified. Null where a
  /// codec has no faster way than one after the other.
  size_t (*merge)(std::span<const WeightedPayload> payloads, const MomentumStep& step,
                  float* residual, float* base, size_t count, std::byte* codes, std::byte* scales);
  /// The sum of the squared values: block by block, in order, each block's sum exact or (fp32)
  /// value by value in order; all in double.
  double (*squared_norm)(const std::byte* codes, const std::byte* scales, size_t count);
  /// base += value; params = base. Writes params past the caches where they are aligned for it.
  void (*apply)(const std::byte* codes, const std::byte* scales, float* base, float* params,
                size_t count);
};

}  // namespace interlude
