// The flat parameter layout: which tensor lies where in the one fp32 sequence that is exchanged,
// and how the sequence is cut into chunks. Coordinator and workers must agree on it; the signature
// proves it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/hash128.h"
#include "base/status.h"

namespace interlude {

/// The values that share one scale in q4 and q8; chunk sizes are multiples of it, so that blocks
/// never straddle chunks.
inline constexpr size_t kBlockParams = 64;

/// Bounds on what a layout from the network may claim.
inline constexpr size_t kMaxParameters = 100'000;           // tensors
inline constexpr size_t kMaxTotalParams = size_t{1} << 40;  // values
inline constexpr size_t kMaxChunks = size_t{1} << 20;
inline constexpr size_t kMaxNameBytes = 1024;
inline constexpr size_t kMaxDimensions = 16;

/// One tensor: its name as in the model file, its shape, and its place in the flat sequence.
struct ParameterSpec {
  std::string name;
  std::vector<int64_t> shape;  // row-major; empty for a scalar
  size_t offset = 0;           // params; set by Layout::Create
  size_t count = 0;            // params; the product of shape; set by Layout::Create

  friend bool operator==(const ParameterSpec&, const ParameterSpec&) = default;
};

/// A contiguous range of parameters, the unit of exchange.
struct ChunkRange {
  uint32_t index = 0;
  size_t begin = 0;  // params
  size_t count = 0;  // params; chunk_params() but for the last chunk
};

/// Immutable after Create; any thread may read.
class Layout {
 public:
  /// An empty layout: no parameters, no chunks.
  Layout() = default;

  /// Lays the tensors one after the other in the given order. InvalidArgument on an empty list, a
  /// repeated or empty name or one with a control character, a dimension below 1, a chunk_params
  /// that is no positive multiple of kBlockParams, or sizes beyond the bounds above; the message
  /// names the tensor. The given offsets and counts are ignored and replaced.
  static StatusOr<Layout> Create(std::vector<ParameterSpec> parameters, size_t chunk_params);

  const std::vector<ParameterSpec>& parameters() const { return parameters_; }
  size_t total_params() const { return total_params_; }
  size_t chunk_params() const { return chunk_params_; }
  uint32_t num_chunks() const { return num_chunks_; }

  /// Precondition: index < num_chunks().
  ChunkRange chunk(uint32_t index) const;

  /// Hash of names, shapes, order and chunk_params: equal signatures mean equal layouts. The hashed
  /// bytes are u64 little-endian words and names: chunk_params, number of tensors, then for each
  /// tensor name length, name, number of dimensions, dimensions.
  Hash128 signature() const { return signature_; }

  /// The tensor that holds flat position `position`, by binary search. Precondition: position <
  /// total_params().
  const ParameterSpec& ParameterAt(size_t position) const;

  /// "classifier.weight[3, 17]" for a flat position, the bare name for a scalar, and a statement
  /// that it is outside for a position past the end; for error messages.
  std::string DescribePosition(size_t position) const;

  /// The first difference to `other` in words ("parameter 5: mine is ..., the other's ..."), or
  /// "equal".
  std::string DescribeDifference(const Layout& other) const;

 private:
  std::vector<ParameterSpec> parameters_;
  size_t total_params_ = 0;
  size_t chunk_params_ = 0;
  uint32_t num_chunks_ = 0;
  Hash128 signature_;
};

}  // namespace interlude
