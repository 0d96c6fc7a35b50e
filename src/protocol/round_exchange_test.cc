#include "protocol/round_exchange.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

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

TEST(RoundExchange, WhatIsOrderedOfADiscardedMemberStandsAndTheRestDoesNot) {
  RoundExchange exchange = Exchange({0, 1}, 2);
  Begin(exchange, {0, 1});
  for (const uint32_t chunk : {0u, 1u}) ASSERT_TRUE(exchange.ChunkReceived(1, chunk, At(1)).ok());
  ASSERT_TRUE(exchange.ChunkReceived(0, 0, At(1)).ok());
  EXPECT_THAT(Ordered(exchange), ElementsAre(0));
  exchange.Discard(1, At(2));
  EXPECT_EQ(exchange.chunks_from(1), 1u);
  ASSERT_TRUE(exchange.ChunkReceived(0, 1, At(3)).ok());
  EXPECT_THAT(exchange.NextMerge()->contributors, ElementsAre(Contributor{0, 10}));
  EXPECT_EQ(exchange.ChunkReceived(1, 1, At(4)).status().code(), StatusCode::kAborted);
}

TEST(RoundExchange, IgnoresALeaverThatIsNoMember) {
  RoundExchange exchange = Exchange({0}, 1);
  exchange.MemberLeft(3, At(1));
  exchange.MemberLeft(0, At(2));
  exchange.MemberLeft(0, At(3));
  EXPECT_THAT(exchange.present(), IsEmpty());
  EXPECT_TRUE(exchange.abandoned());
}

TEST(RoundExchange, WaitsNoLongerForAMemberThatIsClosedOut) {
  RoundExchange exchange = Exchange({0, 1}, 2);
  Begin(exchange, {0, 1});
  ASSERT_TRUE(exchange.ChunkReceived(0, 0, At(110)).ok());
  exchange.CloseOut(1, At(120));
  exchange.CloseOut(1, At(130));  // again: no harm
  exchange.CloseOut(5, At(130));
  EXPECT_THAT(exchange.present(), ElementsAre(0));
  EXPECT_TRUE(exchange.is_member(1) && !exchange.is_present(1));
  const auto order = exchange.NextMerge();
  ASSERT_TRUE(order);
  EXPECT_THAT(order->contributors, ElementsAre(Contributor{0, 10}));
}

TEST(RoundExchange, CountsALateChunkWhileItIsNotOrderedAndIgnoresItAfterwards) {
  RoundExchange exchange = Exchange({0, 1}, 2);
  Begin(exchange, {0, 1});
  ASSERT_TRUE(exchange.ChunkReceived(0, 0, At(110)).ok());
  exchange.CloseOut(1, At(120));
  EXPECT_THAT(Ordered(exchange), ElementsAre(0));
  EXPECT_FALSE(*exchange.ChunkReceived(1, 0, At(130)));
  EXPECT_EQ(exchange.chunks_from(1), 0u);
  EXPECT_TRUE(*exchange.ChunkReceived(1, 1, At(140)));
  EXPECT_THAT(Ordered(exchange), IsEmpty());
  ASSERT_TRUE(exchange.ChunkReceived(0, 1, At(150)).ok());
  const auto order = exchange.NextMerge();
  ASSERT_TRUE(order);
  EXPECT_THAT(order->contributors, ElementsAre(Contributor{0, 10}, Contributor{1, 11}));
}

TEST(RoundExchange, WithABarrierGoesOnWithoutTheMemberThatIsClosedOutWithWhatItDelivered) {
  RoundExchange exchange = Exchange({0, 1}, 2, true);
  Begin(exchange, {0, 1});
  ASSERT_TRUE(exchange.ChunkReceived(1, 0, At(110)).ok());
  for (const uint32_t chunk : {0u, 1u}) ASSERT_TRUE(exchange.ChunkReceived(0, chunk, At(120)).ok());
  EXPECT_THAT(Ordered(exchange), IsEmpty());
  exchange.CloseOut(1, At(130));
  EXPECT_THAT(exchange.NextMerge()->contributors.size(), 2u);
  EXPECT_THAT(exchange.NextMerge()->contributors.size(), 1u);
}

