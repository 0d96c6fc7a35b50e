// The small parts around the round thread: the board, the store of deltas, the tally.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <thread>

#include "coordinator/delta_store.h"
#include "coordinator/evaluation_tally.h"
#include "coordinator/session.h"
#include "coordinator/sync_board.h"

namespace interlude {
namespace {

bool Never() { return false; }

TEST(SyncBoard, AWaitingStreamWakesWhenItsChunkIsPosted) {
  SyncBoard board(2);
  board.BeginRound(1, 2);
  StatusOr<ChunkHashes> seen = UnknownError("not run");
  std::thread waiter([&] { seen = board.Wait(1, 1, 0, Never); });
  board.Post(1, 1, ChunkHashes{{1, 2}, {3, 4}}, {0, 2});
  waiter.join();
  ASSERT_TRUE(seen.ok());
  EXPECT_EQ(seen->payload, (Hash128{1, 2}));
  EXPECT_EQ(seen->base, (Hash128{3, 4}));
  EXPECT_FALSE(seen->dropped);
  EXPECT_TRUE(board.Wait(1, 1, 1, Never)->dropped) << "the delta of worker 1 is not in it";
  EXPECT_FALSE(board.Wait(1, 1, 2, Never)->dropped);
}

TEST(SyncBoard, CloseAndGivingUpEndTheWait) {
  SyncBoard board(2);
  board.BeginRound(1, 1);
  EXPECT_EQ(board.Wait(1, 0, 0, [] { return true; }).status().code(), StatusCode::kCancelled);
  StatusOr<ChunkHashes> seen = UnknownError("not run");
  std::thread waiter([&] { seen = board.Wait(1, 0, 0, Never); });
  board.Close();
  waiter.join();
  EXPECT_EQ(seen.status().code(), StatusCode::kUnavailable);
}

TEST(SyncBoard, KeepsTheRetainedRoundsAndForgetsOlderOnes) {
  SyncBoard board(2);
  board.PostFirstBase({Hash128{}});
  board.BeginRound(1, 1);
  board.Post(1, 0, {.payload = {1, 1}}, {});
  EXPECT_EQ(board.Wait(0, 0, 0, Never).status().code(), StatusCode::kFailedPrecondition);
  board.BeginRound(2, 1);
  board.BeginRound(3, 1);
  EXPECT_TRUE(board.Wait(1, 0, 0, Never).ok());
  board.BeginRound(4, 1);
  EXPECT_EQ(board.Wait(1, 0, 0, Never).status().code(), StatusCode::kNotFound);
  EXPECT_EQ(board.Wait(8, 0, 0, Never).status().code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(board.Wait(4, 1, 0, Never).status().code(), StatusCode::kOutOfRange);
}

TEST(SyncBoard, KnowsTheBasesFromWhichTheRetainedRoundsLeadOn) {
  SyncBoard board(2);
  board.PostFirstBase({{0, 1}, {0, 2}});
  const auto post = [&](uint32_t round, uint32_t chunk) {
    board.Post(round, chunk, {.payload = {}, .base = {round, chunk + 1}}, {});
  };
  const auto newest = [&](std::vector<Hash128> hashes) { return board.NewestRounds(hashes); };
  for (const uint32_t round : {1u, 2u, 3u}) {
    board.BeginRound(round, 2);
    for (const uint32_t chunk : {0u, 1u}) {
      if (round < 3) post(round, chunk);
    }
  }
  EXPECT_THAT(newest({{0, 1}, {2, 2}}), testing::ElementsAre(0, 2)) << "1, 2 and 3 are to be had";
  EXPECT_THAT(newest({{3, 1}, {1, 1}}), testing::ElementsAre(kNoBase, kNoBase))
      << "one is not made yet, one is another chunk's";
  post(3, 0);
  board.Post(3, 1, {.payload = {}, .base = {2, 2}}, {});
  EXPECT_THAT(newest({{3, 1}, {2, 2}}), testing::ElementsAre(3, 3)) << "the newest of two equal";
  board.BeginRound(4, 2);
  EXPECT_THAT(newest({{0, 1}, {1, 2}}), testing::ElementsAre(kNoBase, 1));
}

class DeltaStoreTest : public testing::Test {
 protected:
  DeltaStoreTest() {
    std::filesystem::remove_all(directory_);
    std::filesystem::create_directories(directory_);
    store_ = DeltaStore::Create(directory_, layout_, Codec::kQ4,
                                {.workers = 2, .kept_rounds = 2, .retained_syncs = 2})
                 .value();
    EXPECT_TRUE(store_->BeginRound(1).ok());
  }
  std::vector<std::byte> Encoded(float value, size_t count) {
    Hash128 hash;
    std::vector<std::byte> payload(EncodedBytes(Codec::kQ4, count));
    EncodeDelta(Codec::kQ4, std::vector<float>(count, value), std::vector<float>(count), {},
                payload, hash);
    return payload;
  }
  const std::string directory_ =
      testing::TempDir() + "/interlude-delta-store-" + std::to_string(::getpid());
  const Layout layout_ = Layout::Create({{.name = "w", .shape = {200}}}, 128).value();
  std::unique_ptr<DeltaStore> store_;
};

TEST_F(DeltaStoreTest, ASealedChunkIsNotWrittenAgain) {
  const auto first = Encoded(1.0f, 128);
  const auto second = Encoded(2.0f, 128);
  ASSERT_TRUE(store_->Write(1, 1, 0, 0, first).ok());
  ASSERT_TRUE(store_->Seal(1, 1, 0, HashBytes(first)).ok());
  ASSERT_TRUE(store_->Write(1, 1, 0, 0, second).ok());
  EXPECT_EQ(HashBytes(store_->Delta(1, 1, 0)), HashBytes(first));
  // the other worker's place is its own
  ASSERT_TRUE(store_->Write(1, 0, 0, 0, second).ok());
  EXPECT_EQ(HashBytes(store_->Delta(1, 0, 0)), HashBytes(second));
}

TEST_F(DeltaStoreTest, AChunkThatCannotBeDecodedIsNotSealedAndTheMessageSaysWhose) {
  std::vector<std::byte> damaged = Encoded(1.0f, 72);
  damaged.back() = std::byte{0x7f};  // the last scale's high byte: Inf or NaN with the next line
  damaged[damaged.size() - 2] = std::byte{0x80};
  ASSERT_TRUE(store_->Write(1, 1, 1, 0, damaged).ok());
  const Status status = store_->Seal(1, 1, 1, HashBytes(damaged));
  EXPECT_FALSE(status.ok());
  EXPECT_THAT(status.message(), testing::HasSubstr("delta from worker 1, round 1, chunk 1"));
}

TEST_F(DeltaStoreTest, SyncDeltasStayForTheRetainedRoundsThoughDeltasDoNot) {
  const auto payload = Encoded(1.0f, 128);
  std::ranges::copy(payload, store_->MutableSync(1, 0).begin());
  ASSERT_TRUE(store_->Write(1, 0, 0, 0, payload).ok());
  std::vector<std::byte> copy(payload.size());
  for (const uint32_t round : {2u, 3u}) {
    ASSERT_TRUE(store_->BeginRound(round).ok());
    EXPECT_EQ(HashBytes(store_->FindSync(1, 0).value()), HashBytes(payload));
    ASSERT_TRUE(store_->CopySync(1, 0, copy).ok());
    EXPECT_EQ(copy, payload);
  }
  EXPECT_EQ(store_->Write(1, 0, 0, 0, payload).code(), StatusCode::kFailedPrecondition);
  ASSERT_TRUE(store_->BeginRound(4).ok());
  EXPECT_EQ(store_->FindSync(1, 0).status().code(), StatusCode::kNotFound);
  EXPECT_EQ(store_->CopySync(1, 0, copy).code(), StatusCode::kNotFound);
}

TEST_F(DeltaStoreTest, ASyncJournalThatCannotBeMadeLeavesNoFilesOfTheDeltasEither) {
  // Refused like a full disk: more rounds than a journal may keep.
  const auto store = DeltaStore::Create(directory_ + "/other", layout_, Codec::kQ4,
                                        {.workers = 1, .kept_rounds = 2, .retained_syncs = 5000});
  EXPECT_FALSE(store.ok());
  EXPECT_FALSE(std::filesystem::exists(directory_ + "/other/journal"));
}

TEST(EvaluationTally, AddsPartsAndGoesOnWithoutAWorkerThatLeft) {
  EvaluationTally tally;
  tally.Begin(4, {0, 1, 2});
  ASSERT_TRUE(
      tally.Report(0, {.after_rounds = 4, .correct = 8, .samples = 10, .loss_sum = 5}).ok());
  EXPECT_FALSE(tally.TakeComplete().has_value());
  ASSERT_TRUE(
      tally.Report(2, {.after_rounds = 4, .correct = 7, .samples = 10, .loss_sum = 3}).ok());
  EXPECT_FALSE(tally.TakeComplete().has_value());
  EXPECT_TRUE(tally.MayBecomeWhole(4));
  tally.WorkerLeft(1);
  EXPECT_FALSE(tally.MayBecomeWhole(4));
  const auto complete = tally.TakeComplete();
  ASSERT_TRUE(complete.has_value());
  EXPECT_FALSE(complete->whole);
  EXPECT_EQ(complete->record.after_rounds, 4u);
  EXPECT_EQ(complete->record.correct, 15u);
  EXPECT_EQ(complete->record.samples, 20u);
  EXPECT_DOUBLE_EQ(complete->record.mean_loss, 0.4);
  EXPECT_FALSE(tally.TakeComplete().has_value());
}

TEST(EvaluationTally, OneThatLeavesAfterItsPartCameTakesNothingAway) {
  EvaluationTally tally;
  tally.Begin(4, {0, 1});
  ASSERT_TRUE(tally.Report(1, {.after_rounds = 4, .correct = 7, .samples = 10}).ok());
  tally.WorkerLeft(1);
  EXPECT_TRUE(tally.MayBecomeWhole(4));
  ASSERT_TRUE(tally.Report(0, {.after_rounds = 4, .correct = 8, .samples = 10}).ok());
  const auto complete = tally.TakeComplete();
  ASSERT_TRUE(complete.has_value());
  EXPECT_TRUE(complete->whole);
  EXPECT_FALSE(tally.MayBecomeWhole(4)) << "nothing is awaited any more";
}

TEST(EvaluationTally, IsNotWholeWhereAPartLacksFromTheBeginning) {
  EvaluationTally tally;
  tally.Begin(4, {1}, /*are_all=*/false);
  EXPECT_FALSE(tally.MayBecomeWhole(4));
  ASSERT_TRUE(tally.Report(1, {.after_rounds = 4, .correct = 7, .samples = 10}).ok());
  const auto complete = tally.TakeComplete();
  ASSERT_TRUE(complete.has_value());
  EXPECT_FALSE(complete->whole);
  EXPECT_EQ(complete->record.samples, 10u);
}

TEST(EvaluationTally, RefusesPartsThatAreNotAwaited) {
  EvaluationTally tally;
  tally.Begin(2, {0});
  EXPECT_EQ(tally.Report(1, {.after_rounds = 2}).code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(tally.Report(0, {.after_rounds = 3}).code(), StatusCode::kFailedPrecondition);
  EXPECT_TRUE(tally.Report(0, {.after_rounds = 2}).ok());
  EXPECT_EQ(tally.Report(0, {.after_rounds = 2}).code(), StatusCode::kFailedPrecondition)
      << "a second time";
}

TEST(SessionTable, FindsASessionOnlyByItsOwnToken) {
  SessionTable table;
  auto session = std::make_shared<Session>(42);
  table.Add(3, session);
  EXPECT_TRUE(table.Find(3, 42).ok());
  EXPECT_EQ(table.Find(3, 41).status().code(), StatusCode::kPermissionDenied);
  EXPECT_EQ(table.Find(2, 42).status().code(), StatusCode::kPermissionDenied);
  auto newer = std::make_shared<Session>(43);
  table.Add(3, newer);
  table.Remove(3, session.get());
  EXPECT_TRUE(table.Find(3, 43).ok()) << "removing an old session leaves the newer one";
}

}  // namespace
}  // namespace interlude
