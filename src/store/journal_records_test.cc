#include "store/journal_records.h"

#include <gtest/gtest.h>

#include <functional>

namespace interlude {
namespace {

constexpr uint32_t kRound = 7;

/// A file in memory, with more slots than fit one word of a merge record.
class JournalRecords : public testing::Test {
 protected:
  std::span<std::byte> file() { return file_; }

  /// Calls `read` on what the file is when `write` was cut short: after any byte, and with any of
  /// the words of a record left out, since nothing orders the stores.
  void ForEachTornWrite(const std::function<void()>& write, uint64_t offset, size_t bytes,
                        const std::function<void(std::span<const std::byte>)>& read) {
    const std::vector<std::byte> before = file_;
    write();
    const std::vector<std::byte> after = file_;
    std::vector<std::byte> torn = before;
    for (size_t i = 0; i < file_.size(); ++i) {
      if (i < offset || i >= offset + bytes) {
        ASSERT_EQ(before[i], after[i]) << "wrote outside of its place, at " << i;
      }
    }
    for (size_t done = 0; done <= bytes; ++done) {
      std::copy_n(after.begin() + static_cast<ptrdiff_t>(offset), done,
                  torn.begin() + static_cast<ptrdiff_t>(offset));
      read(torn);
    }
    for (uint32_t words = 0; words < 1u << (bytes / 8); ++words) {
      for (size_t i = 0; i < bytes; ++i)
        torn[offset + i] = (words >> (i / 8) & 1 ? after : before)[offset + i];
      read(torn);
    }
  }