TEST(RoundExchange, EndsWithoutTheReportOfAMemberThatIsClosedOutAndStillChecksIt) {
  RoundExchange exchange = Exchange({0, 1}, 1);
  Begin(exchange, {0, 1});
  for (const WorkerId worker : {0, 1}) ASSERT_TRUE(exchange.ChunkReceived(worker, 0, At(110)).ok());
  MergeAll(exchange, At(120));
  exchange.SetCommittedRoot(kRoot);
  ASSERT_TRUE(exchange.Reported(0, kRoot, At(130)).ok());
  exchange.CloseOut(1, At(140));
  EXPECT_TRUE(exchange.ended());
  EXPECT_EQ(exchange.times().end, At(140));
  EXPECT_EQ(exchange.Reported(1, kOtherRoot, At(150)).code(), StatusCode::kDataLoss);
  EXPECT_TRUE(exchange.Reported(1, kRoot, At(150)).ok());
  EXPECT_EQ(exchange.times().end, At(140));
}

TEST(RoundExchange, OrdersAChunkOfNobodyOnlyWhereItIsToldToAndNobodyIsAwaited) {
  for (const bool barrier : {false, true}) {
    RoundExchange exchange = Exchange({0, 1}, 3, barrier);
    Begin(exchange, {0, 1});
    ASSERT_TRUE(exchange.ChunkReceived(0, 1, At(110)).ok());
    exchange.MemberLeft(0, At(120));
    EXPECT_FALSE(exchange.NextMerge(true));
    exchange.MemberLeft(1, At(120));
    EXPECT_FALSE(exchange.NextMerge(false));
    std::vector<size_t> contributors;
    while (const auto order = exchange.NextMerge(true)) {
      contributors.push_back(order->contributors.size());
      exchange.ChunkMerged(order->chunk, At(130));
    }
    EXPECT_THAT(contributors, ElementsAre(0, 1, 0));
    EXPECT_TRUE(exchange.committed() && !exchange.abandoned());
  }
}

/// "worker 1 chunk 2: 2 of 3 after 20", for each that is awaited.
std::vector<std::string> Awaited(const RoundExchange& exchange, double quorum,
                                 bool gone_too = true) {
  std::vector<std::string> texts;
  for (const RoundExchange::Awaited& a : exchange.AwaitedByQuorum(quorum, gone_too)) {
    texts.push_back(fmt::format("worker {} chunk {}: {} of {} after {}", a.worker, a.chunk, a.done,
                                a.members, a.others_took.count()));
  }
  return texts;
}

TEST(RoundExchange, AMemberIsAwaitedForItsLowestChunkThatAQuorumHasDelivered) {
  RoundExchange exchange = Exchange({0, 1, 2}, 3);
  Begin(exchange, {0, 1, 2});
  EXPECT_THAT(Awaited(exchange, 0), IsEmpty());  // at least one must be done
  ASSERT_TRUE(exchange.ChunkReceived(0, 0, At(110)).ok());
  EXPECT_THAT(Awaited(exchange, 0.5), IsEmpty());
  EXPECT_THAT(Awaited(exchange, 0.33), ElementsAre("worker 1 chunk 0: 1 of 3 after 10",
                                                   "worker 2 chunk 0: 1 of 3 after 10"));
  ASSERT_TRUE(exchange.ChunkReceived(2, 0, At(120)).ok());
  EXPECT_THAT(Awaited(exchange, 0.5), ElementsAre("worker 1 chunk 0: 2 of 3 after 20"));
  EXPECT_THAT(Awaited(exchange, 1), IsEmpty());  // it is one of those that would have to
  ASSERT_TRUE(exchange.ChunkReceived(1, 1, At(130)).ok());
  EXPECT_THAT(Awaited(exchange, 0.5), ElementsAre("worker 1 chunk 0: 2 of 3 after 20"));
  exchange.CloseOut(1, At(140));  // what it has delivered is a measure for the others
  EXPECT_THAT(Awaited(exchange, 0.5), ElementsAre("worker 0 chunk 1: 1 of 2 after 30",
                                                  "worker 2 chunk 1: 1 of 2 after 30"));
}

TEST(RoundExchange, WithABarrierAMemberIsAwaitedForTheWholeOfItsDelta) {
  RoundExchange exchange = Exchange({0, 1, 2}, 2, true);
  Begin(exchange, {0, 1, 2});
  for (const WorkerId worker : {0, 1}) {
    ASSERT_TRUE(exchange.ChunkReceived(worker, 0, At(110)).ok());
    EXPECT_THAT(Awaited(exchange, 0.5), IsEmpty());
  }
  ASSERT_TRUE(exchange.ChunkReceived(0, 1, At(120)).ok());
  EXPECT_THAT(Awaited(exchange, 0.5), IsEmpty());
  ASSERT_TRUE(exchange.ChunkReceived(1, 1, At(130)).ok());
  ASSERT_TRUE(exchange.ChunkReceived(2, 0, At(140)).ok());  // its own chunks are no measure
  EXPECT_THAT(Awaited(exchange, 0.5), ElementsAre("worker 2 chunk 1: 2 of 3 after 30"));
}

