#include "base/hash128.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <set>
#include <vector>

#include "base/hash128_loops.h"

namespace interlude {
namespace {

Hash128 HashText(std::string_view text) { return HashBytes(std::as_bytes(std::span(text))); }

TEST(Hash128, IsXxh3WithSeedZero) {
  // The algorithm's published values.
  EXPECT_EQ(HashText("").ToHex(), "99aa06d3014798d86001c324468d497f");
  EXPECT_EQ(HashText("a").ToHex(), "a96faf705af16834e6c632b61e964e1f");
  EXPECT_EQ(HashText("abc").ToHex(), "06b05ab6733a618578af5f94892f3950");
}

TEST(Hash128, HexIsReadBack) {
  const Hash128 hash{0x0123456789abcdef, 0x00000000000000ff};
  EXPECT_EQ(hash.ToHex(), "0123456789abcdef00000000000000ff");
  EXPECT_EQ(Hash128::FromHex(hash.ToHex()).value(), hash);
}

TEST(Hash128, OtherTextIsNoHash) {
  EXPECT_EQ(Hash128::FromHex("").status().code(), StatusCode::kInvalidArgument);
  EXPECT_FALSE(Hash128::FromHex("0123456789abcdef00000000000000f").ok());
  EXPECT_FALSE(Hash128::FromHex("0123456789abcdef00000000000000ff0").ok());
  EXPECT_FALSE(Hash128::FromHex("0123456789ABCDEF00000000000000ff").ok());
  EXPECT_FALSE(Hash128::FromHex("0123456789abcdeg00000000000000ff").ok());
}

TEST(Hash128, FloatsAreHashedAsTheyLieInMemory) {
  const std::vector<float> values = {1.0f, -0.0f, 0.0f};
  const std::array<unsigned char, 12> bytes = {0, 0, 0x80, 0x3f, 0, 0, 0, 0x80, 0, 0, 0, 0};
  EXPECT_EQ(HashFloats(values), HashBytes(std::as_bytes(std::span(bytes))));
  EXPECT_NE(HashFloats(values), HashFloats(std::vector<float>{1.0f, 0.0f, 0.0f})) << "-0 is not 0";
}

TEST(Hash128, AnyFlippedBitChangesTheHash) {
  std::vector<std::byte> bytes(300, std::byte{0x5a});
  std::set<Hash128> hashes = {HashBytes(bytes)};
  for (size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    bytes[bit / 8] ^= std::byte{1} << (bit % 8);
    EXPECT_TRUE(hashes.insert(HashBytes(bytes)).second) << bit;
    bytes[bit / 8] ^= std::byte{1} << (bit % 8);
  }
}

TEST(Hasher128, PieceByPieceGivesTheHashOfTheWhole) {
  std::vector<std::byte> bytes(5000);
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i * 131 >> 3);
  for (const size_t piece : {size_t{1}, size_t{64}, size_t{1000}, size_t{4096}, bytes.size()}) {
    Hasher128 hasher;
    for (size_t begin = 0; begin < bytes.size(); begin += piece) {
      hasher.Update(std::span(bytes).subspan(begin, std::min(piece, bytes.size() - begin)));
    }
    EXPECT_EQ(hasher.Digest(), HashBytes(bytes)) << piece;
  }
  EXPECT_EQ(Hasher128().Digest(), HashText(""));
}

TEST(Hasher128, EveryInstructionSetGivesTheSameHashAndContinuesAnothersState) {
  const hash_loops::Loops& baseline = *hash_loops::Usable(0);
  std::vector<std::byte> bytes(5000);
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i * i >> 4);
  const auto same = [](const hash_loops::Halves& a, const hash_loops::Halves& b) {
    return a.high == b.high && a.low == b.low;
  };
  for (size_t v = 0; hash_loops::Usable(v) != nullptr; ++v) {
    const hash_loops::Loops& variant = *hash_loops::Usable(v);
    SCOPED_TRACE(variant.name);
    for (size_t size = 0; size < bytes.size() - 1; size += size < 300 ? 1 : 97) {
      const hash_loops::Halves expected = baseline.hash(&bytes[1], size);
      EXPECT_TRUE(same(expected, variant.hash(&bytes[1], size))) << size;
      alignas(64) std::byte state[hash_loops::kStateBytes];
      variant.reset(state);
      baseline.update(state, &bytes[1], size / 3);
      variant.update(state, &bytes[1 + size / 3], size - size / 3);
      EXPECT_TRUE(same(expected, variant.digest(state))) << size << " in two pieces";
    }
  }
}

TEST(RootHash, IsTheHashOfTheChunkHashesInOrder) {
  const std::vector<Hash128> chunks = {{0x0102030405060708, 0x1112131415161718}, {1, 2}};
  const std::array<unsigned char, 32> bytes = {
      8, 7, 6, 5, 4, 3, 2, 1, 0x18, 0x17, 0x16, 0x15, 0x14, 0x13, 0x12, 0x11,
      1, 0, 0, 0, 0, 0, 0, 0, 2,    0,    0,    0,    0,    0,    0,    0};
  EXPECT_EQ(RootHash(chunks), HashBytes(std::as_bytes(std::span(bytes))));
  EXPECT_NE(RootHash(chunks), RootHash(std::vector<Hash128>{chunks[1], chunks[0]}));
  EXPECT_EQ(RootHash({}), HashText(""));
}

}  // namespace
}  // namespace interlude
