#include "store/journal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <thread>

#include "store/journal_format.h"
#include "store/journal_records.h"
#include "store/temporary_directory.h"

namespace interlude {
namespace {

using ::testing::HasSubstr;

const JournalGeometry kGeometry = {.chunk_bytes = {100, 100, 36}, .slots = 3, .kept_rounds = 2};

std::vector<std::byte> Payload(uint32_t round, uint32_t slot, uint32_t chunk) {
  std::vector<std::byte> bytes(kGeometry.chunk_bytes[chunk]);
  for (size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] = static_cast<std::byte>(round * 31 + slot * 7 + chunk * 3 + i);
  }
  return bytes;
}

std::vector<std::byte> Copy(std::span<const std::byte> bytes) {
  return {bytes.begin(), bytes.end()};
}

class JournalTest : public testing::Test {
 protected:
  std::unique_ptr<Journal> Create(const JournalGeometry& geometry = kGeometry) {
    auto journal = Journal::Create(directory_.File("journal"), geometry);
    INTERLUDE_CHECK(journal.ok(), "{}", journal.status().ToString());
    return *std::move(journal);
  }
  std::string RingBytes(uint32_t index) {
    return ReadWholeFile(directory_.File("journal/ring-" + std::to_string(index) + ".journal"));
  }
  bool Sealed(uint32_t round, uint32_t slot, uint32_t chunk) {
    const std::string file = RingBytes(round % kGeometry.kept_rounds);
    const auto hash = ReadJournalSeal(std::as_bytes(std::span(file)),
                                      JournalPlaces::Create(kGeometry).value(), round, slot, chunk);
    return hash && *hash == HashBytes(Payload(round, slot, chunk));
  }

