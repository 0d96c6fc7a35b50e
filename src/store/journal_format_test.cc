#include "store/journal_format.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

namespace interlude {
namespace {

using ::testing::HasSubstr;

JournalPlaces SmallPlaces() {
  return JournalPlaces::Create({.chunk_bytes = {100, 64, 7}, .slots = 3, .kept_rounds = 2}).value();
}

void ExpectRefused(const JournalGeometry& geometry, const std::string& text) {
  const auto places = JournalPlaces::Create(geometry);
  ASSERT_FALSE(places.ok()) << text;
  EXPECT_EQ(places.status().code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(places.status().message(), HasSubstr(text));
}

TEST(JournalPlaces, PlacesAreAlignedInOrderAndFillTheFile) {
  const JournalPlaces places = SmallPlaces();
  EXPECT_EQ(places.index_offset(), 192u);  // 128 + 3 * 8, aligned
  EXPECT_EQ(places.data_offset(), 4096u);  // 192 + 9 * 32, aligned to a page
  EXPECT_EQ(places.slot_bytes(), 256u);    // 128 + 64 + 64
  EXPECT_EQ(places.file_bytes(), 4096u + 3 * 256u);
  uint64_t data_end = places.data_offset();
  uint64_t index_end = places.index_offset();
  for (uint32_t slot = 0; slot < places.slots(); ++slot) {
    for (uint32_t chunk = 0; chunk < places.chunks(); ++chunk) {
      const uint64_t offset = places.ChunkOffset(slot, chunk);
      EXPECT_EQ(offset % kJournalChunkAlignment, 0u);
      EXPECT_GE(offset, data_end);
      EXPECT_LT(offset - data_end, kJournalChunkAlignment);
      data_end = offset + places.ChunkBytes(chunk);
      EXPECT_EQ(places.SealOffset(slot, chunk), index_end);
      index_end += kJournalSealBytes;
    }
  }
  EXPECT_LE(index_end, places.data_offset());
  EXPECT_LE(data_end, places.file_bytes());
}

TEST(JournalPlaces, ImpossibleGeometriesAreRefused) {
  ExpectRefused({.chunk_bytes = {1}, .slots = 0}, "0 slots");
  ExpectRefused({.chunk_bytes = {1}, .slots = kMaxJournalSlots + 1}, "65537 slots");
  ExpectRefused({.chunk_bytes = {}, .slots = 1}, "0 chunks");
  ExpectRefused({.chunk_bytes = {1}, .slots = 1, .kept_rounds = 0}, "keeps 0 rounds");
  ExpectRefused({.chunk_bytes = {1, 0}, .slots = 1}, "chunk 1 of the journal has no bytes");
  ExpectRefused({.chunk_bytes = {SIZE_MAX}, .slots = 1}, "more than 2^63");
  ExpectRefused({.chunk_bytes = {size_t{1} << 62, size_t{1} << 62}, .slots = 1}, "with chunk 1");
  ExpectRefused({.chunk_bytes = {size_t{1} << 62}, .slots = 4},
                "4 journal slots");  // 2^64 bytes: wraps to 0
  ExpectRefused({.chunk_bytes = {size_t{1} << 62}, .slots = 2}, "2 journal slots");
}

TEST(JournalHeader, WhatIsEncodedIsDecoded) {
  const JournalHeader header = MakeJournalHeader(SmallPlaces(), 1, 41);
  const auto decoded = DecodeJournalHeader(EncodeJournalHeader(header));
  ASSERT_TRUE(decoded.ok()) << decoded.status().ToString();
  EXPECT_EQ(*decoded, header);
  EXPECT_EQ(decoded->round, 41u);
  EXPECT_EQ(decoded->ring_index, 1u);
  EXPECT_EQ(decoded->file_bytes, 4096u + 3 * 256u);
}

TEST(JournalHeader, EveryTruncationAndEveryFlippedBitIsDataLoss) {
  const auto bytes = EncodeJournalHeader(MakeJournalHeader(SmallPlaces(), 0, 7));
  for (size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_EQ(DecodeJournalHeader(std::span(bytes).first(size)).status().code(),
              StatusCode::kDataLoss);
  }
  for (size_t i = 0; i < bytes.size() * 8; ++i) {
    auto damaged = bytes;
    damaged[i / 8] ^= std::byte{1} << (i % 8);
    EXPECT_EQ(DecodeJournalHeader(damaged).status().code(), StatusCode::kDataLoss) << "bit " << i;
  }
}

TEST(JournalHeader, AnotherVersionIsNamed) {
  auto bytes = EncodeJournalHeader(MakeJournalHeader(SmallPlaces(), 0, 7));
  bytes[8] = std::byte{9};
  const Hash128 hash = HashBytes(std::span(bytes).first(112));
  std::memcpy(bytes.data() + 112, &hash.high, 8);
  std::memcpy(bytes.data() + 120, &hash.low, 8);
  const auto header = DecodeJournalHeader(bytes);
  EXPECT_EQ(header.status().code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(header.status().message(), HasSubstr("version 9, this program reads version 1"));
}

TEST(JournalSeal, ASealHoldsForItsOwnRoundAndPlaceOnly) {
  const Hash128 hash{0x1122, 0x3344};
  const auto seal = EncodeJournalSeal(7, 2, 1, hash);
  EXPECT_EQ(DecodeJournalSeal(seal, 7, 2, 1), hash);
  EXPECT_EQ(DecodeJournalSeal(seal, 5, 2, 1), std::nullopt);
  EXPECT_EQ(DecodeJournalSeal(seal, 7, 1, 1), std::nullopt);
  EXPECT_EQ(DecodeJournalSeal(seal, 7, 2, 0), std::nullopt);
  EXPECT_EQ(DecodeJournalSeal(std::vector<std::byte>(kJournalSealBytes), 0, 0, 0), std::nullopt);
}

TEST(JournalSeal, EveryTruncationAndEveryFlippedBitIsNoSeal) {
  const auto seal = EncodeJournalSeal(7, 2, 1, Hash128{0x1122, 0x3344});
  for (size_t size = 0; size < seal.size(); ++size) {
    EXPECT_EQ(DecodeJournalSeal(std::span(seal).first(size), 7, 2, 1), std::nullopt);
  }
  for (size_t i = 0; i < seal.size() * 8; ++i) {
    auto damaged = seal;
    damaged[i / 8] ^= std::byte{1} << (i % 8);
    EXPECT_EQ(DecodeJournalSeal(damaged, 7, 2, 1), std::nullopt) << "bit " << i;
  }
}

}  // namespace
}  // namespace interlude
