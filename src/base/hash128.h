// 128-bit content hashes (XXH3-128): of a chunk of parameters, of a layout, and the root over
// chunks. They detect damage and divergence, not malice: XXH3 is not a cryptographic hash.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/status.h"

namespace interlude {

/// A hash value. The default (all zero) stands for "none".
struct Hash128 {
  uint64_t high = 0;
  uint64_t low = 0;

  /// 32 lower-case hex digits, high half first.
  std::string ToHex() const;
  /// Reads what ToHex wrote. InvalidArgument on anything else.
  static StatusOr<Hash128> FromHex(std::string_view hex);

  friend auto operator<=>(const Hash128&, const Hash128&) = default;
};

/// XXH3-128 with seed 0 of the bytes.
Hash128 HashBytes(std::span<const std::byte> bytes);

/// XXH3-128 of the values' bytes as they lie in memory (little-endian fp32).
Hash128 HashFloats(std::span<const float> values);

/// XXH3-128 with seed 0 of bytes that come piece by piece: the same as HashBytes of them all, taken
/// while each piece is still in cache. One thread; no memory of its own on the heap.
class Hasher128 {
 public:
  Hasher128();
  void Update(std::span<const std::byte> bytes);
  void Update(std::span<const float> values) { Update(std::as_bytes(values)); }
  /// Of everything so far; more may follow.
  Hash128 Digest() const;

 private:
  alignas(64) std::byte state_[640];  // XXH3_state_t; hash128.cc checks the size
};

/// The root over chunk hashes in chunk order: XXH3-128 of their concatenation, each as 16 bytes,
/// high half first, each half little-endian. Of no chunks it is the hash of the empty string.
Hash128 RootHash(std::span<const Hash128> chunk_hashes);

}  // namespace interlude
