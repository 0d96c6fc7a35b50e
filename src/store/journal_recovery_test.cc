// What a journal says after the process that wrote it is gone: taken up, looked at, damaged.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <map>
#include <tuple>

#include "base/log.h"
#include "base/rng.h"
#include "store/journal.h"
#include "store/journal_format.h"
#include "store/temporary_directory.h"

namespace interlude {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const JournalGeometry kGeometry = {.chunk_bytes = {100, 36}, .slots = 2, .kept_rounds = 2};
const JournalMember kFirstMember{.samples = 640, .session = 0x1122334455667788, .flags = 1};
const JournalMember kSecondMember{.samples = 0, .session = 0x99};
const std::vector<std::byte> kFirstPayload(100, std::byte{0xa1});
const std::vector<std::byte> kLastPayload(36, std::byte{0xb2});
const Hash128 kBaseHash{0x0123456789abcdef, 0xfedcba9876543210};
const Hash128 kRoot{0x1111111111111111, 0x2222222222222222};

/// A round with one record of every kind and more; as in the sample file.
void WriteSampleRound(Journal& journal, uint32_t round) {
  ASSERT_TRUE(journal.BeginRound(round).ok());
  ASSERT_TRUE(journal.SetMember(round, 0, {.session = kFirstMember.session}).ok());
  ASSERT_TRUE(journal.SetMember(round, 0, kFirstMember).ok());
  ASSERT_TRUE(journal.SetMember(round, 1, kSecondMember).ok());
  ASSERT_TRUE(journal.Write(round, 0, 0, 0, kFirstPayload).ok());
  ASSERT_TRUE(journal.Seal(round, 0, 0, HashBytes(kFirstPayload)).ok());
  ASSERT_TRUE(journal.Write(round, 1, 1, 0, kLastPayload).ok());
  ASSERT_TRUE(journal.Seal(round, 1, 1, HashBytes(kLastPayload)).ok());
  ASSERT_TRUE(journal.RecordMerge(round, 0, std::vector<uint32_t>{0}).ok());
  ASSERT_TRUE(journal.RecordMerged(round, 0, kBaseHash).ok());
  ASSERT_TRUE(journal.RecordMerge(round, 1, {}).ok());
  ASSERT_TRUE(journal.RecordCommit(round, kRoot).ok());
}

JournalRound SampleRound(uint32_t round) {
  return {.round = round,
          .members = {kFirstMember, kSecondMember},
          .chunks = {{.merge = std::vector<uint32_t>{0}, .base_hash = kBaseHash},
                     {.merge = std::vector<uint32_t>{}, .base_hash = std::nullopt}},
          .commit = JournalCommit{.root = kRoot, .members = 2}};
}

class JournalRecovery : public testing::Test {
 protected:
  JournalRecovery() { InitLog("store_test", LogLevel::kError); }
  ~JournalRecovery() override { InitLog("store_test"); }

  std::string RingPath(uint32_t index) const {
    return fmt::format("{}/ring-{}.journal", path_, index);
  }
  std::unique_ptr<Journal> Create(const JournalGeometry& geometry = kGeometry) {
    return Journal::Create(path_, geometry).value();
  }
  std::unique_ptr<Journal> Open(const JournalGeometry& geometry = kGeometry) {
    return Journal::Open(path_, geometry).value();
  }
  std::unique_ptr<const Journal> Look() { return Journal::OpenReadOnly(path_).value(); }

