#include "protocol/piece_sequence.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <set>

#include "base/rng.h"

namespace interlude {
namespace {

using testing::HasSubstr;

TEST(PieceSequence, CompletesChunksInAnyOrder) {
  PieceSequence sequence({10, 4, 7}, {});
  EXPECT_EQ(sequence.missing(), 3u);
  EXPECT_TRUE(sequence.Accept(1, 0, 4)->completes_chunk);
  EXPECT_FALSE(sequence.Accept(0, 0, 6)->completes_chunk);
  EXPECT_TRUE(sequence.Accept(0, 6, 4)->completes_chunk);
  EXPECT_FALSE(sequence.complete());
  EXPECT_TRUE(sequence.Accept(2, 0, 7)->completes_chunk);
  EXPECT_TRUE(sequence.complete());
}

TEST(PieceSequence, TakesAPieceOfTheLargestSizeAndNoneAboveIt) {
  PieceSequence sequence({2 * kMaxPieceBytes}, {});
  EXPECT_EQ(sequence.Accept(0, 0, kMaxPieceBytes + 1).status().code(),
            StatusCode::kInvalidArgument);
  EXPECT_FALSE(sequence.Accept(0, 0, kMaxPieceBytes)->completes_chunk);
  EXPECT_TRUE(sequence.Accept(0, kMaxPieceBytes, kMaxPieceBytes)->completes_chunk);
}

TEST(PieceSequence, ExpectsOnlyTheWantedChunks) {
  PieceSequence sequence({3, 3, 3, 3}, {2, 0, 2});
  EXPECT_EQ(sequence.missing(), 2u);
  const auto unwanted = sequence.Accept(1, 0, 3);
  EXPECT_EQ(unwanted.status().code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(unwanted.status().message(), HasSubstr("chunk 1"));
  EXPECT_TRUE(sequence.Accept(2, 0, 3)->completes_chunk);
  EXPECT_TRUE(sequence.Accept(0, 0, 3)->completes_chunk);
  EXPECT_TRUE(sequence.complete());
}

TEST(PieceSequence, NamesWhatCameAndWhatWasExpected) {
  PieceSequence sequence({10, 10}, {});
  ASSERT_TRUE(sequence.Accept(0, 0, 4).ok());
  struct Row {
    uint32_t chunk;
    uint64_t offset;
    size_t bytes;
    StatusCode code;
    const char* text;
  };
  const uint64_t huge = std::numeric_limits<uint64_t>::max();
  for (const Row& row : {
           Row{2, 0, 1, StatusCode::kInvalidArgument, "2 chunk(s)"},
           Row{0, 4, 0, StatusCode::kInvalidArgument, "piece of 0 bytes"},
           Row{0, 4, 7, StatusCode::kOutOfRange, "10 bytes"},
           Row{0, 11, 1, StatusCode::kOutOfRange, "offset 11"},
           Row{0, huge, 1, StatusCode::kOutOfRange, "beyond chunk 0"},
           Row{0, 5, 1, StatusCode::kDataLoss, "a piece is missing"},
           Row{0, 3, 1, StatusCode::kDataLoss, "a piece came twice"},
           Row{0, 0, 4, StatusCode::kDataLoss, "the next one is at 4"},
           Row{1, 0, 1, StatusCode::kDataLoss, "chunk 0 has 4 of 10 bytes"},
       }) {
    const auto accepted = sequence.Accept(row.chunk, row.offset, row.bytes);
    EXPECT_EQ(accepted.status().code(), row.code) << row.text;
    EXPECT_THAT(accepted.status().message(), HasSubstr(row.text));
  }
  EXPECT_TRUE(sequence.Accept(0, 4, 6)->completes_chunk);
  EXPECT_EQ(sequence.Accept(0, 0, 4).status().code(), StatusCode::kAlreadyExists);
}

TEST(PieceSequence, WantsAReopenedChunkFromItsBeginning) {
  PieceSequence sequence({5, 5}, {});
  ASSERT_TRUE(sequence.Accept(0, 0, 5)->completes_chunk);
  ASSERT_TRUE(sequence.Accept(1, 0, 2).ok());
  sequence.Reopen(0);
  EXPECT_EQ(sequence.missing(), 2u);
  EXPECT_EQ(sequence.Accept(0, 0, 5).status().code(), StatusCode::kDataLoss);  // chunk 1 is open
  ASSERT_TRUE(sequence.Accept(1, 2, 3)->completes_chunk);
  EXPECT_TRUE(sequence.Accept(0, 0, 5)->completes_chunk);
  EXPECT_TRUE(sequence.complete());
}

/// What the contract says, byte by byte: which bytes of which chunk have come.
class Model {
 public:
  Model(std::vector<size_t> sizes, std::set<uint32_t> wanted)
      : sizes_(std::move(sizes)), wanted_(std::move(wanted)), have_(sizes_.size(), 0) {}

  StatusCode Accept(uint32_t chunk, uint64_t offset, size_t bytes) {
    if (chunk >= sizes_.size() || !wanted_.contains(chunk)) return StatusCode::kInvalidArgument;
    if (bytes == 0 || bytes > kMaxPieceBytes) return StatusCode::kInvalidArgument;
    if (static_cast<unsigned __int128>(offset) + bytes > sizes_[chunk])
      return StatusCode::kOutOfRange;
    if (have_[chunk] == sizes_[chunk]) return StatusCode::kAlreadyExists;
    for (size_t i = 0; i < sizes_.size(); ++i) {
      if (i != chunk && have_[i] > 0 && have_[i] < sizes_[i]) return StatusCode::kDataLoss;
    }
    if (offset != have_[chunk]) return StatusCode::kDataLoss;
    have_[chunk] += bytes;
    return StatusCode::kOk;
  }
  void Reopen(uint32_t chunk) { have_[chunk] = 0; }
  bool Whole(uint32_t chunk) const { return have_[chunk] == sizes_[chunk]; }
  uint64_t have(uint32_t chunk) const { return have_[chunk]; }
  uint32_t Missing() const {
    return static_cast<uint32_t>(std::count_if(wanted_.begin(), wanted_.end(),
                                               [&](uint32_t chunk) { return !Whole(chunk); }));
  }
  /// The chunk that may go on: the begun one, else a random wanted one that is not whole.
  uint32_t Next(Rng& rng) const {
    std::vector<uint32_t> open;
    for (const uint32_t chunk : wanted_) {
      if (have_[chunk] > 0 && !Whole(chunk)) return chunk;
      if (!Whole(chunk)) open.push_back(chunk);
    }
    return open[rng.Below(open.size())];
  }

 private:
  std::vector<size_t> sizes_;
  std::set<uint32_t> wanted_;
  std::vector<uint64_t> have_;
};

struct Piece {
  uint32_t chunk;
  uint64_t offset;
  size_t bytes;
};

void Damage(Piece& piece, Rng& rng) {
  switch (rng.Below(7)) {
    case 0:
      piece.chunk = static_cast<uint32_t>(rng.Below(8));
      break;
    case 1:
      piece.offset += 1 + rng.Below(3);
      break;
    case 2:
      piece.offset -= std::min<uint64_t>(piece.offset, 1 + rng.Below(3));
      break;
    case 3:
      piece.bytes += rng.Below(40);
      break;
    case 4:
      piece.bytes = 0;
      break;
    case 5:
      piece.bytes = kMaxPieceBytes + rng.Below(2);
      break;
    default:
      piece.offset = rng();
      break;
  }
}

TEST(PieceSequence, AgreesWithAModelOnRandomSplitsAndRandomDamage) {
  for (uint64_t seed = 0; seed < 3000; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Rng rng(seed);
    std::vector<size_t> sizes(1 + rng.Below(6));
    for (size_t& size : sizes) size = 1 + rng.Below(50);
    std::vector<uint32_t> wanted;
    for (uint32_t i = 0; i < sizes.size(); ++i) {
      if (rng.Below(3) > 0) wanted.push_back(i);
    }
    std::set<uint32_t> expected(wanted.begin(), wanted.end());
    for (uint32_t i = 0; wanted.empty() && i < sizes.size(); ++i) expected.insert(i);
    PieceSequence sequence(sizes, wanted);
    Model model(sizes, expected);
    for (int step = 0; step < 2000 && model.Missing() > 0; ++step) {
      Piece piece{.chunk = model.Next(rng), .offset = 0, .bytes = 0};
      piece.offset = model.have(piece.chunk);
      piece.bytes = 1 + rng.Below(sizes[piece.chunk] - piece.offset);
      if (rng.Below(3) == 0) Damage(piece, rng);
      const StatusCode code = model.Accept(piece.chunk, piece.offset, piece.bytes);
      const auto accepted = sequence.Accept(piece.chunk, piece.offset, piece.bytes);
      ASSERT_EQ(accepted.status().code(), code)
          << "chunk " << piece.chunk << " offset " << piece.offset << " bytes " << piece.bytes;
      if (accepted.ok()) {
        ASSERT_EQ(accepted->completes_chunk, model.Whole(piece.chunk));
      }
      if (accepted.ok() && accepted->completes_chunk && rng.Below(4) == 0) {
        sequence.Reopen(piece.chunk);
        model.Reopen(piece.chunk);
      }
      ASSERT_EQ(sequence.missing(), model.Missing());
    }
    EXPECT_TRUE(sequence.complete());
  }
}

}  // namespace
}  // namespace interlude
