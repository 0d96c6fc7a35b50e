#include "base/hash128.h"

#include <cstring>
#include <vector>

#include "base/hash128_loops.h"

namespace interlude {
namespace {

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

Hash128 FromHalves(const hash_loops::Halves& halves) { return {halves.high, halves.low}; }

const hash_loops::Loops& Loops() {
  static const hash_loops::Loops& best = hash_loops::Best();
  return best;
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

const hash_loops::Loops* hash_loops::Usable(size_t i) {
  if (i == 0) return &kBaseline;
#if defined(__x86_64__)
  if (i == 1 && __builtin_cpu_supports("avx2")) return &kAvx2;
  if (i == 2 && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("avx512f")) {
    return &kAvx512;
  }
#endif
  return nullptr;
}

const hash_loops::Loops& hash_loops::Best() {
  size_t i = 0;
  while (Usable(i + 1) != nullptr) ++i;
  return *Usable(i);
}

Hash128 HashBytes(std::span<const std::byte> bytes) {
  return FromHalves(Loops().hash(bytes.data(), bytes.size()));
}

Hasher128::Hasher128() {
  static_assert(sizeof(state_) >= hash_loops::kStateBytes);
  Loops().reset(state_);
}

void Hasher128::Update(std::span<const std::byte> bytes) {
  Loops().update(state_, bytes.data(), bytes.size());
}

Hash128 Hasher128::Digest() const { return FromHalves(Loops().digest(state_)); }

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