  TemporaryDirectory directory_;
  std::string path_ = directory_.File("journal");
};

TEST_F(JournalRecovery, AJournalIsTakenUpWithItsRounds) {
  {
    const auto journal = Create();
    WriteSampleRound(*journal, 6);
    WriteSampleRound(*journal, 7);
    EXPECT_EQ(journal->Inspect(7), SampleRound(7));
  }
  const auto journal = Open();
  EXPECT_THAT(journal->rounds(), ElementsAre(6, 7));
  EXPECT_EQ(journal->Inspect(6), SampleRound(6));
  EXPECT_EQ(journal->Inspect(7), SampleRound(7));
  EXPECT_TRUE(journal->SealedWhole(7, 0, 0));
  EXPECT_TRUE(journal->SealedWhole(7, 1, 1));
  EXPECT_FALSE(journal->SealedWhole(7, 0, 1));
  EXPECT_FALSE(journal->SealedWhole(8, 0, 0));
  EXPECT_FALSE(journal->SealedWhole(7, 2, 0));
  EXPECT_TRUE(std::ranges::equal(journal->Read(7, 1, 1), kLastPayload));
  EXPECT_EQ(journal->BeginRound(7).code(), StatusCode::kFailedPrecondition);

  WriteSampleRound(*journal, 8);
  EXPECT_THAT(journal->rounds(), ElementsAre(7, 8));
  EXPECT_EQ(journal->Inspect(8), SampleRound(8));
}

TEST_F(JournalRecovery, ARoundGoesOnWhereItsProcessWasKilled) {
  EXPECT_EXIT(
      {
        const auto journal = Create();
        WriteSampleRound(*journal, 6);
        INTERLUDE_CHECK(journal->BeginRound(7).ok(), "begin");
        INTERLUDE_CHECK(journal->SetMember(7, 1, kFirstMember).ok(), "member");
        INTERLUDE_CHECK(journal->Write(7, 1, 1, 0, kLastPayload).ok(), "write");
        INTERLUDE_CHECK(journal->Seal(7, 1, 1, HashBytes(kLastPayload)).ok(), "seal");
        std::ranges::copy(kFirstPayload, journal->Mutable(7, 1, 0).begin());
        INTERLUDE_CHECK(journal->RecordMerge(7, 1, std::vector<uint32_t>{1}).ok(), "merge");
        ::raise(SIGKILL);
      },
      testing::KilledBySignal(SIGKILL), "");
  const auto journal = Open();
  EXPECT_THAT(journal->rounds(), ElementsAre(6, 7));
  EXPECT_EQ(journal->Inspect(6), SampleRound(6));
  const JournalRound found = journal->Inspect(7);
  EXPECT_EQ(found.members[0], std::nullopt);
  EXPECT_EQ(found.members[1], kFirstMember);
  EXPECT_EQ(found.chunks[0], JournalChunk{});
  EXPECT_EQ(found.chunks[1], (JournalChunk{.merge = std::vector<uint32_t>{1}, .base_hash = {}}));
  EXPECT_EQ(found.commit, std::nullopt);
  EXPECT_TRUE(journal->SealedWhole(7, 1, 1));
  EXPECT_FALSE(journal->SealedWhole(7, 1, 0)) << "written, but not sealed";
  ASSERT_TRUE(journal->Seal(7, 1, 0, HashBytes(kFirstPayload)).ok());
  EXPECT_TRUE(journal->SealedWhole(7, 1, 0));
  EXPECT_TRUE(journal->RecordMerged(7, 1, kBaseHash).ok());
}

TEST_F(JournalRecovery, AMergeACommitAndTheirHashesStandOnceRecorded) {
  const auto journal = Create();
  WriteSampleRound(*journal, 7);
  EXPECT_TRUE(journal->RecordMerge(7, 0, std::vector<uint32_t>{0, 0}).ok());
  EXPECT_TRUE(journal->RecordMerged(7, 0, kBaseHash).ok());
  EXPECT_TRUE(journal->RecordCommit(7, kRoot).ok());
  const auto refused = [](const Status& status, const std::string& text) {
    EXPECT_EQ(status.code(), StatusCode::kFailedPrecondition);
    EXPECT_THAT(status.message(), HasSubstr(text));
  };
  refused(journal->RecordMerge(7, 0, std::vector<uint32_t>{0, 1}),
          "the journal has its merge of slots 0, it cannot become one of 0, 1");
  refused(journal->RecordMerge(7, 1, std::vector<uint32_t>{1}), "of slots , it cannot");
  refused(journal->RecordMerged(7, 0, kRoot), "by the journal its merge gave base hash 0123456789");
  refused(journal->RecordCommit(7, kBaseHash), "by the journal its root is 1111111111111111");
  EXPECT_EQ(journal->Inspect(7), SampleRound(7));
  ASSERT_TRUE(journal->BeginRound(8).ok());
  refused(journal->RecordMerged(8, 0, kBaseHash), "its merge is not in the journal");
}

TEST_F(JournalRecovery, RecordsOutsideOfTheJournalAreRefused) {
  const auto journal = Create();
  ASSERT_TRUE(journal->BeginRound(7).ok());
  EXPECT_EQ(journal->SetMember(7, 2, {}).code(), StatusCode::kOutOfRange);
  EXPECT_EQ(journal->RecordMerge(7, 2, {}).code(), StatusCode::kOutOfRange);
  EXPECT_EQ(journal->RecordMerge(7, 0, std::vector<uint32_t>{2}).code(), StatusCode::kOutOfRange);
  EXPECT_EQ(journal->RecordMerged(7, 2, {}).code(), StatusCode::kOutOfRange);
  EXPECT_EQ(journal->SetMember(5, 0, {}).code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(journal->RecordMerge(5, 0, {}).code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(journal->RecordMerged(5, 0, {}).code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(journal->RecordCommit(5, {}).code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(journal->SealOf(5, 0, 0), std::nullopt);
}

TEST_F(JournalRecovery, WithoutAJournalThereIsNothingToTakeUpAndNothingIsMade) {
  EXPECT_EQ(Journal::Open(path_, kGeometry).status().code(), StatusCode::kNotFound);
  EXPECT_EQ(Journal::OpenReadOnly(path_).status().code(), StatusCode::kNotFound);
  EXPECT_FALSE(std::filesystem::exists(path_));
}

TEST_F(JournalRecovery, AJournalOfAnotherGeometryIsNotTakenUpAndStaysAsItIs) {
  WriteSampleRound(*Create(), 7);
  const std::string before = ReadWholeFile(RingPath(1));
  JournalGeometry other = kGeometry;
  other.slots = 3;
  const auto journal = Journal::Open(path_, other);
  EXPECT_EQ(journal.status().code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(journal.status().message(), HasSubstr("it has 2 slots, this one 3"));
  EXPECT_THAT(journal.status().message(), HasSubstr(RingPath(0)));
  EXPECT_TRUE(ReadWholeFile(RingPath(1)) == before);
  EXPECT_EQ(Open()->Inspect(7), SampleRound(7));
}

TEST_F(JournalRecovery, AJournalInUseIsNeitherTakenUpNorLookedAt) {
  const auto journal = Create();
  EXPECT_EQ(Journal::Open(path_, kGeometry).status().code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(Journal::OpenReadOnly(path_).status().code(), StatusCode::kFailedPrecondition);
}

TEST_F(JournalRecovery, LookersShareAJournalAndChangeNothing) {
  WriteSampleRound(*Create(), 7);
  const std::string before = ReadWholeFile(RingPath(1));
  const auto first = Look();
  const auto second = Look();
  EXPECT_THAT(first->rounds(), ElementsAre(7));
  EXPECT_EQ(first->Inspect(7), SampleRound(7));
  EXPECT_TRUE(second->SealedWhole(7, 0, 0));
  EXPECT_EQ(first->geometry().chunk_bytes, kGeometry.chunk_bytes);
  EXPECT_EQ(first->geometry().slots, 2u);
  EXPECT_EQ(first->geometry().kept_rounds, 2u);
  EXPECT_EQ(Journal::Open(path_, kGeometry).status().code(), StatusCode::kFailedPrecondition);
  EXPECT_TRUE(ReadWholeFile(RingPath(1)) == before);
}

TEST_F(JournalRecovery, ALostOrDamagedFileCostsItsOwnRoundOnly) {
  const auto damage = [&](const std::function<void()>& harm) {
    {
      const auto journal = Create();
      WriteSampleRound(*journal, 6);
      WriteSampleRound(*journal, 7);
    }
    harm();
    EXPECT_THAT(Look()->rounds(), ElementsAre(7));
    const auto journal = Open();
    EXPECT_THAT(journal->rounds(), ElementsAre(7));
    EXPECT_EQ(journal->Inspect(7), SampleRound(7));
    WriteSampleRound(*journal, 8);
    EXPECT_EQ(journal->Inspect(8), SampleRound(8));
    EXPECT_EQ(std::filesystem::file_size(RingPath(0)), std::filesystem::file_size(RingPath(1)));
  };
  damage([&] { std::filesystem::remove(RingPath(0)); });
  damage([&] { std::filesystem::resize_file(RingPath(0), 4100); });
  damage([&] { std::filesystem::resize_file(RingPath(0), 0); });
  damage([&] { WriteWholeFile(RingPath(0), ReadWholeFile(RingPath(1))); });
  damage([&] {
    std::string bytes = ReadWholeFile(RingPath(0));
    bytes[30] ^= 1;
    WriteWholeFile(RingPath(0), bytes);
  });
}

TEST_F(JournalRecovery, WithEveryHeaderDamagedTheJournalHoldsNothing) {
  WriteSampleRound(*Create(), 7);
  for (const uint32_t i : {0u, 1u}) WriteWholeFile(RingPath(i), std::string(5000, 'x'));
  EXPECT_EQ(Journal::OpenReadOnly(path_).status().code(), StatusCode::kDataLoss);
  EXPECT_THAT(Open()->rounds(), IsEmpty());
}

const JournalGeometry kOneFile = {.chunk_bytes = {100, 36}, .slots = 2, .kept_rounds = 1};

/// What may be read from a damaged file: what is true, or nothing.
void ExpectTrueOrAbsent(const Journal& journal, size_t at) {
  if (journal.rounds().empty()) return;
  ASSERT_THAT(journal.rounds(), ElementsAre(7)) << at;
  const JournalRound found = journal.Inspect(7);
  const JournalRound sample = SampleRound(7);
  // The older copy of the first member is true too: as when its last change never came.
  const JournalMember older{.session = kFirstMember.session};
  EXPECT_TRUE(!found.members[0] || found.members[0] == sample.members[0] ||
              found.members[0] == older)
      << at;
  EXPECT_TRUE(!found.members[1] || found.members[1] == sample.members[1]) << at;
  for (uint32_t chunk = 0; chunk < 2; ++chunk) {
    const JournalChunk& mine = found.chunks[chunk];
    EXPECT_TRUE(!mine.merge || mine.merge == sample.chunks[chunk].merge) << at;
    EXPECT_TRUE(!mine.base_hash || mine.base_hash == sample.chunks[chunk].base_hash) << at;
  }
  EXPECT_TRUE(!found.commit || found.commit == sample.commit) << at;
  if (journal.SealedWhole(7, 0, 0)) {
    EXPECT_TRUE(std::ranges::equal(journal.Read(7, 0, 0), kFirstPayload)) << at;
  }
  if (journal.SealedWhole(7, 1, 1)) {
    EXPECT_TRUE(std::ranges::equal(journal.Read(7, 1, 1), kLastPayload)) << at;
  }
  EXPECT_FALSE(journal.SealedWhole(7, 0, 1) || journal.SealedWhole(7, 1, 0)) << at;
}

TEST_F(JournalRecovery, AfterAFlippedByteWhatIsReadIsTrueOrAbsent) {
  WriteSampleRound(*Create(kOneFile), 7);
  const std::string whole = ReadWholeFile(RingPath(0));
  size_t refused = 0;
  for (size_t i = 0; i < whole.size(); ++i) {
    std::string damaged = whole;
    damaged[i] = static_cast<char>(damaged[i] ^ (i % 2 == 0 ? 0x01 : 0xff));
    WriteWholeFile(RingPath(0), damaged);
    const auto journal = Journal::OpenReadOnly(path_);
    if (journal.ok()) {
      ExpectTrueOrAbsent(**journal, i);
    } else {
      EXPECT_EQ(journal.status().code(), StatusCode::kDataLoss);
      ++refused;
    }
  }
  EXPECT_EQ(refused, kJournalHeaderBytes + 2 * sizeof(uint64_t))
      << "the header and the chunk table";
}

TEST_F(JournalRecovery, AFileThatIsCutShortHoldsNoRound) {
  WriteSampleRound(*Create(kOneFile), 7);
  const size_t whole = ReadWholeFile(RingPath(0)).size();
  for (size_t size = whole; size-- > 0;) {
    std::filesystem::resize_file(RingPath(0), size);
    const auto journal = Journal::OpenReadOnly(path_);
    if (journal.ok()) {
      EXPECT_THAT((*journal)->rounds(), IsEmpty()) << size;
    } else {
      EXPECT_EQ(journal.status().code(), StatusCode::kDataLoss) << size;
    }
  }
}

/// A journal's life with random records, closed and opened in between, against plain containers.
TEST_F(JournalRecovery, WhatRandomUseRecordedIsFoundAgain) {
  const JournalGeometry geometry = {
      .chunk_bytes = {70, 64, 1, 129, 8}, .slots = 70, .kept_rounds = 3};
  Rng rng(20260);
  std::map<uint32_t, JournalRound> model;
  std::map<std::tuple<uint32_t, uint32_t, uint32_t>, Hash128> seals;
  auto journal = Create(geometry);
  uint32_t round = 0;
  for (int step = 0; step < 4000; ++step) {
    const auto slot = static_cast<uint32_t>(rng.Below(70));
    const auto chunk = static_cast<uint32_t>(rng.Below(5));
    const Hash128 hash{rng(), rng()};
    const uint64_t action = round == 0 ? 0 : rng.Below(200);
    if (action < 3) {
      ++round;
      ASSERT_TRUE(journal->BeginRound(round).ok());
      model[round] = {.round = round,
                      .members = std::vector<std::optional<JournalMember>>(70),
                      .chunks = std::vector<JournalChunk>(5),
                      .commit = std::nullopt};
      if (round > 3) model.erase(round - 3);
    } else if (action < 6) {
      journal.reset();
      journal = Open(geometry);
    } else if (action < 100) {
      const JournalMember member{.samples = rng.Below(9), .session = rng()};
      ASSERT_TRUE(journal->SetMember(round, slot, member).ok());
      model[round].members[slot] = member;
    } else if (action < 150) {
      ASSERT_TRUE(journal->Seal(round, slot, chunk, hash).ok());
      seals[{round, slot, chunk}] = hash;
    } else if (action < 170) {
      std::vector<uint32_t> slots;
      for (uint32_t i = 0; i < 70; ++i) {
        if (rng.Below(3) == 0) slots.push_back(i);
      }
      auto& merge = model[round].chunks[chunk].merge;
      EXPECT_EQ(journal->RecordMerge(round, chunk, slots).ok(), !merge);
      if (!merge) merge = slots;
    } else if (action < 190) {
      JournalChunk& mine = model[round].chunks[chunk];
      EXPECT_EQ(journal->RecordMerged(round, chunk, hash).ok(), mine.merge && !mine.base_hash);
      if (mine.merge && !mine.base_hash) mine.base_hash = hash;
    } else if (!model[round].commit) {
      ASSERT_TRUE(journal->RecordCommit(round, hash).ok());
      const auto members =
          std::ranges::count_if(model[round].members, [](const auto& m) { return m.has_value(); });
      model[round].commit = {.root = hash, .members = static_cast<uint32_t>(members)};
    }
    if (step % 40 != 0) continue;
    std::vector<uint32_t> held;
    for (const auto& [r, expected] : model) {
      held.push_back(r);
      EXPECT_EQ(journal->Inspect(r), expected) << "round " << r << ", step " << step;
      for (uint32_t s = 0; s < 70; ++s) {
        for (uint32_t c = 0; c < 5; ++c) {
          const auto sealed = seals.find({r, s, c});
          EXPECT_EQ(journal->SealOf(r, s, c),
                    sealed == seals.end() ? std::nullopt : std::optional(sealed->second));
        }
      }
    }
    EXPECT_EQ(journal->rounds(), held);
  }
  EXPECT_GT(round, 10u);
}

TEST_F(JournalRecovery, TheJournalStillWritesTheSampleFileOfVersion2) {
  WriteSampleRound(*Create(kOneFile), 7);
  EXPECT_TRUE(ReadWholeFile(RingPath(0)) ==
              ReadWholeFile(INTERLUDE_TESTDATA "/journal/v2.journal"));
}

TEST_F(JournalRecovery, TheSampleOfVersion2IsRead) {
  std::filesystem::create_directories(path_);
  std::filesystem::copy_file(INTERLUDE_TESTDATA "/journal/v2.journal", RingPath(0));
  EXPECT_EQ(Look()->Inspect(7), SampleRound(7));
  EXPECT_TRUE(Look()->SealedWhole(7, 1, 1));
  EXPECT_EQ(Open(kOneFile)->Inspect(7), SampleRound(7));
}

TEST_F(JournalRecovery, Version1IsRefusedByName) {
  std::filesystem::create_directories(path_);
  std::filesystem::copy_file(INTERLUDE_TESTDATA "/journal/v1.journal", RingPath(0));
  for (const Status& status :
       {Journal::OpenReadOnly(path_).status(), Journal::Open(path_, kOneFile).status()}) {
    EXPECT_EQ(status.code(), StatusCode::kFailedPrecondition);
    EXPECT_THAT(status.message(), HasSubstr(RingPath(0) + ": the journal has version 1, this "
                                                          "program reads version 2"));
  }
}

}  // namespace
}  // namespace interlude
