#include "analysis/activity_graph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>

namespace interlude {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

using Seed = std::mt19937_64;

int64_t Draw(Seed& random, int64_t least, int64_t most) {
  return std::uniform_int_distribution<int64_t>(least, most)(random);
}

Activity Make(int64_t begin_ns, int64_t end_ns, const std::vector<uint32_t>& after = {}) {
  Activity activity;
  activity.begin_ns = begin_ns;
  activity.end_ns = end_ns;
  activity.after.assign(after.begin(), after.end());
  return activity;
}

/// A graph as plans make it: each begins `lag` after all that it is after. Kept apart from the
/// graph, so that the oracle reads no lag out of observed times.
struct Plan {
  std::vector<int64_t> duration, lag;
  std::vector<std::vector<uint32_t>> after;

  ActivityGraph Carry() const {
    ActivityGraph graph;
    for (size_t i = 0; i < duration.size(); ++i) {
      int64_t begin = 0;
      for (const uint32_t p : after[i]) begin = std::max(begin, graph[p].end_ns);
      begin += lag[i];
      graph.push_back(Make(begin, begin + duration[i], after[i]));
    }
    return graph;
  }
  int64_t End() const { return Carry().back().end_ns; }
};

Plan RandomPlan(Seed& random) {
  Plan plan;
  const auto count = static_cast<size_t>(Draw(random, 1, 11));
  for (size_t i = 0; i < count; ++i) {
    plan.duration.push_back(Draw(random, 0, 1000));
    plan.lag.push_back(Draw(random, 0, 2) == 0 ? Draw(random, 1, 50) : 0);
    std::vector<uint32_t> after;
    for (uint32_t p = 0; p < i; ++p) {
      if (Draw(random, 0, 2) == 0) after.push_back(p);
    }
    plan.after.push_back(after);
  }
  return plan;
}

/// Every way from an activity that is after nothing to `at`, as lists of places.
std::vector<std::vector<uint32_t>> AllWaysTo(const Plan& plan, uint32_t at) {
  if (plan.after[at].empty()) return {{at}};
  std::vector<std::vector<uint32_t>> ways;
  for (const uint32_t before : plan.after[at]) {
    for (std::vector<uint32_t>& way : AllWaysTo(plan, before)) {
      way.push_back(at);
      ways.push_back(std::move(way));
    }
  }
  return ways;
}

int64_t LengthOf(const Plan& plan, const std::vector<uint32_t>& way) {
  int64_t length = 0;
  for (const uint32_t place : way) length += plan.lag[place] + plan.duration[place];
  return length;
}

/// The pieces of a way that begins at 0: a gap for each lag, then the activity; none is empty.
std::vector<std::pair<uint32_t, int64_t>> PiecesOf(const Plan& plan,
                                                   const std::vector<uint32_t>& way) {
  std::vector<std::pair<uint32_t, int64_t>> pieces;
  for (const uint32_t place : way) {
    if (plan.lag[place] > 0) pieces.emplace_back(place, plan.lag[place]);
    if (plan.duration[place] > 0) pieces.emplace_back(place, plan.duration[place]);
  }
  return pieces;
}

TEST(ActivityGraph, TheWalkIsTheLongestOfAllWaysThroughTheGraph) {
  for (uint64_t seed = 0; seed < 600; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Seed random(seed);
    const Plan plan = RandomPlan(random);
    const auto last = static_cast<uint32_t>(plan.duration.size() - 1);
    const auto ways = AllWaysTo(plan, last);
    int64_t longest = 0;
    for (const auto& way : ways) longest = std::max(longest, LengthOf(plan, way));
    std::vector<std::vector<std::pair<uint32_t, int64_t>>> of_longest;
    for (const auto& way : ways) {
      if (LengthOf(plan, way) == longest) of_longest.push_back(PiecesOf(plan, way));
    }
    std::vector<std::pair<uint32_t, int64_t>> walked;
    for (const WalkPiece& piece : CriticalPath(plan.Carry(), last, 0, plan.End()))
      walked.emplace_back(piece.activity, piece.end_ns - piece.begin_ns);
    EXPECT_EQ(plan.End(), longest);
    EXPECT_THAT(of_longest, testing::Contains(walked));
  }
}

TEST(ActivityGraph, RecomputingEqualsCarryingThePlanOutAgain) {
  for (uint64_t seed = 0; seed < 600; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Seed random(seed);
    Plan plan = RandomPlan(random);
    const ActivityGraph graph = plan.Carry();
    const auto last = static_cast<uint32_t>(graph.size() - 1);
    EXPECT_EQ(GraphTimes(graph, last).Recompute(plan.duration), graph.back().end_ns);
    for (int64_t& duration : plan.duration) duration = Draw(random, 0, 1500);
    EXPECT_EQ(GraphTimes(graph, last).Recompute(plan.duration), plan.End());
  }
}

TEST(ActivityGraph, SlackIsTheDelayThatChangesNothingAndOneMoreDoes) {
  for (uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Seed random(seed);
    const Plan plan = RandomPlan(random);
    const ActivityGraph graph = plan.Carry();
    const std::vector<int64_t> slack =
        GraphTimes(graph, static_cast<uint32_t>(graph.size() - 1)).Slack();
    for (size_t i = 0; i < graph.size(); ++i) {
      Plan delayed = plan;
      if (slack[i] == kUnlimitedSlack) {
        delayed.lag[i] += 1'000'000;
        EXPECT_EQ(delayed.End(), plan.End()) << "activity " << i;
        continue;
      }
      delayed.lag[i] = plan.lag[i] + slack[i];
      EXPECT_EQ(delayed.End(), plan.End()) << "activity " << i;
      delayed.lag[i] = plan.lag[i] + slack[i] + 1;
      EXPECT_EQ(delayed.End(), plan.End() + 1) << "activity " << i;
    }
  }
}

/// Times that no plan gives: overlaps, activities outside the window, huge values.
ActivityGraph NonsenseGraph(Seed& random) {
  ActivityGraph graph;
  const auto count = static_cast<uint32_t>(Draw(random, 1, 30));
  for (uint32_t i = 0; i < count; ++i) {
    const int64_t reach = Draw(random, 0, 4) == 0 ? int64_t{1} << 60 : 2000;
    const int64_t begin = Draw(random, -reach, reach);
    Activity activity = Make(begin, Draw(random, begin, reach));
    for (uint32_t p = 0; p < i; ++p) {
      if (Draw(random, 0, 3) == 0) activity.after.push_back(p);
    }
    graph.push_back(std::move(activity));
  }
  return graph;
}

TEST(ActivityGraph, ThePiecesSumExactlyAlsoOfNonsense) {
  for (uint64_t seed = 0; seed < 1000; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Seed random(seed);
    const ActivityGraph graph = NonsenseGraph(random);
    const auto last = static_cast<uint32_t>(graph.size() - 1);
    int64_t at = -700;
    for (const WalkPiece& piece : CriticalPath(graph, last, -700, 900)) {
      EXPECT_EQ(piece.begin_ns, at);
      EXPECT_LT(piece.begin_ns, piece.end_ns);
      at = piece.end_ns;
    }
    EXPECT_EQ(at, 900);
    std::vector<int64_t> durations;
    for (const Activity& activity : graph) durations.push_back(activity.end_ns - activity.begin_ns);
    EXPECT_EQ(GraphTimes(graph, last).Recompute(durations), graph.back().end_ns);
    for (const int64_t slack : GraphTimes(graph, last).Slack()) EXPECT_GE(slack, 0);
  }
}

/// As the definition has it: from the first activity on, nothing taken as it was.
int64_t RecomputeAll(const ActivityGraph& graph, const std::vector<int64_t>& durations) {
  std::vector<__int128> ends;
  for (size_t i = 0; i < graph.size(); ++i) {
    __int128 was = std::numeric_limits<int64_t>::min(), ready = was;
    for (const uint32_t before : graph[i].after) {
      was = std::max<__int128>(was, graph[before].end_ns);
      ready = std::max(ready, ends[before]);
    }
    const __int128 shift = graph[i].after.empty() ? 0 : ready - was;
    ends.push_back(graph[i].begin_ns + shift + durations[i]);
  }
  return static_cast<int64_t>(ends.back());
}

TEST(ActivityGraph, RecomputingFromTheFirstChangeIsRecomputingAll) {
  for (uint64_t seed = 0; seed < 1000; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Seed random(seed);
    const ActivityGraph graph = NonsenseGraph(random);
    const auto last = static_cast<uint32_t>(graph.size() - 1);
    const int64_t first = Draw(random, 0, last);
    std::vector<int64_t> durations;
    for (const Activity& activity : graph) {
      const int64_t own = activity.end_ns - activity.begin_ns;
      const bool changed = static_cast<int64_t>(durations.size()) >= first;
      durations.push_back(changed && Draw(random, 0, 1) == 0 ? own / 2 : own);
    }
    EXPECT_EQ(GraphTimes(graph, last).Recompute(durations), RecomputeAll(graph, durations));
  }
}

TEST(ActivityGraph, WhatWasDoneAfterTheNextHadBegunIsCutOff) {
  // 0 ends at 80, but 1 began at 50: a stream, or two clocks.
  const ActivityGraph graph = {Make(0, 80), Make(50, 100, {0})};
  const auto pieces = CriticalPath(graph, 1, 0, 100);
  ASSERT_EQ(pieces.size(), 2u);
  EXPECT_EQ(pieces[0].activity, 0u);
  EXPECT_EQ(pieces[0].end_ns, 50);
  EXPECT_EQ(pieces[1].activity, 1u);
  EXPECT_THAT(GraphTimes(graph, 1).Slack(), ElementsAre(0, 0));
}

TEST(ActivityGraph, EachBoundaryKnowsWhoseClockToldIt) {
  ActivityGraph graph = {Make(10, 40), Make(60, 100, {0})};
  graph[0].begin_clock = graph[0].end_clock = 3;
  const auto pieces = CriticalPath(graph, 1, 20, 110);
  ASSERT_EQ(pieces.size(), 4u);
  EXPECT_EQ(pieces[0].begin_clock, kNoWorker) << "cut where the round begins";
  EXPECT_EQ(pieces[0].end_clock, 3);
  EXPECT_TRUE(pieces[1].gap);
  EXPECT_EQ(pieces[1].begin_clock, 3);
  EXPECT_EQ(pieces[1].end_clock, kNoWorker);
  EXPECT_TRUE(pieces[3].gap) << "behind the last";
}

TEST(ActivityGraph, NoTimeHasNoPieces) {
  EXPECT_THAT(CriticalPath({Make(0, 80)}, 0, 100, 100), IsEmpty());
}

}  // namespace
}  // namespace interlude
