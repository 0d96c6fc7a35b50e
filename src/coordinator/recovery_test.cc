// Taking up the run of a coordinator that was killed, and what is said where its directory is
// damaged.
#include "coordinator/recovery.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>

#include "coordinator/killed_run.h"
#include "coordinator/service_test_support.h"
#include "coordinator/verify_run.h"
#include "store/temporary_directory.h"

namespace interlude {
namespace {

using testing::AllOf;
using testing::HasSubstr;

StatusOr<std::optional<RecoveredRun>> RecoverFrom(KilledRun& run) {
  return RecoverRun(run.options(), SystemClock());
}

void ExpectSameBits(std::span<const float> left, std::span<const float> right) {
  ASSERT_EQ(left.size(), right.size());
  EXPECT_EQ(std::memcmp(left.data(), right.data(), left.size_bytes()), 0);
}

void ExpectSameState(Merger& left, Merger& right) {
  for (uint32_t chunk = 0; chunk < left.layout().num_chunks(); ++chunk) {
    ExpectSameBits(left.StateOf(chunk).base, right.StateOf(chunk).base);
    ExpectSameBits(left.StateOf(chunk).state, right.StateOf(chunk).state);
    ExpectSameBits(left.StateOf(chunk).residual, right.StateOf(chunk).residual);
    EXPECT_EQ(left.chunk_round(chunk), right.chunk_round(chunk)) << "chunk " << chunk;
  }
}

// It must be refused as lost, with what to do.
std::string LossOf(KilledRun& run) {
  const Status status = RecoverFrom(run).status();
  EXPECT_EQ(status.code(), StatusCode::kDataLoss) << status.ToString();
  EXPECT_THAT(status.message(), AllOf(HasSubstr(run.directory()), HasSubstr("back from a copy"),
                                      HasSubstr("another --dir")));
  return status.message();
}

TEST(Recovery, InADirectoryWithoutARunThereIsNothing) {
  RecoveryOptions options;
  options.directory = TestDirectory("recovery-none");
  const auto recovered = RecoverRun(options, SystemClock());
  ASSERT_TRUE(recovered.ok()) << recovered.status().ToString();
  EXPECT_FALSE(recovered->has_value());
}

TEST(Recovery, ARunThatWasKilledBeforeItsFirstSnapshotBeginsAnew) {
  KilledRun run("recovery-early");
  run.Begin(1);
  run.Deliver(1, 0, 0);
  run.Kill();
  WriteWholeFile(run.SnapshotFile(0) + ".partial", "a part");
  const auto recovered = RecoverFrom(run);
  ASSERT_TRUE(recovered.ok()) << recovered.status().ToString();
  EXPECT_FALSE(recovered->has_value());
}

TEST(Recovery, TheFirstSnapshotAloneIsTheFirstBase) {
  KilledRun run("recovery-first");
  run.Snapshot(0);
  run.Kill();
  const auto recovered = RecoverFrom(run).value();
  ASSERT_TRUE(recovered);
  EXPECT_EQ(recovered->committed_rounds, 0u);
  EXPECT_EQ(recovered->replayed_merges, 0u);
  EXPECT_EQ(recovered->run_id, "the run");
  EXPECT_EQ(recovered->root, run.merger().Root());
  EXPECT_TRUE(recovered->open_members.empty());
  ExpectSameState(*recovered->exchange->merger, run.merger());
}

TEST(Recovery, CommittedRoundsAndAPartOfTheOpenOneComeToTheBitsOfTheUninterruptedComputation) {
  KilledRun run("recovery-bits");
  run.Snapshot(0);
  for (uint32_t round = 1; round <= 3; ++round) run.Commit(round);
  const Hash128 root = run.merger().Root();
  run.Begin(4);
  for (WorkerId worker : {0, 1}) run.Deliver(4, worker, 1);
  run.Merge(4, 1);
  run.Deliver(4, 1, 0);
  run.Kill();
  const auto recovered = RecoverFrom(run).value();
  ASSERT_TRUE(recovered);
  EXPECT_EQ(recovered->committed_rounds, 3u);
  EXPECT_EQ(recovered->root, root);
  EXPECT_EQ(recovered->replayed_merges, 7u);
  ExpectSameState(*recovered->exchange->merger, run.merger());
  ASSERT_EQ(recovered->open_members.size(), 2u);
  EXPECT_EQ(recovered->open_members[0].arrived, std::vector<uint32_t>{1});
  EXPECT_EQ(recovered->open_members[1].arrived, (std::vector<uint32_t>{0, 1}));
  EXPECT_EQ(recovered->open_members[1].samples, 150u);
  EXPECT_EQ(recovered->open_members[1].session, 1004u);
  ASSERT_EQ(recovered->open_orders.size(), 1u);
  EXPECT_EQ(recovered->open_orders[0].chunk, 1u);
}

TEST(Recovery, TheMovingAverageOfTheBaseComesToTheSameBitsToo) {
  KilledRun run("recovery-average", 2, 0.75);
  run.Snapshot(0);
  run.Commit(1);
  // The first chunk of the snapshot stands after round 1, the second after round 2.
  run.Snapshot(1, [&] { run.Commit(2); });
  run.Commit(3);
  run.Kill();
  const auto recovered = RecoverFrom(run).value();
  ASSERT_TRUE(recovered);
  EXPECT_EQ(recovered->committed_rounds, 3u);
  ExpectSameState(*recovered->exchange->merger, run.merger());
  std::vector<float> left(256), right(256);
  run.merger().CopyAverage(0, 3, left);
  recovered->exchange->merger->CopyAverage(0, 3, right);
  ExpectSameBits(left, right);
  EXPECT_NE(left[0], run.merger().base()[0]);
}

TEST(Recovery, ARoundWhoseMembersAreNotAllOnRecordHasNotBegun) {
  for (const uint32_t recorded : {1u, 2u}) {
    KilledRun run("recovery-members");
    run.Snapshot(0);
    run.Commit(1);
    run.Begin(2, recorded);
    run.Kill();
    const auto recovered = RecoverFrom(run).value();
    ASSERT_TRUE(recovered);
    EXPECT_EQ(recovered->committed_rounds, 1u);
    EXPECT_EQ(recovered->open_members.size(), recorded == 2 ? 2u : 0u) << "nobody was told of it";
  }
}

TEST(Recovery, ASnapshotWhoseChunksStandAfterDifferentRoundsIsFollowedChunkByChunk) {
  KilledRun run("recovery-fuzzy");
  run.Commit(1);
  run.Commit(2);
  Hash128 root;
  run.Snapshot(2, [&] {
    run.Commit(3);
    root = run.merger().Root();
    run.Begin(4);
    for (WorkerId worker : {0, 1}) run.Deliver(4, worker, 1);
    run.Merge(4, 1);
  });
  run.Kill();
  const auto recovered = RecoverFrom(run).value();
  ASSERT_TRUE(recovered);
  EXPECT_EQ(recovered->committed_rounds, 3u);
  EXPECT_EQ(recovered->root, root) << "chunk 1 is further in the snapshot";
  EXPECT_EQ(recovered->replayed_merges, 1u) << "chunk 0 of round 3";
  ExpectSameState(*recovered->exchange->merger, run.merger());
}

TEST(Recovery, ARoundThatIsFollowedByAnotherIsCommittedThoughTheRecordOfThatIsLost) {
  KilledRun run("recovery-record");
  run.Snapshot(0);
  run.Commit(1);
  run.MergeAll(2);
  run.Begin(3);
  run.Kill();
  const auto recovered = RecoverFrom(run).value();
  ASSERT_TRUE(recovered);
  EXPECT_EQ(recovered->committed_rounds, 2u);
  ExpectSameState(*recovered->exchange->merger, run.merger());
}

TEST(Recovery, ADamagedSnapshotIsReplacedByAnOlderOneFromWhichTheJournalLeadsOn) {
  KilledRun run("recovery-older");
  run.Snapshot(0);
  for (uint32_t round = 1; round <= 3; ++round) run.Commit(round);
  run.Snapshot(2);
  run.Kill();
  DamageByte(run.SnapshotFile(2), std::filesystem::file_size(run.SnapshotFile(2)) / 2);
  const auto recovered = RecoverFrom(run).value();
  ASSERT_TRUE(recovered);
  EXPECT_EQ(recovered->snapshot_round, 0u);
  EXPECT_EQ(recovered->committed_rounds, 3u);
  ExpectSameState(*recovered->exchange->merger, run.merger());
}

TEST(Recovery, EveryTruncationAndEveryFlippedByteOfASnapshotIsNoticed) {
  KilledRun run("recovery-bytes");
  run.Snapshot(0);
  run.Kill();
  const std::string whole = ReadWholeFile(run.SnapshotFile(0));
  for (size_t at = 0; at < whole.size(); at += 13) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(~damaged[at]);
    WriteWholeFile(run.SnapshotFile(0), damaged);
    ASSERT_FALSE(RecoverFrom(run).ok()) << "byte " << at;
    WriteWholeFile(run.SnapshotFile(0), whole.substr(0, at));
    ASSERT_FALSE(RecoverFrom(run).ok()) << "cut at " << at;
  }
}

TEST(Recovery, WithoutAnySnapshotThatCanBeReadTheRunIsLostAndTheFileNamed) {
  KilledRun run("recovery-none-whole");
  run.Snapshot(0);
  run.Commit(1);
  run.Kill();
  const std::string file = run.SnapshotFile(0);
  std::filesystem::resize_file(file, std::filesystem::file_size(file) - 1);
  EXPECT_THAT(LossOf(run), HasSubstr(file));
  std::filesystem::remove(file);
  EXPECT_THAT(LossOf(run), HasSubstr("no snapshot is in"));
}

TEST(Recovery, WhereTheJournalDoesNotReachTheOlderSnapshotBothAreNamed) {
  KilledRun run("recovery-reach");
  run.Snapshot(0);
  for (uint32_t round = 1; round <= 8; ++round) run.Commit(round);  // six are kept
  run.Snapshot(8);
  run.Kill();
  DamageByte(run.SnapshotFile(8), std::filesystem::file_size(run.SnapshotFile(8)) / 2);
  EXPECT_THAT(LossOf(run), AllOf(HasSubstr("after 0 rounds, the next one in the journal is 3"),
                                 HasSubstr(run.SnapshotFile(8))));
}

TEST(Recovery, ADamagedPayloadOfACommittedMergeIsNamed) {
  KilledRun run("recovery-payload");
  run.Snapshot(0);
  run.Commit(1);
  run.Commit(2);
  run.Kill();
  run.DamagePayload(2, 1, 0);
  EXPECT_THAT(LossOf(run), HasSubstr("round 2, chunk 0, worker 1"));
}

TEST(Recovery, ADamagedPayloadThatNothingWasMadeOfIsUploadedAgain) {
  KilledRun run("recovery-open-payload");
  run.Snapshot(0);
  run.Commit(1);
  run.Begin(2);
  run.Deliver(2, 0, 0);
  run.Deliver(2, 1, 0);
  run.Kill();
  run.DamagePayload(2, 1, 0);
  const auto recovered = RecoverFrom(run).value();
  ASSERT_TRUE(recovered);
  EXPECT_EQ(recovered->open_members[0].arrived, std::vector<uint32_t>{0});
  EXPECT_TRUE(recovered->open_members[1].arrived.empty());
}

TEST(Recovery, ACommittedRoundWhoseFileIsMissingIsLostNotSkipped) {
  for (const uint32_t missing : {1u, 2u, 3u}) {
    KilledRun run("recovery-ring");
    run.Snapshot(0);
    for (uint32_t round = 1; round <= 3; ++round) run.Commit(round);
    run.Begin(4);
    run.Kill();
    std::filesystem::remove(run.JournalFile(missing));
    EXPECT_THAT(LossOf(run), HasSubstr(missing == 3 ? "round 3 is committed" : "the next one in"))
        << missing;
  }
}

TEST(Recovery, ALastRoundWhoseFileIsMissingIsMissedWhereTheRunDatabaseKnowsOfIt) {
  KilledRun run("recovery-last");
  run.Snapshot(0);
  run.Commit(1);
  run.Commit(2);
  run.Kill();
  std::filesystem::remove(run.JournalFile(2));
  run.options().committed_rounds = 2;
  EXPECT_THAT(LossOf(run), HasSubstr("lead to round 1 only, by run.db 2 are committed"));
}

TEST(Recovery, SnapshotsWithoutAJournalAreNotEnough) {
  KilledRun run("recovery-no-journal");
  run.Snapshot(0);
  run.Commit(1);
  run.Kill();
  std::filesystem::remove_all(run.directory() + "/journal");
  EXPECT_THAT(LossOf(run), HasSubstr("there is no journal in"));
}

TEST(Recovery, AnotherConfigurationOrNumberOfWorkersIsRefusedAndTouchesNothing) {
  KilledRun run("recovery-config");
  run.Snapshot(0);
  run.Commit(1);
  run.Kill();
  const std::string journal = ReadWholeFile(run.JournalFile(1));
  run.options().config.outer.learning_rate = 0.25;
  EXPECT_EQ(RecoverFrom(run).status().code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(RecoverFrom(run).status().message(), HasSubstr("another configuration"));
  run.options().config.outer.learning_rate = RunConfig().outer.learning_rate;
  run.options().workers = 3;
  EXPECT_EQ(RecoverFrom(run).status().code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(ReadWholeFile(run.JournalFile(1)), journal);
  run.options().workers = 2;
  EXPECT_TRUE(RecoverFrom(run).value());
}

TEST(Recovery, SyncDeltasThatAreMissingOrDamagedAreMadeAgain) {
  for (const char* damage : {"missing", "no journal", "cut", "a file"}) {
    KilledRun run("recovery-syncs");
    run.Snapshot(0);
    for (uint32_t round = 1; round <= 3; ++round) run.Commit(round);
    run.Begin(4);
    run.Kill();
    const std::string syncs = run.directory() + "/syncs";
    if (damage == std::string("cut")) {
      for (const auto& file : std::filesystem::directory_iterator(syncs))
        std::filesystem::resize_file(file.path(), file.file_size() / 2);
    } else {
      std::filesystem::remove_all(syncs);
      if (damage == std::string("no journal")) std::filesystem::create_directories(syncs);
      if (damage == std::string("a file")) WriteWholeFile(syncs, "what is this");
    }
    const auto recovered = RecoverFrom(run);
    if (damage == std::string("a file")) {
      EXPECT_FALSE(recovered.ok());
      EXPECT_THAT(recovered.status().message(), HasSubstr(syncs));
      continue;
    }
    ASSERT_TRUE(recovered.ok()) << damage << ": " << recovered.status().ToString();
    EXPECT_EQ((*recovered)->committed_rounds, 3u);
    ExpectSameState(*(*recovered)->exchange->merger, run.merger());
  }
}

// ---- verifying ----

StatusOr<Verified> VerifyOf(const KilledRun& run) {
  return VerifyRun(run.directory(), 2, SystemClock());
}

TEST(Verify, GoesOverAllRoundsThatCanBeMadeAgainAndWritesNothing) {
  KilledRun run("verify-good");
  run.Snapshot(0);
  for (uint32_t round = 1; round <= 3; ++round) run.Commit(round);
  run.Snapshot(2);
  EXPECT_EQ(VerifyOf(run).status().code(), StatusCode::kFailedPrecondition) << "it is in use";
  run.Kill();
  const std::string journal = ReadWholeFile(run.JournalFile(1));
  const auto verified = VerifyOf(run);
  ASSERT_TRUE(verified.ok()) << verified.status().ToString();
  EXPECT_EQ(verified->snapshot_round, 0u);
  EXPECT_EQ(verified->committed_rounds, 3u);
  EXPECT_EQ(verified->merges, 6u);
  EXPECT_EQ(verified->root, run.merger().Root());
  EXPECT_EQ(ReadWholeFile(run.JournalFile(1)), journal);
}

TEST(Verify, BeginsWhereTheJournalLeadsOnFrom) {
  KilledRun run("verify-reach");
  run.Snapshot(0);
  for (uint32_t round = 1; round <= 5; ++round) run.Commit(round);
  run.Snapshot(5);
  for (uint32_t round = 6; round <= 8; ++round) run.Commit(round);
  run.Kill();
  const auto verified = VerifyOf(run);
  ASSERT_TRUE(verified.ok()) << verified.status().ToString();
  EXPECT_EQ(verified->snapshot_round, 5u);
  EXPECT_EQ(verified->merges, 6u);
}

TEST(Verify, NamesWhatIsDamaged) {
  EXPECT_EQ(VerifyRun("/no/such/run", 1, SystemClock()).status().code(), StatusCode::kNotFound);
  KilledRun run("verify-damage");
  run.Snapshot(0);
  run.Commit(1);
  run.Snapshot(1);
  run.Commit(2);
  run.Kill();
  const size_t middle = std::filesystem::file_size(run.SnapshotFile(1)) / 2;
  for (const uint32_t snapshot : {0u, 1u}) {
    DamageByte(run.SnapshotFile(snapshot), middle);
    EXPECT_EQ(VerifyOf(run).status().code(), StatusCode::kDataLoss);
    EXPECT_THAT(VerifyOf(run).status().message(), HasSubstr(run.SnapshotFile(snapshot)));
    DamageByte(run.SnapshotFile(snapshot), middle);
  }
  ASSERT_TRUE(VerifyOf(run).ok());
  run.DamagePayload(1, 0, 1);
  EXPECT_EQ(VerifyOf(run).status().code(), StatusCode::kDataLoss);
  EXPECT_THAT(VerifyOf(run).status().message(), HasSubstr("round 1, chunk 1, worker 0"));
}

}  // namespace
}  // namespace interlude
