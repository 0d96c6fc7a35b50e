#include "store/journal_format.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
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
  EXPECT_EQ(places.members_offset(), 192u);  // 128 + 3 * 8, aligned
  EXPECT_EQ(places.merges_offset(), 448u);   // 192 + 3 * 80, aligned
  EXPECT_EQ(places.merge_bytes(), 24u);      // one word of slots and a tail
  EXPECT_EQ(places.commit_offset(), 640u);   // 448 + 3 * 56, aligned
  EXPECT_EQ(places.index_offset(), 704u);    // 640 + 40, aligned
  EXPECT_EQ(places.data_offset(), 4096u);    // 704 + 9 * 32, aligned to a page
  EXPECT_EQ(places.slot_bytes(), 256u);      // 128 + 64 + 64
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

TEST(JournalPlaces, RecordsLieApartFromEachOther) {
  const JournalPlaces places =
      JournalPlaces::Create({.chunk_bytes = {9, 9, 9, 9}, .slots = 130, .kept_rounds = 1}).value();
  EXPECT_EQ(places.merge_bytes(), 24u + 16u);
  std::vector<std::pair<uint64_t, uint64_t>> records = {
      {0, kJournalHeaderBytes},
      {kJournalHeaderBytes, places.chunk_table().size()},
      {places.commit_offset(), kJournalCommitBytes}};
  for (uint32_t slot = 0; slot < places.slots(); ++slot) {
    for (const uint32_t copy : {0u, 1u})
      records.emplace_back(places.MemberOffset(slot, copy), kJournalMemberBytes);
    for (uint32_t chunk = 0; chunk < places.chunks(); ++chunk)
      records.emplace_back(places.SealOffset(slot, chunk), kJournalSealBytes);
  }
  for (uint32_t chunk = 0; chunk < places.chunks(); ++chunk) {
    records.emplace_back(places.MergeOffset(chunk), places.merge_bytes());
    records.emplace_back(places.MergedOffset(chunk), kJournalMergedBytes);
  }
  std::ranges::sort(records);
  for (size_t i = 1; i < records.size(); ++i) {
    EXPECT_EQ(records[i].first % 8, 0u);
    EXPECT_LE(records[i - 1].first + records[i - 1].second, records[i].first);
  }
  EXPECT_LE(records.back().first + records.back().second, places.data_offset());
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
  EXPECT_THAT(header.status().message(), HasSubstr("version 9, this program reads version 2"));
}

TEST(JournalHeader, AnotherGeometryIsNamed) {
  const JournalPlaces mine = SmallPlaces();
  const auto check = [&](const JournalGeometry& geometry) {
    const JournalPlaces other = JournalPlaces::Create(geometry).value();
    const auto round =
        CheckJournalHeader(MakeJournalHeader(other, 1, 41), mine, 1, other.file_bytes());
    EXPECT_EQ(round.status().code(), StatusCode::kFailedPrecondition);
    return round.status().message();
  };
  EXPECT_THAT(check({.chunk_bytes = {100, 64, 7}, .slots = 4, .kept_rounds = 2}),
              HasSubstr("it has 4 slots, this one 3"));
  EXPECT_THAT(check({.chunk_bytes = {100, 64}, .slots = 3, .kept_rounds = 2}),
              HasSubstr("it has 2 chunks, this one 3"));
  EXPECT_THAT(check({.chunk_bytes = {100, 64, 7}, .slots = 3, .kept_rounds = 5}),
              HasSubstr("it has 5 kept rounds, this one 2"));
  EXPECT_THAT(check({.chunk_bytes = {100, 64, 8}, .slots = 3, .kept_rounds = 2}),
              HasSubstr("its chunks have other sizes"));
}

TEST(JournalHeader, AFileThatIsNotThisOneOrNotWholeIsDataLoss) {
  const JournalPlaces places = SmallPlaces();
  const auto code = [&](const JournalHeader& header, uint32_t ring_index, uint64_t bytes) {
    return CheckJournalHeader(header, places, ring_index, bytes).status().code();
  };
  const JournalHeader whole = MakeJournalHeader(places, 1, 41);
  const uint64_t bytes = places.file_bytes();
  EXPECT_EQ(CheckJournalHeader(whole, places, 1, bytes).value(), 41u);
  EXPECT_EQ(
      CheckJournalHeader(MakeJournalHeader(places, 0, kNoJournalRound), places, 0, bytes).value(),
      kNoJournalRound);
  EXPECT_EQ(code(whole, 0, bytes), StatusCode::kDataLoss);
  EXPECT_EQ(code(whole, 1, bytes - 1), StatusCode::kDataLoss);
  EXPECT_EQ(code(whole, 1, bytes + 1), StatusCode::kDataLoss);
  EXPECT_EQ(code(MakeJournalHeader(places, 1, 42), 1, bytes), StatusCode::kDataLoss);
  JournalHeader odd = whole;
  odd.commit_offset += 64;
  EXPECT_EQ(code(odd, 1, bytes), StatusCode::kDataLoss);
}

TEST(JournalHeader, TheGeometryIsFoundInTheFileItself) {
  const JournalPlaces places = SmallPlaces();
  const JournalHeader header = MakeJournalHeader(places, 1, 41);
  const auto found = PlacesOfJournal(header, places.chunk_table());
  ASSERT_TRUE(found.ok()) << found.status().ToString();
  EXPECT_EQ(MakeJournalHeader(*found, 1, 41), header);
  EXPECT_EQ(found->geometry().chunk_bytes, places.geometry().chunk_bytes);

  const auto code = [&](const JournalHeader& other, std::span<const std::byte> table) {
    return PlacesOfJournal(other, table).status().code();
  };
  std::vector<std::byte> damaged(places.chunk_table().begin(), places.chunk_table().end());
  damaged[3] ^= std::byte{1};
  EXPECT_EQ(code(header, damaged), StatusCode::kDataLoss);
  EXPECT_EQ(code(header, places.chunk_table().first(16)), StatusCode::kDataLoss);
  JournalHeader odd = header;
  odd.slots = 0;
  EXPECT_EQ(code(odd, places.chunk_table()), StatusCode::kDataLoss);
  odd = header;
  odd.chunks = 2;
  EXPECT_EQ(code(odd, places.chunk_table()), StatusCode::kDataLoss);
  odd = header;
  odd.data_offset += 4096;
  EXPECT_EQ(code(odd, places.chunk_table()), StatusCode::kDataLoss);
}

}  // namespace
}  // namespace interlude
