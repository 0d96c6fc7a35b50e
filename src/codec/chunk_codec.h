// Encoding, decoding and applying one chunk of parameters, on the calling thread and in one pass
// over memory. Chunks are independent: threads take one each. Knows floats and bytes, never tensors
// or messages. The formats are specified in docs/formats/q4.md and q8.md; the scalar kernels are
// their executable form. Every function gives the same bits on every instruction set. Spans of one
// call don't overlap; payloads need no alignment. Whatever float environment the caller has is set
// aside.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>

#include "base/hash128.h"
#include "base/status.h"

namespace interlude {

/// How a chunk's values are represented on the wire. The numbers are those of the wire schema.
enum class Codec : uint8_t {
  kQ4 = 1,    // blocks of 64 values, 4-bit codes and one bf16 scale: 4.25 bits a value
  kFp32 = 2,  // the values as they are, little-endian; for comparison
  kQ8 = 3,    // blocks of 64 values, 8-bit codes and one bf16 scale: 8.25 bits a value
};
inline constexpr std::array kAllCodecs = {Codec::kQ4, Codec::kQ8, Codec::kFp32};

/// As in the configuration: "q4", "q8", "fp32".
const char* CodecName(Codec codec);

/// Whether encoding loses something, which error feedback keeps.
constexpr bool IsLossy(Codec codec) { return codec != Codec::kFp32; }

/// Bytes that `count` values take.
size_t EncodedBytes(Codec codec, size_t count);

/// What encoding saw.
struct EncodeOutcome {
  /// Index within the chunk of the first delta that is NaN or Inf. The payload is then not to be
  /// sent.
  std::optional<size_t> first_nonfinite;
};

/// The worker's first work on a chunk: encodes params - base (+ residual) into `out`. All spans
/// have the same length but `out`, which has EncodedBytes(). `residual` may be empty (no error
/// feedback); otherwise it is read, and replaced by what encoding lost. `payload_hash` is of `out`.
/// A non-finite delta, also one that overflows, leaves `out` and `residual` unspecified and the
/// hash zero.
EncodeOutcome EncodeDelta(Codec codec, std::span<const float> params, std::span<const float> base,
                          std::span<float> residual, std::span<std::byte> out,
                          Hash128& payload_hash);

/// Whether a payload from the network may be decoded as `count` values: the exact size, and every
/// scale (q4, q8) one that an encoder can have written (+0, or finite and at least 2^-100 in
/// magnitude), every value (fp32) finite. InvalidArgument naming the sizes, or DataLoss naming the
/// first bad block or value.
Status ValidatePayload(Codec codec, std::span<const std::byte> payload, size_t count);

// DecodeAverage, EncodeUpdate and Apply are stages by themselves: what tests compare the whole with
// and benchmarks time.

/// sum[i] = the weighted sum of the payloads' values in the order given: from +0 on, each product
/// and each sum rounded to fp32 on its own (never fused). Payloads, here and below, must have
/// passed ValidatePayload.
void DecodeAverage(Codec codec, std::span<const std::span<const std::byte>> payloads,
                   std::span<const float> weights, std::span<float> sum);

/// Makes one delta of those of all contributors: values[k] are merged.size() values of the k-th
/// contributor, each times its weight (+0 + weight * value, so never -0). For merge rules that are
/// no weighted sum. Called for parts of the chunk, in order; what it does with a parameter must not
/// depend on where a part begins.
using CombineFunction =
    std::function<void(std::span<const float* const> values, std::span<float> merged)>;

/// What `combine` makes of the payloads; zeros where there are none.
void DecodeCombined(Codec codec, std::span<const std::span<const std::byte>> payloads,
                    std::span<const float> weights, const CombineFunction& combine,
                    std::span<float> merged);

/// The squared L2 norm of a payload's `count` values, in double, in one pass over its bytes: of
/// each block of 64 values the sum of squares (exact with q4 and q8; with fp32 value by value in
/// order), and those in order.
double PayloadSquaredNorm(Codec codec, std::span<const std::byte> payload, size_t count);

/// Encodes update (+ residual, which may be empty, as above) into `out` and adds what was encoded
/// to `base`: afterwards `base` equals, bit for bit, what Apply makes of `out` on a copy of the old
/// base. A non-finite update leaves all three unspecified. The last stage of a merge by itself.
EncodeOutcome EncodeUpdate(Codec codec, std::span<const float> update, std::span<float> residual,
                           std::span<float> base, std::span<std::byte> out);

/// Turns the merged delta of values [begin, begin + values.size()) of the chunk into the update, in
/// place: an outer step. Called for each part of the chunk once, in order, while it is in cache.
using UpdateFunction = std::function<void(size_t begin, std::span<float> values)>;

/// The outer steps that a kernel can take on values in registers: Nesterov's momentum, or SGD where
/// `velocity` is empty. Each operation is rounded on its own:
///   velocity = (momentum * velocity) + d;  update = learning_rate * (d + (momentum * velocity))
/// and without velocity update = learning_rate * d.
struct MomentumUpdate {
  float learning_rate = 0;
  float momentum = 0;
  std::span<float> velocity;  // the chunk's
};

/// An outer step, and where there is one the same step in a faster form: which of the two is used
/// makes no difference to the bits. With `combine` the deltas are merged by it instead of summed.
struct UpdateRule {
  UpdateFunction step;
  std::optional<MomentumUpdate> momentum;
  CombineFunction combine;
};

struct MergeOutcome {
  std::optional<size_t> first_nonfinite;  // of the update; as in EncodeOutcome
  Hash128 base_hash;                      // of the new base
  Hash128 payload_hash;                   // of `out`
};

/// The coordinator's work on a chunk: DecodeAverage (or DecodeCombined), then the outer step, then
/// EncodeUpdate, and the hashes: the same bits as one after the other. `step` runs in the default
/// float environment. With a non-finite update it ends there: later parts see no `step`, and
/// `residual`, `base`, `out` and the hashes are unspecified. `with_hashes` = false leaves the
/// hashes zero; for measuring what they cost.
MergeOutcome MergeChunkUpdate(Codec codec, std::span<const std::span<const std::byte>> payloads,
                              std::span<const float> weights, const UpdateRule& rule,
                              std::span<float> residual, std::span<float> base,
                              std::span<std::byte> out, bool with_hashes = true);

/// base[i] += value[i]; params[i] = base[i]. Writes params past the caches where they begin at a
/// multiple of 64 bytes.
void Apply(Codec codec, std::span<const std::byte> payload, std::span<float> base,
           std::span<float> params);

/// The worker's second work on a chunk: Apply, and the hash of the new base.
Hash128 ApplyAndHash(Codec codec, std::span<const std::byte> payload, std::span<float> base,
                     std::span<float> params);

}  // namespace interlude