  const JournalPlaces places_ =
      JournalPlaces::Create({.chunk_bytes = {100, 36}, .slots = 70, .kept_rounds = 2}).value();
  std::vector<std::byte> file_ = std::vector<std::byte>(places_.data_offset());
};

TEST_F(JournalRecords, ABlankFileHasNone) {
  const JournalRound round = ReadJournalRound(file(), places_, 0);
  EXPECT_EQ(round.members, std::vector<std::optional<JournalMember>>(70));
  EXPECT_EQ(round.chunks, std::vector<JournalChunk>(2));
  EXPECT_EQ(round.commit, std::nullopt);
  EXPECT_EQ(ReadJournalSeal(file(), places_, 0, 0, 0), std::nullopt);
}

TEST_F(JournalRecords, WhatIsWrittenIsReadInItsRoundAndPlaceOnly) {
  const Hash128 payload{1, 2}, base{3, 4}, root{5, 6};
  const JournalMember member{.samples = 640, .session = 0xfeedfacecafebeef, .flags = 3};
  WriteJournalSeal(file(), places_, kRound, 69, 1, payload);
  WriteJournalMember(file(), places_, kRound, 69, member);
  WriteJournalMerge(file(), places_, kRound, 1, std::vector<uint32_t>{69, 0, 63, 64});
  WriteJournalMerged(file(), places_, kRound, 1, base);
  WriteJournalCommit(file(), places_, kRound, {.root = root, .members = 1});

  JournalRound expected{.round = kRound};
  expected.members.resize(70);
  expected.members[69] = member;
  expected.chunks.resize(2);
  expected.chunks[1] = {.merge = std::vector<uint32_t>{0, 63, 64, 69}, .base_hash = base};
  expected.commit = JournalCommit{.root = root, .members = 1};
  EXPECT_EQ(ReadJournalRound(file(), places_, kRound), expected);
  EXPECT_EQ(ReadJournalSeal(file(), places_, kRound, 69, 1), payload);
  EXPECT_EQ(ReadJournalSeal(file(), places_, kRound, 69, 0), std::nullopt);

  const JournalRound other = ReadJournalRound(file(), places_, kRound + 2);
  EXPECT_EQ(other.members, std::vector<std::optional<JournalMember>>(70));
  EXPECT_EQ(other.chunks, std::vector<JournalChunk>(2));
  EXPECT_EQ(other.commit, std::nullopt);
}

TEST_F(JournalRecords, ARecordInAnotherPlaceDoesNotCount) {
  WriteJournalSeal(file(), places_, kRound, 2, 1, {1, 2});
  WriteJournalMember(file(), places_, kRound, 2, {.samples = 1});
  WriteJournalMerged(file(), places_, kRound, 0, {1, 2});
  const auto move = [&](uint64_t from, uint64_t to, size_t bytes) {
    std::copy_n(file_.begin() + static_cast<ptrdiff_t>(from), bytes,
                file_.begin() + static_cast<ptrdiff_t>(to));
  };
  move(places_.SealOffset(2, 1), places_.SealOffset(1, 1), kJournalSealBytes);
  move(places_.SealOffset(2, 1), places_.SealOffset(2, 0), kJournalSealBytes);
  // Hashes of payloads and of bases look alike but for the mark.
  move(places_.SealOffset(2, 1), places_.MergedOffset(1), kJournalMergedBytes);
  move(places_.MemberOffset(2, 0), places_.MemberOffset(3, 0), kJournalMemberBytes);
  move(places_.MemberOffset(2, 0), places_.MemberOffset(4, 1), kJournalMemberBytes);
  EXPECT_EQ(ReadJournalSeal(file(), places_, kRound, 1, 1), std::nullopt);
  EXPECT_EQ(ReadJournalSeal(file(), places_, kRound, 2, 0), std::nullopt);
  EXPECT_EQ(ReadJournalChunk(file(), places_, kRound, 1).base_hash, std::nullopt);
  EXPECT_EQ(ReadJournalMember(file(), places_, kRound, 3), std::nullopt);
  EXPECT_EQ(ReadJournalMember(file(), places_, kRound, 4), std::nullopt);
}

TEST_F(JournalRecords, TheLastOfManyChangesToAMemberHolds) {
  for (uint64_t samples = 0; samples < 9; ++samples) {
    const JournalMember member{.samples = samples, .session = samples * 3};
    WriteJournalMember(file(), places_, kRound, 5, member);
    EXPECT_EQ(ReadJournalMember(file(), places_, kRound, 5), member);
  }
  WriteJournalMember(file(), places_, kRound + 2, 5, {.samples = 99});
  EXPECT_EQ(ReadJournalMember(file(), places_, kRound + 2, 5), (JournalMember{.samples = 99}));
}

TEST_F(JournalRecords, AWriteThatIsCutShortLeavesTheRecordAbsentOrWhole) {
  // Over records of the round that had the file before.
  WriteJournalSeal(file(), places_, kRound - 2, 3, 1, {11, 12});
  WriteJournalMerge(file(), places_, kRound - 2, 1, std::vector<uint32_t>{1, 2, 69});
  WriteJournalMerged(file(), places_, kRound - 2, 1, {13, 14});
  WriteJournalCommit(file(), places_, kRound - 2, {.root = {15, 16}, .members = 3});

  ForEachTornWrite(
      [&] {
        WriteJournalSeal(file(), places_, kRound, 3, 1, {21, 22});
      },
      places_.SealOffset(3, 1), kJournalSealBytes,
      [&](auto torn) {
        const auto seal = ReadJournalSeal(torn, places_, kRound, 3, 1);
        EXPECT_EQ(seal.value_or(Hash128{21, 22}), (Hash128{21, 22}));
      });
  const std::vector<uint32_t> slots = {2, 68};
  ForEachTornWrite([&] { WriteJournalMerge(file(), places_, kRound, 1, slots); },
                   places_.MergeOffset(1), places_.merge_bytes(),
                   [&](auto torn) {
                     const auto merge = ReadJournalChunk(torn, places_, kRound, 1).merge;
                     EXPECT_EQ(merge.value_or(slots), slots);
                   });
  ForEachTornWrite(
      [&] {
        WriteJournalMerged(file(), places_, kRound, 1, {23, 24});
      },
      places_.MergedOffset(1), kJournalMergedBytes,
      [&](auto torn) {
        const auto hash = ReadJournalChunk(torn, places_, kRound, 1).base_hash;
        EXPECT_EQ(hash.value_or(Hash128{23, 24}), (Hash128{23, 24}));
      });
  const JournalCommit commit{.root = {25, 26}, .members = 2};
  ForEachTornWrite([&] { WriteJournalCommit(file(), places_, kRound, commit); },
                   places_.commit_offset(), kJournalCommitBytes,
                   [&](auto torn) {
                     const auto read = ReadJournalCommit(torn, places_, kRound);
                     EXPECT_EQ(read.value_or(commit), commit);
                   });
}

TEST_F(JournalRecords, AChangeToAMemberThatIsCutShortLeavesTheOldOrTheNew) {
  WriteJournalMember(file(), places_, kRound - 2, 9, {.samples = 1, .session = 2});
  std::optional<JournalMember> old;
  for (uint32_t change = 0; change < 4; ++change) {
    const JournalMember next{.samples = 100 + change, .session = 200 + change, .flags = change};
    const uint64_t offset = places_.MemberOffset(9, change % 2);
    ForEachTornWrite([&] { WriteJournalMember(file(), places_, kRound, 9, next); }, offset,
                     kJournalMemberBytes,
                     [&](auto torn) {
                       const auto read = ReadJournalMember(torn, places_, kRound, 9);
                       EXPECT_TRUE(read == old || read == next);
                     });
    old = next;
  }
}

TEST_F(JournalRecords, AFlippedBitMakesARecordAbsent) {
  WriteJournalSeal(file(), places_, kRound, 3, 1, {21, 22});
  WriteJournalMember(file(), places_, kRound, 3, {.samples = 5, .session = 6});
  WriteJournalMerge(file(), places_, kRound, 1, std::vector<uint32_t>{3});
  WriteJournalMerged(file(), places_, kRound, 1, {23, 24});
  WriteJournalCommit(file(), places_, kRound, {.root = {25, 26}, .members = 1});
  const auto flip_each = [&](uint64_t offset, size_t bytes, const auto& present) {
    ASSERT_TRUE(present());
    for (size_t bit = 0; bit < bytes * 8; ++bit) {
      file_[offset + bit / 8] ^= std::byte{1} << (bit % 8);
      EXPECT_FALSE(present()) << "bit " << bit << " of the record at " << offset;
      file_[offset + bit / 8] ^= std::byte{1} << (bit % 8);
    }
  };
  flip_each(places_.SealOffset(3, 1), kJournalSealBytes,
            [&] { return ReadJournalSeal(file(), places_, kRound, 3, 1).has_value(); });
  flip_each(places_.MemberOffset(3, 0), kJournalMemberBytes,
            [&] { return ReadJournalMember(file(), places_, kRound, 3).has_value(); });
  flip_each(places_.MergeOffset(1), places_.merge_bytes(),
            [&] { return ReadJournalChunk(file(), places_, kRound, 1).merge.has_value(); });
  flip_each(places_.MergedOffset(1), kJournalMergedBytes,
            [&] { return ReadJournalChunk(file(), places_, kRound, 1).base_hash.has_value(); });
  flip_each(places_.commit_offset(), kJournalCommitBytes,
            [&] { return ReadJournalCommit(file(), places_, kRound).has_value(); });
}

}  // namespace
}  // namespace interlude