TEST(RoundExchange, ThoseThatLeftWithTheirDeltaDeliveredAreAmongTheQuorumWhereSomebodyElseWaits) {
  for (const bool barrier : {false, true}) {
    RoundExchange exchange = Exchange({0, 1}, 1, barrier);
    Begin(exchange, {0, 1});
    ASSERT_TRUE(exchange.ChunkReceived(0, 0, At(110)).ok());
    exchange.MemberLeft(0, At(120));
    EXPECT_THAT(Awaited(exchange, 0.5), ElementsAre("worker 1 chunk 0: 1 of 1 after 10"));
    EXPECT_THAT(Awaited(exchange, 0.5, false), IsEmpty());
  }
}

TEST(RoundExchange, AfterTheCommitAMemberIsAwaitedForItsReport) {
  for (const bool barrier : {false, true}) {
    RoundExchange exchange = Exchange({0, 1, 2}, 2, barrier);
    Begin(exchange, {0, 1, 2});
    for (const WorkerId worker : {0, 1, 2}) {
      for (const uint32_t chunk : {0u, 1u})
        ASSERT_TRUE(exchange.ChunkReceived(worker, chunk, At(110)).ok());
    }
    MergeAll(exchange, At(200));
    EXPECT_THAT(Awaited(exchange, 0), IsEmpty());  // the root is not known
    exchange.SetCommittedRoot(kRoot);
    EXPECT_THAT(Awaited(exchange, 0), IsEmpty());
    ASSERT_TRUE(exchange.Reported(1, kRoot, At(210)).ok());
    EXPECT_THAT(Awaited(exchange, 0.34), IsEmpty());
    ASSERT_TRUE(exchange.Reported(0, kRoot, At(250)).ok());
    EXPECT_THAT(Awaited(exchange, 0.5), ElementsAre("worker 2 chunk 2: 2 of 3 after 50"));
  }
}

TEST(RoundExchange, WhoeverIsAwaitedMayBeAskedForWithoutAQuorum) {
  RoundExchange exchange = Exchange({0, 1}, 1);
  ASSERT_EQ(exchange.AwaitedBy(0).size(), 2u);
  EXPECT_EQ(exchange.AwaitedBy(0)[0].done, 0u);
  EXPECT_EQ(exchange.AwaitedBy(0)[0].others_took, At(0));
  EXPECT_THAT(exchange.AwaitedBy(1), IsEmpty());
}

TEST(RoundExchange, KnowsWhenADeltaBeganAndEndedToCome) {
  RoundExchange exchange = Exchange({0, 1}, 2);
  Begin(exchange, {0});
  ASSERT_TRUE(exchange.ChunkReceived(0, 1, At(110)).ok());
  EXPECT_FALSE(exchange.delivery_of(0));
  ASSERT_TRUE(exchange.ChunkReceived(0, 0, At(130)).ok());
  ASSERT_TRUE(exchange.delivery_of(0));
  EXPECT_EQ(exchange.delivery_of(0)->first, At(110));
  EXPECT_EQ(exchange.delivery_of(0)->last, At(130));
  EXPECT_FALSE(exchange.delivery_of(1) || exchange.delivery_of(7));
}

TEST(RoundExchange, TakesUpMergesThatWereMadeBeforeACrash) {
  RoundExchange exchange = Exchange({0}, 2);
  Begin(exchange, {0});
  for (const uint32_t chunk : {0u, 1u}) ASSERT_TRUE(exchange.ChunkReceived(0, chunk, At(1)).ok());
  exchange.RestoreMerged({.round = 7, .chunk = 0, .contributors = {{0, 10}}}, At(5));
  EXPECT_TRUE(exchange.Sendable(0) && exchange.was_restored(0));
  EXPECT_EQ(exchange.times().first_sync, At(5));
  EXPECT_THAT(Ordered(exchange), ElementsAre(1));
  exchange.ChunkMerged(1, At(6));
  EXPECT_TRUE(exchange.committed() && !exchange.was_restored(1));
}

}  // namespace
}  // namespace interlude
