#include "protocol/membership.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace interlude {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(Membership, GivesTheLowestFreeIdWhereNoneIsRequested) {
  Membership membership(3);
  EXPECT_EQ(*membership.Join({}), 0);
  EXPECT_EQ(*membership.Join({}), 1);
  EXPECT_EQ(*membership.Join({}), 2);
  ASSERT_TRUE(membership.Leave(1));
  EXPECT_EQ(*membership.Join({}), 1);
}

TEST(Membership, GivesTheRequestedIdWhereItIsFree) {
  Membership membership(3);
  EXPECT_EQ(*membership.Join(2), 2);
  EXPECT_EQ(*membership.Join({}), 0);
  EXPECT_EQ(*membership.Join(1), 1);
  EXPECT_EQ(membership.present(), 3u);
}

TEST(Membership, RefusesARequestedIdThatIsTaken) {
  Membership membership(2);
  ASSERT_TRUE(membership.Join(1).ok());
  const auto second = membership.Join(1);
  EXPECT_EQ(second.status().code(), StatusCode::kAlreadyExists);
  EXPECT_THAT(second.status().message(), HasSubstr("worker id 1"));
  EXPECT_EQ(membership.present(), 1u);
}

TEST(Membership, RefusesARequestedIdOutsideTheRun) {
  Membership membership(2);
  for (const WorkerId id : {-1, 2, 1 << 30}) {
    const auto joined = membership.Join(id);
    EXPECT_EQ(joined.status().code(), StatusCode::kOutOfRange) << id;
    EXPECT_THAT(joined.status().message(), HasSubstr("ids 0 to 1"));
  }
  EXPECT_EQ(membership.present(), 0u);
}

TEST(Membership, RefusesMoreWorkersThanTheRunWasStartedFor) {
  Membership membership(2);
  ASSERT_TRUE(membership.Join({}).ok());
  ASSERT_TRUE(membership.Join({}).ok());
  const auto third = membership.Join({});
  EXPECT_EQ(third.status().code(), StatusCode::kResourceExhausted);
  EXPECT_THAT(third.status().message(), HasSubstr("2 worker(s)"));
}

TEST(Membership, AdmitsExactlyThoseThatHaveCaughtUp) {
  Membership membership(4);
  for (const WorkerId id : {3, 2, 1, 0}) ASSERT_TRUE(membership.Join(id).ok());
  for (const WorkerId id : {3, 2, 0}) ASSERT_TRUE(membership.Ready(id).ok());
  for (const WorkerId id : {3, 0}) ASSERT_TRUE(membership.CaughtUp(id).ok());
  membership.AdmitCaughtUp();
  EXPECT_THAT(membership.at(WorkerStage::kMember), ElementsAre(0, 3));
  EXPECT_THAT(membership.at(WorkerStage::kReady), ElementsAre(2));
  EXPECT_THAT(membership.at(WorkerStage::kJoined), ElementsAre(1));
  EXPECT_THAT(membership.at(WorkerStage::kCaughtUp), IsEmpty());
}

TEST(Membership, TakesEachStepOnceAndInOrder) {
  Membership membership(2);
  const auto refuses = [&](bool ready, bool caught_up) {
    if (ready) {
      EXPECT_EQ(membership.Ready(0).code(), StatusCode::kFailedPrecondition);
    }
    if (caught_up) {
      EXPECT_EQ(membership.CaughtUp(0).code(), StatusCode::kFailedPrecondition);
    }
  };
  refuses(true, true);
  ASSERT_TRUE(membership.Join({}).ok());
  refuses(false, true);
  EXPECT_TRUE(membership.Ready(0).ok());
  refuses(true, false);
  EXPECT_TRUE(membership.CaughtUp(0).ok());
  refuses(true, true);
  membership.AdmitCaughtUp();
  refuses(true, true);
  EXPECT_EQ(membership.stage(0), WorkerStage::kMember);
}

TEST(Membership, ForgetsAWorkerThatLeftFromAnyStage) {
  Membership membership(1);
  for (int stage = 0; stage < 4; ++stage) {
    ASSERT_TRUE(membership.Join({}).ok());
    if (stage > 0) {
      ASSERT_TRUE(membership.Ready(0).ok());
    }
    if (stage > 1) {
      ASSERT_TRUE(membership.CaughtUp(0).ok());
    }
    if (stage > 2) membership.AdmitCaughtUp();
    EXPECT_TRUE(membership.Leave(0));
    EXPECT_EQ(membership.stage(0), std::nullopt);
    EXPECT_FALSE(membership.Leave(0));
  }
}

}  // namespace
}  // namespace interlude
