#include "protocol/worker_session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

namespace interlude {
namespace {

using Stage = WorkerSession::Stage;
using testing::HasSubstr;

/// A session brought to `stage` on the straight way; in and after rounds its round is 4.
WorkerSession SessionAt(Stage stage) {
  WorkerSession session;
  const std::vector<std::function<Status()>> way = {
      [&] { return session.Welcomed(2); },     [&] { return session.OfferedBase(); },
      [&] { return session.RoundStarted(4); }, [&] { return session.RoundReported(4); },
      [&] { return session.ToldToFinish(); },  [&] { return session.Done(); }};
  for (const auto& step : way) {
    if (session.stage() == stage) break;
    EXPECT_TRUE(step().ok());
  }
  EXPECT_EQ(session.stage(), stage);
  return session;
}

constexpr Stage kAllStages[] = {Stage::kConnecting, Stage::kJoined,        Stage::kReady,
                                Stage::kInRound,    Stage::kBetweenRounds, Stage::kFinishing,
                                Stage::kDone};

struct Row {
  std::string event;
  std::function<Status(WorkerSession&)> call;
  /// (allowed in, leads to)
  std::vector<std::pair<Stage, Stage>> allowed;
};

TEST(WorkerSession, TakesEachEventInExactlyTheStagesOfTheTable) {
  const std::vector<Row> table = {
      {"welcome",
       [](WorkerSession& s) { return s.Welcomed(2); },
       {{Stage::kConnecting, Stage::kJoined}}},
      {"ready",
       [](WorkerSession& s) { return s.OfferedBase(); },
       {{Stage::kJoined, Stage::kReady}}},
      {"upload the base",
       [](WorkerSession& s) { return s.AskedForBase(); },
       {{Stage::kReady, Stage::kReady}}},
      {"catch up",
       [](WorkerSession& s) { return s.AskedToCatchUp(); },
       {{Stage::kReady, Stage::kReady},
        {Stage::kInRound, Stage::kReady},
        {Stage::kBetweenRounds, Stage::kReady}}},
      {"start round",
       [](WorkerSession& s) { return s.RoundStarted(5); },
       {{Stage::kReady, Stage::kInRound}, {Stage::kBetweenRounds, Stage::kInRound}}},
      {"round reported",
       [](WorkerSession& s) { return s.RoundReported(4); },
       {{Stage::kInRound, Stage::kBetweenRounds}}},
      {"finish",
       [](WorkerSession& s) { return s.ToldToFinish(); },
       {{Stage::kReady, Stage::kFinishing}, {Stage::kBetweenRounds, Stage::kFinishing}}},
      {"done", [](WorkerSession& s) { return s.Done(); }, {{Stage::kFinishing, Stage::kDone}}},
  };
  for (const Row& row : table) {
    for (const Stage stage : kAllStages) {
      SCOPED_TRACE(row.event + " in stage " + std::to_string(static_cast<int>(stage)));
      WorkerSession session = SessionAt(stage);
      const auto allowed = std::find_if(row.allowed.begin(), row.allowed.end(),
                                        [&](const auto& pair) { return pair.first == stage; });
      const Status status = row.call(session);
      if (allowed != row.allowed.end()) {
        EXPECT_TRUE(status.ok()) << status.ToString();
        EXPECT_EQ(session.stage(), allowed->second);
      } else {
        EXPECT_EQ(status.code(), StatusCode::kFailedPrecondition);
        EXPECT_THAT(status.message(), HasSubstr("'" + row.event));
        EXPECT_EQ(session.stage(), stage);
      }
    }
  }
}

TEST(WorkerSession, RefusesANegativeId) {
  WorkerSession session;
  EXPECT_EQ(session.Welcomed(-1).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(session.stage(), Stage::kConnecting);
  EXPECT_EQ(session.worker(), -1);
}

TEST(WorkerSession, BeginsWithAnyRoundAndThenCountsByOne) {
  WorkerSession session = SessionAt(Stage::kReady);
  ASSERT_TRUE(session.RoundStarted(17).ok());
  ASSERT_TRUE(session.RoundReported(17).ok());
  for (const uint32_t wrong : {16u, 17u, 19u, 0u}) {
    EXPECT_EQ(session.RoundStarted(wrong).code(), StatusCode::kFailedPrecondition) << wrong;
    EXPECT_EQ(session.stage(), Stage::kBetweenRounds);
  }
  EXPECT_TRUE(session.RoundStarted(18).ok());
  EXPECT_EQ(session.round(), 18u);
}

TEST(WorkerSession, RefusesARoundBeforeTheFirst) {
  WorkerSession session = SessionAt(Stage::kReady);
  EXPECT_THAT(session.RoundStarted(0).message(), HasSubstr("rounds count from 1"));
  EXPECT_EQ(session.stage(), Stage::kReady);
  EXPECT_TRUE(session.RoundStarted(kFirstRound).ok());
}

TEST(WorkerSession, RefusesTheReportOfAnotherRound) {
  WorkerSession session = SessionAt(Stage::kInRound);
  const Status status = session.RoundReported(5);
  EXPECT_EQ(status.code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(status.message(), HasSubstr("round 5 while in round 4"));
  EXPECT_EQ(session.stage(), Stage::kInRound);
}

}  // namespace
}  // namespace interlude
