#include "protocol/round_exchange.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace interlude {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr Hash128 kRoot{.high = 0x1111222233334444, .low = 1};
constexpr Hash128 kOtherRoot{.high = 0x5555666677778888, .low = 2};

Nanoseconds At(int64_t ns) { return Nanoseconds{ns}; }

RoundExchange Exchange(std::vector<WorkerId> members, uint32_t chunks, bool barrier = false) {
  return RoundExchange(7, chunks, barrier, std::move(members), At(100));
}

void Begin(RoundExchange& exchange, const std::vector<WorkerId>& workers) {
  for (const WorkerId worker : workers) {
    ASSERT_TRUE(exchange.UploadBegun(worker, 10 + static_cast<uint64_t>(worker)).ok());
  }
}

/// The chunks that may be merged now, in the order they are handed out.
std::vector<uint32_t> Ordered(RoundExchange& exchange) {
  std::vector<uint32_t> chunks;
  while (const auto order = exchange.NextMerge()) chunks.push_back(order->chunk);
  return chunks;
}

void MergeAll(RoundExchange& exchange, Nanoseconds now) {
  for (const uint32_t chunk : Ordered(exchange)) exchange.ChunkMerged(chunk, now);
}

TEST(RoundExchange, OrdersAChunkOnceEveryPresentMemberDeliveredIt) {
  RoundExchange exchange = Exchange({2, 0}, 3);
  Begin(exchange, {0, 2});
  EXPECT_TRUE(*exchange.ChunkReceived(0, 1, At(110)));
  EXPECT_THAT(Ordered(exchange), IsEmpty());
  EXPECT_TRUE(*exchange.ChunkReceived(2, 1, At(120)));
  const auto order = exchange.NextMerge();
  ASSERT_TRUE(order);
  EXPECT_EQ(*order, (MergeOrder{.round = 7, .chunk = 1, .contributors = {{0, 10}, {2, 12}}}));
  EXPECT_THAT(Ordered(exchange), IsEmpty());
}

TEST(RoundExchange, HandsOutTheLowestChunkFirstAndEachOnce) {
  RoundExchange exchange = Exchange({0}, 4);
  Begin(exchange, {0});
  for (const uint32_t chunk : {3u, 1u, 2u})
    ASSERT_TRUE(exchange.ChunkReceived(0, chunk, At(1)).ok());
  EXPECT_THAT(Ordered(exchange), ElementsAre(1, 2, 3));
  ASSERT_TRUE(exchange.ChunkReceived(0, 0, At(2)).ok());
  EXPECT_THAT(Ordered(exchange), ElementsAre(0));
}

TEST(RoundExchange, WaitsForAMemberThatHasNotBegun) {
  RoundExchange exchange = Exchange({0, 1}, 1);
  Begin(exchange, {0});
  ASSERT_TRUE(exchange.ChunkReceived(0, 0, At(1)).ok());
  EXPECT_THAT(Ordered(exchange), IsEmpty());
}

TEST(RoundExchange, WithABarrierWaitsForAllChunksOfAllPresentMembers) {
  RoundExchange exchange = Exchange({0, 1}, 2, true);
  Begin(exchange, {0, 1});
  for (const WorkerId worker : {0, 1}) ASSERT_TRUE(exchange.ChunkReceived(worker, 0, At(1)).ok());
  ASSERT_TRUE(exchange.ChunkReceived(0, 1, At(1)).ok());
  EXPECT_THAT(Ordered(exchange), IsEmpty());
  ASSERT_TRUE(exchange.ChunkReceived(1, 1, At(1)).ok());
  EXPECT_THAT(Ordered(exchange), ElementsAre(0, 1));
}

TEST(RoundExchange, CountsADuplicateChunkOnce) {
  RoundExchange exchange = Exchange({0, 1}, 2);
  Begin(exchange, {0, 1});
  EXPECT_TRUE(*exchange.ChunkReceived(0, 0, At(1)));
  EXPECT_FALSE(*exchange.ChunkReceived(0, 0, At(2)));
  EXPECT_EQ(exchange.chunks_from(0), 1u);
  EXPECT_EQ(exchange.times().last_delta, At(1));
  EXPECT_THAT(Ordered(exchange), IsEmpty());
}

