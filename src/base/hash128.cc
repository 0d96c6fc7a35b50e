#include "base/hash128.h"

#include <cstring>
#include <vector>

// Inlined, so that it is compiled for the instruction set this file is compiled for.
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <new>

namespace interlude {
namespace {

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

}  // namespace

std::string Hash128::ToHex() const { return fmt::format("{:016x}{:016x}", high, low); }

StatusOr<Hash128> Hash128::FromHex(std::string_view hex) {
  if (hex.size() != 32) {
    return InvalidArgumentError("a hash has 32 hex digits, this has {} characters", hex.size());
  }
  Hash128 hash;
  for (size_t i = 0; i < 32; ++i) {
    const int digit = HexDigit(hex[i]);
    if (digit < 0)
      return InvalidArgumentError("character {} of a hash is no lower-case hex digit", i);
    uint64_t& half = i < 16 ? hash.high : hash.low;
    half = half << 4 | static_cast<uint64_t>(digit);
  }
  return hash;
}

Hash128 HashBytes(std::span<const std::byte> bytes) {
  const XXH128_hash_t h = XXH3_128bits(bytes.data(), bytes.size());
  return Hash128{h.high64, h.low64};
}

Hasher128::Hasher128() {
  static_assert(sizeof(XXH3_state_t) <= sizeof(state_) && alignof(XXH3_state_t) <= 64);
  XXH3_128bits_reset(new (state_) XXH3_state_t);
}

void Hasher128::Update(std::span<const std::byte> bytes) {
  XXH3_128bits_update(std::launder(reinterpret_cast<XXH3_state_t*>(state_)), bytes.data(),
                      bytes.size());
}

Hash128 Hasher128::Digest() const {
  const XXH128_hash_t h =
      XXH3_128bits_digest(std::launder(reinterpret_cast<const XXH3_state_t*>(state_)));
  return Hash128{h.high64, h.low64};
}

Hash128 HashFloats(std::span<const float> values) { return HashBytes(std::as_bytes(values)); }

Hash128 RootHash(std::span<const Hash128> chunk_hashes) {
  std::vector<std::byte> bytes(chunk_hashes.size() * 16);
  for (size_t i = 0; i < chunk_hashes.size(); ++i) {
    std::memcpy(bytes.data() + i * 16, &chunk_hashes[i].high, 8);
    std::memcpy(bytes.data() + i * 16 + 8, &chunk_hashes[i].low, 8);
  }
  return HashBytes(bytes);
}

}  // namespace interlude
