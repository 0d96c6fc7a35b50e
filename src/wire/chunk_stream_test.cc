#include "wire/chunk_stream.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "base/rng.h"

namespace interlude {
namespace {

using ::testing::HasSubstr;

std::vector<std::byte> RandomBytes(size_t count, uint64_t seed) {
  Rng rng(seed);
  std::vector<std::byte> bytes(count);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(rng() >> 56);
  return bytes;
}

std::vector<v1::Piece> Cut(uint32_t chunk, std::span<const std::byte> payload,
                           Hash128 base_hash = {}) {
  std::vector<v1::Piece> pieces;
  EXPECT_TRUE(SendChunk(chunk, payload, {.payload = HashBytes(payload), .base = base_hash},
                        [&](v1::Piece& piece, std::span<const std::byte> bytes) {
                          piece.set_payload(bytes.data(), bytes.size());
                          pieces.push_back(piece);
                          return true;
                        }));
  return pieces;
}

/// A receiver that keeps what it is given.
struct Receiving {
  explicit Receiving(const std::vector<size_t>& sizes, const std::vector<uint32_t>& wanted = {})
      : receiver(sizes, wanted, [this](uint32_t chunk, uint64_t offset, ByteSpans bytes) {
          if (!store_status.ok()) return store_status;
          CopySpans(bytes, chunks[chunk].data() + offset);
          return OkStatus();
        }) {
    for (const size_t size : sizes) chunks.emplace_back(size);
  }
  auto Accept(const v1::Piece& piece) { return receiver.Accept(RawPiece(piece)); }
  std::vector<std::vector<std::byte>> chunks;
  Status store_status;
  ChunkReceiver receiver;
};

TEST(SendChunk, CutsAtTheLargestPieceAndHashesOnlyTheLast) {
  const struct {
    size_t bytes;
    std::vector<size_t> pieces;
  } cases[] = {{1, {1}},
               {kMaxPieceBytes - 1, {kMaxPieceBytes - 1}},
               {kMaxPieceBytes, {kMaxPieceBytes}},
               {kMaxPieceBytes + 1, {kMaxPieceBytes, 1}},
               {2 * kMaxPieceBytes, {kMaxPieceBytes, kMaxPieceBytes}}};
  for (const auto& expected : cases) {
    const std::vector<std::byte> payload = RandomBytes(expected.bytes, 1);
    const std::vector<v1::Piece> pieces = Cut(7, payload, {8, 9});
    std::vector<size_t> sizes;
    size_t offset = 0;
    for (const v1::Piece& piece : pieces) {
      sizes.push_back(piece.payload().size());
      EXPECT_EQ(piece.chunk(), 7u);
      EXPECT_EQ(piece.offset(), offset);
      offset += piece.payload().size();
      EXPECT_EQ(piece.has_payload_hash(), offset == expected.bytes);
      EXPECT_EQ(piece.has_base_hash(), offset == expected.bytes);
    }
    EXPECT_EQ(sizes, expected.pieces);
  }
}

TEST(SendChunk, StopsWhenTheStreamIsBroken) {
  int written = 0;
  EXPECT_FALSE(SendChunk(0, RandomBytes(3 * kMaxPieceBytes, 1), {},
                         [&](v1::Piece&, auto) { return ++written < 2; }));
  EXPECT_EQ(written, 2);
}

TEST(ChunkReceiver, PutsPiecesTogetherInAnyOrderOfChunks) {
  const std::vector<size_t> sizes = {kMaxPieceBytes + 5, 64};
  Receiving receiving(sizes);
  const std::vector<std::byte> first = RandomBytes(sizes[0], 1);
  const std::vector<std::byte> second = RandomBytes(sizes[1], 2);
  const auto small = receiving.Accept(Cut(1, second, {3, 4})[0]).value();
  ASSERT_TRUE(small.has_value());
  EXPECT_EQ(small->chunk, 1u);
  EXPECT_EQ(small->hashes.base, (Hash128{3, 4}));
  EXPECT_EQ(small->hashes.payload, HashBytes(second));
  EXPECT_FALSE(receiving.receiver.complete());
  const std::vector<v1::Piece> pieces = Cut(0, first);
  EXPECT_FALSE(receiving.Accept(pieces[0]).value().has_value());
  EXPECT_TRUE(receiving.Accept(pieces[1]).value().has_value());
  EXPECT_TRUE(receiving.receiver.complete());
  EXPECT_EQ(receiving.chunks[0], first);
  EXPECT_EQ(receiving.chunks[1], second);
}

TEST(ChunkReceiver, AFlippedBitIsDataLossAndTheChunkIsWantedAgain) {
  Receiving receiving({100});
  const std::vector<std::byte> payload = RandomBytes(100, 1);
  v1::Piece damaged = Cut(0, payload)[0];
  (*damaged.mutable_payload())[42] ^= 1;
  const Status status = receiving.Accept(damaged).status();
  EXPECT_EQ(status.code(), StatusCode::kDataLoss);
  EXPECT_THAT(status.message(), HasSubstr("chunk 0 arrived with payload hash"));
  EXPECT_EQ(receiving.receiver.missing(), 1u);
  EXPECT_TRUE(receiving.Accept(Cut(0, payload)[0]).value().has_value());
  EXPECT_EQ(receiving.chunks[0], payload);
}

TEST(ChunkReceiver, AMissingHashIsDataLoss) {
  Receiving receiving({10});
  v1::Piece piece = Cut(0, RandomBytes(10, 1))[0];
  piece.clear_payload_hash();
  const Status status = receiving.Accept(piece).status();
  EXPECT_EQ(status.code(), StatusCode::kDataLoss);
  EXPECT_THAT(status.message(), HasSubstr("announced none"));
}

TEST(ChunkReceiver, ATruncatedChunkIsNeverWhole) {
  Receiving receiving({kMaxPieceBytes + 10});
  std::vector<v1::Piece> pieces = Cut(0, RandomBytes(kMaxPieceBytes + 10, 1));
  ASSERT_TRUE(receiving.Accept(pieces[0]).ok());
  pieces[1].mutable_payload()->resize(9);
  EXPECT_FALSE(receiving.Accept(pieces[1]).value().has_value());
  EXPECT_FALSE(receiving.receiver.complete());
}

TEST(ChunkReceiver, AnOversizedPieceIsRefusedBeforeItIsStored) {
  Receiving receiving({10});
  v1::Piece beyond = Cut(0, RandomBytes(11, 1))[0];
  EXPECT_EQ(receiving.Accept(beyond).status().code(), StatusCode::kOutOfRange);
  v1::Piece wrapping = Cut(0, RandomBytes(10, 1))[0];
  wrapping.set_offset(~uint64_t{0} - 5);
  EXPECT_EQ(receiving.Accept(wrapping).status().code(), StatusCode::kOutOfRange);
  v1::Piece huge;
  huge.mutable_payload()->resize(kMaxPieceBytes + 1);
  EXPECT_EQ(receiving.Accept(huge).status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(receiving.chunks[0], std::vector<std::byte>(10));
}

TEST(ChunkReceiver, GapsDuplicatesAndStrangersAreRefused) {
  const std::vector<size_t> sizes = {2 * kMaxPieceBytes, 10, 10};
  Receiving receiving(sizes, {0, 1});
  const std::vector<v1::Piece> pieces = Cut(0, RandomBytes(sizes[0], 1));
  const v1::Piece other = Cut(1, RandomBytes(10, 2))[0];
  EXPECT_EQ(receiving.Accept(pieces[1]).status().code(), StatusCode::kDataLoss);  // gap
  ASSERT_TRUE(receiving.Accept(pieces[0]).ok());
  EXPECT_EQ(receiving.Accept(pieces[0]).status().code(), StatusCode::kDataLoss);  // twice
  EXPECT_EQ(receiving.Accept(other).status().code(),
            StatusCode::kDataLoss);  // interleaved
  ASSERT_TRUE(receiving.Accept(pieces[1]).value().has_value());
  EXPECT_EQ(receiving.Accept(pieces[0]).status().code(), StatusCode::kAlreadyExists);
  EXPECT_EQ(receiving.Accept(Cut(2, RandomBytes(10, 3))[0]).status().code(),
            StatusCode::kInvalidArgument);
  EXPECT_EQ(receiving.Accept(Cut(3, RandomBytes(10, 3))[0]).status().code(),
            StatusCode::kInvalidArgument);
  EXPECT_TRUE(receiving.Accept(other).value().has_value());
  EXPECT_TRUE(receiving.receiver.complete());
}

TEST(ChunkReceiver, AChunkThatBeginsAgainIsHashedAnew) {
  Receiving receiving({kMaxPieceBytes + 10});
  const std::vector<std::byte> payload = RandomBytes(kMaxPieceBytes + 10, 1);
  std::vector<v1::Piece> pieces = Cut(0, payload);
  const std::string good = pieces[0].payload();
  (*pieces[0].mutable_payload())[7] ^= 1;
  ASSERT_TRUE(receiving.Accept(pieces[0]).ok());
  EXPECT_EQ(receiving.Accept(pieces[1]).status().code(), StatusCode::kDataLoss);
  pieces[0].set_payload(good);
  ASSERT_TRUE(receiving.Accept(pieces[0]).ok());
  EXPECT_TRUE(receiving.Accept(pieces[1]).value().has_value());
  EXPECT_EQ(receiving.chunks[0], payload);
}

TEST(ChunkReceiver, AStoreThatFailsEndsTheStreamWithItsError) {
  Receiving receiving({10});
  receiving.store_status = ResourceExhaustedError("disk full");
  EXPECT_EQ(receiving.Accept(Cut(0, RandomBytes(10, 1))[0]).status(), receiving.store_status);
}

}  // namespace
}  // namespace interlude