TEST(RoundExchange, RefusesWhatDoesNotFitAndStaysAsItWas) {
  RoundExchange exchange = Exchange({0, 1}, 2);
  EXPECT_EQ(exchange.UploadBegun(5, 1).code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(exchange.UploadBegun(0, 0).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(exchange.ChunkReceived(0, 0, At(1)).status().code(), StatusCode::kFailedPrecondition);
  ASSERT_TRUE(exchange.UploadBegun(0, 10).ok());
  EXPECT_TRUE(exchange.UploadBegun(0, 10).ok());
  const Status changed = exchange.UploadBegun(0, 11);
  EXPECT_EQ(changed.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(changed.message(), HasSubstr("11 samples for round 7; before it said 10"));
  EXPECT_EQ(exchange.ChunkReceived(0, 2, At(1)).status().code(), StatusCode::kOutOfRange);
  EXPECT_EQ(exchange.Reported(0, kRoot, At(1)).code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(exchange.chunks_from(0), 0u);
  ASSERT_TRUE(exchange.ChunkReceived(0, 0, At(1)).ok());
  EXPECT_THAT(exchange.contributors(), ElementsAre(Contributor{0, 10}));
}

TEST(RoundExchange, FreesChunksThatWaitedOnlyForTheOneThatLeft) {
  RoundExchange exchange = Exchange({0, 1}, 3);
  Begin(exchange, {0, 1});
  ASSERT_TRUE(exchange.ChunkReceived(0, 0, At(1)).ok());
  ASSERT_TRUE(exchange.ChunkReceived(0, 1, At(1)).ok());
  ASSERT_TRUE(exchange.ChunkReceived(1, 2, At(1)).ok());
  exchange.MemberLeft(1, At(2));
  EXPECT_THAT(Ordered(exchange), ElementsAre(0, 1));
  ASSERT_TRUE(exchange.ChunkReceived(0, 2, At(3)).ok());
  const auto order = exchange.NextMerge();
  ASSERT_TRUE(order);
  EXPECT_THAT(order->contributors, ElementsAre(Contributor{0, 10}, Contributor{1, 11}));
  EXPECT_THAT(exchange.present(), ElementsAre(0));
  EXPECT_EQ(exchange.UploadBegun(1, 11).code(), StatusCode::kAborted);
}

TEST(RoundExchange, IsAbandonedWhenAllLeftAndAChunkHasNoContributor) {
  RoundExchange exchange = Exchange({0, 1}, 2);
  Begin(exchange, {0, 1});
  ASSERT_TRUE(exchange.ChunkReceived(0, 0, At(1)).ok());
  exchange.MemberLeft(0, At(2));
  EXPECT_FALSE(exchange.abandoned());
  exchange.MemberLeft(1, At(2));
  EXPECT_TRUE(exchange.abandoned());
  EXPECT_THAT(Ordered(exchange), IsEmpty());
}

TEST(RoundExchange, CommitsWithoutAnyMemberLeftWhenEachChunkHasAContributor) {
  for (const bool barrier : {false, true}) {
    RoundExchange exchange = Exchange({0, 1}, 2, barrier);
    Begin(exchange, {0, 1});
    ASSERT_TRUE(exchange.ChunkReceived(0, 0, At(110)).ok());
    ASSERT_TRUE(exchange.ChunkReceived(1, 1, At(120)).ok());
    exchange.MemberLeft(0, At(130));
    exchange.MemberLeft(1, At(140));
    EXPECT_FALSE(exchange.abandoned());
    MergeAll(exchange, At(150));
    EXPECT_TRUE(exchange.committed());
    EXPECT_FALSE(exchange.ended());
    exchange.SetCommittedRoot(kRoot);
    EXPECT_TRUE(exchange.ended());
    EXPECT_EQ(exchange.times().end, At(150));
  }
}

TEST(RoundExchange, FreesASyncChunkOnceMergedAndWithABarrierOnlyWhenAllAre) {
  for (const bool barrier : {false, true}) {
    RoundExchange exchange = Exchange({0}, 2, barrier);
    Begin(exchange, {0});
    for (const uint32_t chunk : {0u, 1u}) ASSERT_TRUE(exchange.ChunkReceived(0, chunk, At(1)).ok());
    ASSERT_THAT(Ordered(exchange), ElementsAre(0, 1));
    EXPECT_FALSE(exchange.Sendable(0));
    exchange.ChunkMerged(0, At(2));
    EXPECT_EQ(exchange.Sendable(0), !barrier);
    EXPECT_FALSE(exchange.Sendable(1));
    exchange.ChunkMerged(1, At(3));
    EXPECT_TRUE(exchange.Sendable(0) && exchange.Sendable(1));
    EXPECT_FALSE(exchange.Sendable(2));
    EXPECT_EQ(exchange.times().first_sync, barrier ? At(3) : At(2));
  }
}

TEST(RoundExchange, EndsWhenEveryPresentMemberReportedTheCommittedRoot) {
  RoundExchange exchange = Exchange({0, 1, 2}, 1);
  Begin(exchange, {0, 1, 2});
  for (const WorkerId worker : {0, 1, 2})
    ASSERT_TRUE(exchange.ChunkReceived(worker, 0, At(110)).ok());
  MergeAll(exchange, At(120));
  EXPECT_EQ(exchange.Reported(0, kRoot, At(125)).code(),
            StatusCode::kFailedPrecondition);  // root not known
  exchange.SetCommittedRoot(kRoot);
  ASSERT_TRUE(exchange.Reported(0, kRoot, At(130)).ok());
  ASSERT_TRUE(exchange.Reported(0, kRoot, At(131)).ok());  // again: no harm
  const Status wrong = exchange.Reported(1, kOtherRoot, At(132));
  EXPECT_EQ(wrong.code(), StatusCode::kDataLoss);
  EXPECT_THAT(wrong.message(), HasSubstr("555566667777"));
  EXPECT_THAT(wrong.message(), HasSubstr("111122223333"));
  EXPECT_FALSE(exchange.ended());
  exchange.MemberLeft(1, At(140));
  EXPECT_FALSE(exchange.ended());
  ASSERT_TRUE(exchange.Reported(2, kRoot, At(150)).ok());
  EXPECT_TRUE(exchange.ended());
  EXPECT_EQ(exchange.times().end, At(150));
}

TEST(RoundExchange, EndsWhenTheLastUnreportedMemberLeaves) {
  RoundExchange exchange = Exchange({0, 1}, 1);
  Begin(exchange, {0, 1});
  for (const WorkerId worker : {0, 1}) ASSERT_TRUE(exchange.ChunkReceived(worker, 0, At(110)).ok());
  MergeAll(exchange, At(120));
  exchange.SetCommittedRoot(kRoot);
  ASSERT_TRUE(exchange.Reported(0, kRoot, At(130)).ok());
  exchange.MemberLeft(1, At(140));
  EXPECT_TRUE(exchange.ended());
  exchange.MemberLeft(0, At(150));  // had reported: moves nothing
  EXPECT_EQ(exchange.times().end, At(140));
}

TEST(RoundExchange, TakesTheTimesOfItsTurningPoints) {
  RoundExchange exchange = Exchange({0}, 2);
  EXPECT_EQ(exchange.times().begin, At(100));
  exchange.SetBegin(At(105));
  Begin(exchange, {0});
  ASSERT_TRUE(exchange.ChunkReceived(0, 1, At(110)).ok());
  ASSERT_TRUE(exchange.ChunkReceived(0, 0, At(120)).ok());
  MergeAll(exchange, At(130));
  exchange.SetCommittedRoot(kRoot);
  ASSERT_TRUE(exchange.Reported(0, kRoot, At(140)).ok());
  const RoundTimes& times = exchange.times();
  EXPECT_EQ(times.begin, At(105));
  EXPECT_EQ(times.first_delta, At(110));
  EXPECT_EQ(times.last_delta, At(120));
  EXPECT_EQ(times.first_sync, At(130));
  EXPECT_EQ(times.committed, At(130));
  EXPECT_EQ(times.end, At(140));
}

TEST(RoundExchange, ForgetsWhatADiscardedMemberDelivered) {
  RoundExchange exchange = Exchange({0, 1}, 2);
  Begin(exchange, {0, 1});
  for (const uint32_t chunk : {0u, 1u}) ASSERT_TRUE(exchange.ChunkReceived(1, chunk, At(1)).ok());
  ASSERT_TRUE(exchange.ChunkReceived(0, 0, At(1)).ok());
  exchange.Discard(1, At(2));
  EXPECT_EQ(exchange.chunks_from(1), 0u);
  const auto order = exchange.NextMerge();
  ASSERT_TRUE(order);
  EXPECT_THAT(order->contributors, ElementsAre(Contributor{0, 10}));
  EXPECT_FALSE(exchange.NextMerge());
  exchange.MemberLeft(0, At(3));
  EXPECT_TRUE(exchange.abandoned());
}

TEST(RoundExchange, IgnoresALeaverThatIsNoMember) {
  RoundExchange exchange = Exchange({0}, 1);
  exchange.MemberLeft(3, At(1));
  exchange.MemberLeft(0, At(2));
  exchange.MemberLeft(0, At(3));
  EXPECT_THAT(exchange.present(), IsEmpty());
  EXPECT_TRUE(exchange.abandoned());
}

}  // namespace
}  // namespace interlude
