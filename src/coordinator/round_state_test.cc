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
  SyncBoard board;
  board.BeginRound(1, 2);
  StatusOr<ChunkHashes> seen = UnknownError("not run");
  std::thread waiter([&] { seen = board.Wait(1, 1, Never); });
  board.Post(1, 1, ChunkHashes{{1, 2}, {3, 4}});
  waiter.join();
  ASSERT_TRUE(seen.ok());
  EXPECT_EQ(seen->payload, (Hash128{1, 2}));
  EXPECT_EQ(seen->base, (Hash128{3, 4}));
}

TEST(SyncBoard, CloseAndGivingUpEndTheWait) {
  SyncBoard board;
  board.BeginRound(1, 1);
  EXPECT_EQ(board.Wait(1, 0, [] { return true; }).status().code(), StatusCode::kCancelled);
  StatusOr<ChunkHashes> seen = UnknownError("not run");
  std::thread waiter([&] { seen = board.Wait(1, 0, Never); });
  board.Close();
  waiter.join();
  EXPECT_EQ(seen.status().code(), StatusCode::kUnavailable);
}

TEST(SyncBoard, KeepsTheRoundBeforeAndForgetsOlderOnes) {
  SyncBoard board;
  board.BeginRound(1, 1);
  board.Post(1, 0, {});
  board.BeginRound(2, 1);
  EXPECT_TRUE(board.Wait(1, 0, Never).ok());
  board.BeginRound(3, 1);
  EXPECT_EQ(board.Wait(1, 0, Never).status().code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(board.Wait(8, 0, Never).status().code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(board.Wait(3, 1, Never).status().code(), StatusCode::kOutOfRange);
}

class DeltaStoreTest : public testing::Test {
 protected:
  DeltaStoreTest() {
    const std::string directory =
        testing::TempDir() + "/interlude-delta-store-" + std::to_string(::getpid());
    std::filesystem::remove_all(directory);
    std::filesystem::create_directories(directory);
    store_ = DeltaStore::Create(directory, layout_, Codec::kQ4, 2).value();
    EXPECT_TRUE(store_->BeginRound(1).ok());
  }
  std::vector<std::byte> Encoded(float value, size_t count) {
    ThreadPool pool(1);
    std::vector<std::byte> payload(EncodedBytes(Codec::kQ4, count));
    EncodeDelta(Codec::kQ4, std::vector<float>(count, value), std::vector<float>(count), {},
                payload, pool);
    return payload;
  }
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

TEST(EvaluationTally, AddsPartsAndGoesOnWithoutAWorkerThatLeft) {
  EvaluationTally tally;
  tally.Begin(4, {0, 1, 2});
  ASSERT_TRUE(
      tally.Report(0, {.after_rounds = 4, .correct = 8, .samples = 10, .loss_sum = 5}).ok());
  EXPECT_FALSE(tally.TakeComplete().has_value());
  ASSERT_TRUE(
      tally.Report(2, {.after_rounds = 4, .correct = 7, .samples = 10, .loss_sum = 3}).ok());
  EXPECT_FALSE(tally.TakeComplete().has_value());
  tally.WorkerLeft(1);
  const auto record = tally.TakeComplete();
  ASSERT_TRUE(record.has_value());
  EXPECT_EQ(record->after_rounds, 4u);
  EXPECT_EQ(record->correct, 15u);
  EXPECT_EQ(record->samples, 20u);
  EXPECT_DOUBLE_EQ(record->mean_loss, 0.4);
  EXPECT_FALSE(tally.TakeComplete().has_value());
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
