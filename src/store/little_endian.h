// Numbers and hashes at a place in bytes, for the formats of this module: little-endian, unaligned.
// The caller has checked that they fit.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "base/hash128.h"

namespace interlude {

static_assert(std::endian::native == std::endian::little, "stored formats are little-endian");

template <typename T>
void Put(std::span<std::byte> bytes, size_t at, const T& value) {
  std::memcpy(bytes.data() + at, &value, sizeof(value));
}

template <typename T>
T Get(std::span<const std::byte> bytes, size_t at) {
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof(value));
  return value;
}

/// 16 bytes, the high half first.
inline void PutHash(std::span<std::byte> bytes, size_t at, const Hash128& hash) {
  Put(bytes, at, hash.high);
  Put(bytes, at + 8, hash.low);
}

inline Hash128 GetHash(std::span<const std::byte> bytes, size_t at) {
  return {Get<uint64_t>(bytes, at), Get<uint64_t>(bytes, at + 8)};
}

}  // namespace interlude