  TemporaryDirectory directory_;
};

TEST_F(JournalTest, ChunksWrittenInPiecesAreReadBackFromTheirPlaces) {
  const auto journal = Create();
  ASSERT_TRUE(journal->BeginRound(1).ok());
  for (uint32_t slot = 0; slot < 3; ++slot) {
    for (uint32_t chunk = 0; chunk < 3; ++chunk) {
      const auto payload = Payload(1, slot, chunk);
      // The end first: pieces may arrive in any order.
      ASSERT_TRUE(journal->Write(1, slot, chunk, 20, std::span(payload).subspan(20)).ok());
      ASSERT_TRUE(journal->Write(1, slot, chunk, 0, std::span(payload).first(20)).ok());
    }
  }
  for (uint32_t slot = 0; slot < 3; ++slot) {
    for (uint32_t chunk = 0; chunk < 3; ++chunk) {
      const auto place = journal->Read(1, slot, chunk);
      EXPECT_EQ(Copy(place), Payload(1, slot, chunk));
      EXPECT_EQ(reinterpret_cast<uintptr_t>(place.data()) % 64, 0u);
    }
  }
}

TEST_F(JournalTest, WhatIsEncodedInPlaceIsInTheFile) {
  const auto journal = Create();
  ASSERT_TRUE(journal->BeginRound(4).ok());
  std::ranges::copy(Payload(4, 2, 2), journal->Mutable(4, 2, 2).begin());
  EXPECT_EQ(Copy(journal->Read(4, 2, 2)), Payload(4, 2, 2));
  const std::string file = RingBytes(0);
  const auto offset = JournalPlaces::Create(kGeometry).value().ChunkOffset(2, 2);
  EXPECT_EQ(Copy(std::as_bytes(std::span(file)).subspan(offset, 36)), Payload(4, 2, 2));
}

TEST_F(JournalTest, ARoundStaysUntilItsFileIsReused) {
  const auto journal = Create();
  for (uint32_t round = 1; round <= 5; ++round) {
    ASSERT_TRUE(journal->BeginRound(round).ok());
    ASSERT_TRUE(journal->Write(round, 0, 1, 0, Payload(round, 0, 1)).ok());
    if (round > 1) {
      EXPECT_EQ(Copy(journal->Read(round - 1, 0, 1)), Payload(round - 1, 0, 1));
    }
    if (round > 2) {
      const Status status = journal->Write(round - 2, 0, 1, 0, Payload(round, 0, 1));
      EXPECT_EQ(status.code(), StatusCode::kFailedPrecondition);
      EXPECT_THAT(status.message(), HasSubstr("is not in the journal: its file holds round " +
                                              std::to_string(round)));
    }
  }
  EXPECT_EQ(journal->BeginRound(5).code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(journal->BeginRound(3).code(), StatusCode::kFailedPrecondition);
  EXPECT_TRUE(journal->BeginRound(9).ok()) << "rounds may be left out";
}

TEST_F(JournalTest, WritesOutsideTheirPlaceAreOutOfRange) {
  const auto journal = Create();
  ASSERT_TRUE(journal->BeginRound(1).ok());
  const std::vector<std::byte> bytes(100);
  const auto code = [&](uint32_t slot, uint32_t chunk, size_t offset, size_t size) {
    return journal->Write(1, slot, chunk, offset, std::span(bytes).first(size)).code();
  };
  EXPECT_EQ(code(0, 0, 0, 100), StatusCode::kOk);
  EXPECT_EQ(code(0, 0, 100, 0), StatusCode::kOk);
  EXPECT_EQ(code(0, 0, 1, 100), StatusCode::kOutOfRange);
  EXPECT_EQ(code(0, 0, 101, 0), StatusCode::kOutOfRange);
  EXPECT_EQ(code(0, 0, SIZE_MAX, 2), StatusCode::kOutOfRange);
  EXPECT_EQ(code(0, 2, 0, 36), StatusCode::kOk);
  EXPECT_EQ(code(0, 2, 0, 37), StatusCode::kOutOfRange);
  EXPECT_EQ(code(3, 0, 0, 1), StatusCode::kOutOfRange);
  EXPECT_EQ(code(0, 3, 0, 1), StatusCode::kOutOfRange);
  EXPECT_EQ(journal->Seal(1, 3, 0, {}).code(), StatusCode::kOutOfRange);
  EXPECT_EQ(journal->Seal(2, 0, 0, {}).code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(journal->Write(2, 0, 0, 0, bytes).code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(journal->BeginRound(UINT32_MAX).code(), StatusCode::kOutOfRange);
}

TEST_F(JournalTest, ARefusedWriteChangesNoNeighbour) {
  const auto journal = Create();
  ASSERT_TRUE(journal->BeginRound(1).ok());
  ASSERT_TRUE(journal->Write(1, 1, 0, 0, Payload(1, 1, 0)).ok());
  EXPECT_FALSE(journal->Write(1, 0, 2, 30, std::vector<std::byte>(100, std::byte{0xee})).ok());
  EXPECT_EQ(Copy(journal->Read(1, 1, 0)), Payload(1, 1, 0));
}

TEST_F(JournalTest, SealsAreInTheFileAndGoWithTheirRound) {
  const auto journal = Create();
  ASSERT_TRUE(journal->BeginRound(2).ok());
  EXPECT_FALSE(Sealed(2, 1, 1));
  ASSERT_TRUE(journal->Seal(2, 1, 1, HashBytes(Payload(2, 1, 1))).ok());
  EXPECT_TRUE(Sealed(2, 1, 1));
  EXPECT_FALSE(Sealed(2, 1, 0));
  ASSERT_TRUE(journal->BeginRound(4).ok());
  EXPECT_FALSE(Sealed(4, 1, 1));
  const std::string file = RingBytes(0);
  EXPECT_EQ(DecodeJournalHeader(std::as_bytes(std::span(file)))->round, 4u);
}

TEST_F(JournalTest, FilesHaveTheirFullSizeAndBlocksFromTheStart) {
  const auto journal = Create();
  for (uint32_t i = 0; i < 2; ++i) {
    const std::string file = RingBytes(i);
    EXPECT_EQ(file.size(), JournalPlaces::Create(kGeometry).value().file_bytes());
    const auto header = DecodeJournalHeader(std::as_bytes(std::span(file)));
    ASSERT_TRUE(header.ok());
    EXPECT_EQ(header->round, kNoJournalRound);
    EXPECT_EQ(header->ring_index, i);
  }
  EXPECT_FALSE(std::filesystem::exists(directory_.File("journal/ring-2.journal")));
}

TEST_F(JournalTest, FilesAreForTheirOwnerAlone) {
  // They hold session tokens. One that was readable before does not stay so.
  std::filesystem::create_directories(directory_.File("journal"));
  WriteWholeFile(directory_.File("journal/ring-0.journal"), "old");
  const auto journal = Create();
  for (const char* name : {"journal/ring-0.journal", "journal/ring-1.journal"}) {
    EXPECT_EQ(std::filesystem::status(directory_.File(name)).permissions(),
              std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
  }
}

TEST_F(JournalTest, ANewJournalReplacesTheOldOne) {
  const JournalGeometry wider = {.chunk_bytes = {100, 100, 36}, .slots = 3, .kept_rounds = 4};
  {
    const auto old = Create(wider);
    ASSERT_TRUE(old->BeginRound(8).ok());
    ASSERT_TRUE(old->Seal(8, 0, 0, HashBytes(Payload(8, 0, 0))).ok());
    EXPECT_TRUE(Sealed(8, 0, 0));
  }
  const auto journal = Create();
  ASSERT_TRUE(journal->BeginRound(8).ok());
  EXPECT_FALSE(Sealed(8, 0, 0));
  EXPECT_FALSE(std::filesystem::exists(directory_.File("journal/ring-2.journal")));
}

TEST_F(JournalTest, TwoJournalsInOneDirectoryAreRefused) {
  auto journal = Create();
  ASSERT_TRUE(journal->BeginRound(1).ok());
  const auto second = Journal::Create(directory_.File("journal"), kGeometry);
  EXPECT_EQ(second.status().code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(second.status().message(), HasSubstr("in use by another process"));
  EXPECT_TRUE(journal->Write(1, 0, 0, 0, Payload(1, 0, 0)).ok());
  journal.reset();
  EXPECT_TRUE(Journal::Create(directory_.File("journal"), kGeometry).ok());
}

TEST_F(JournalTest, ADiskTooSmallIsSaidAtOnceWithWantedAndFreeBytes) {
  const JournalGeometry huge = {.chunk_bytes = {size_t{1} << 60}, .slots = 2, .kept_rounds = 3};
  const auto journal = Journal::Create(directory_.File("journal"), huge);
  EXPECT_EQ(journal.status().code(), StatusCode::kResourceExhausted);
  EXPECT_THAT(journal.status().message(),
              HasSubstr("wants 6917529027641094144 bytes (3 rounds of 2305843009213698048)"));
  EXPECT_THAT(journal.status().message(), HasSubstr("are free"));
  EXPECT_FALSE(std::filesystem::exists(directory_.File("journal/ring-0.journal")));
}

TEST_F(JournalTest, ADirectoryThatCannotBeMadeIsNamed) {
  WriteWholeFile(directory_.File("journal"), "in the way");
  const auto journal = Journal::Create(directory_.File("journal"), kGeometry);
  ASSERT_FALSE(journal.ok());
  EXPECT_THAT(journal.status().message(), HasSubstr(directory_.File("journal")));
}

TEST_F(JournalTest, ThreadsWriteAndReadDifferentChunksAtOnce) {
  const auto journal = Create();
  ASSERT_TRUE(journal->BeginRound(1).ok());
  std::vector<std::thread> threads;
  std::vector<int> failures(3);
  for (uint32_t slot = 0; slot < 3; ++slot) {
    threads.emplace_back([&, slot] {
      for (int repeat = 0; repeat < 200; ++repeat) {
        for (uint32_t chunk = 0; chunk < 3; ++chunk) {
          const auto payload = Payload(static_cast<uint32_t>(repeat), slot, chunk);
          if (repeat % 2 == 0) {
            failures[slot] += !journal->Write(1, slot, chunk, 0, payload).ok();
          } else {
            std::ranges::copy(payload, journal->Mutable(1, slot, chunk).begin());
          }
          failures[slot] += !journal->Seal(1, slot, chunk, HashBytes(payload)).ok();
          failures[slot] += Copy(journal->Read(1, slot, chunk)) != payload;
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(failures, std::vector<int>(3, 0));
}

TEST(JournalOnSharedMemory, AMemoryFileSystemServesToo) {
  if (::access("/dev/shm", W_OK) != 0) GTEST_SKIP() << "/dev/shm is not writable";
  const TemporaryDirectory directory("/dev/shm");
  auto journal = Journal::Create(directory.File("journal"), kGeometry);
  ASSERT_TRUE(journal.ok()) << journal.status().ToString();
  ASSERT_TRUE((*journal)->BeginRound(1).ok());
  ASSERT_TRUE((*journal)->Write(1, 2, 0, 0, Payload(1, 2, 0)).ok());
  EXPECT_EQ(Copy((*journal)->Read(1, 2, 0)), Payload(1, 2, 0));
}

using JournalDeathTest = JournalTest;

TEST_F(JournalDeathTest, ReadingWhatIsNotThereAborts) {
  const auto journal = Create();
  ASSERT_TRUE(journal->BeginRound(1).ok());
  EXPECT_DEATH(journal->Read(2, 0, 0), "round 2 is not in the journal");
  EXPECT_DEATH(journal->Mutable(1, 3, 0), "slot 3, chunk 0");
}

}  // namespace
}  // namespace interlude
