// The paths of a whole run, through a database.
#include "analysis/run_paths.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/analyze_run.h"
#include "analysis/path_summary.h"
#include "analysis/round_simulation.h"
#include "analysis/round_simulation_plans.h"

namespace interlude {
namespace {

ClockEstimate Clock(int32_t worker, int64_t offset_ns, int64_t error_ns) {
  return {.worker = worker,
          .method = ClockMethod::kMinimum,
          .offset_ns = offset_ns,
          .error_ns = error_ns,
          .probes = 9};
}

constexpr RoundRecord kRound{.round = 7, .begin_ns = 1'000'000'000, .end_ns = 2'000'000'000};

TEST(ClocksFor, TheFinalEstimateCountsWhereTheOneOfTheRoundAgrees) {
  const auto clocks =
      ClocksFor(kRound, {{7, Clock(0, 1000, 300)}, {std::nullopt, Clock(0, 900, 1)}});
  ASSERT_EQ(clocks.size(), 1u);
  EXPECT_EQ(clocks[0].offset_ns, 900);
}

TEST(ClocksFor, TheOneOfTheRoundCountsWhereTheFinalOneCannotBeRight) {
  // The worker was started again on another machine: the final estimate is that machine's.
  const auto clocks =
      ClocksFor(kRound, {{7, Clock(0, 1000, 300)}, {std::nullopt, Clock(0, 5'000'000, 1)}});
  ASSERT_EQ(clocks.size(), 1u);
  EXPECT_EQ(clocks[0].offset_ns, 1000);
}

TEST(ClocksFor, EitherDoesWhereItIsTheOnlyOne) {
  const auto clocks =
      ClocksFor(kRound, {{7, Clock(0, 1, 1)}, {6, Clock(2, 3, 1)}, {std::nullopt, Clock(1, 2, 1)}});
  ASSERT_EQ(clocks.size(), 2u) << "that of another round is none";
}

TEST(RunPaths, OfARecordedRunAreThoseOfItsRounds) {
  Random random(5);
  SimulationPlan plan = RandomPlan(5, random);
  plan.workers[1].train = 2;
  auto database = *RunDatabase::Create(":memory:");
  ASSERT_TRUE(database->SetMeta(kMetaExchange, plan.barrier ? "barrier" : "pipelined").ok());
  ASSERT_TRUE(database->SetMeta(kMetaMergeThreads, std::to_string(plan.merge_threads)).ok());
  for (int32_t worker = 0; worker < static_cast<int32_t>(plan.workers.size()); ++worker) {
    ASSERT_TRUE(database
                    ->AddWorker({.worker = worker,
                                 .threads = plan.workers[static_cast<size_t>(worker)].threads})
                    .ok());
  }
  SimulationState state = FirstState(plan);
  std::vector<RoundPath> expected;
  int64_t wall_ns = 0;
  for (uint32_t round = 1; round <= 5; ++round) {
    const SimulatedRound simulated = SimulateRound(plan, round, state);
    ASSERT_TRUE(
        database
            ->AddRound(simulated.round, {}, {.spans = simulated.spans, .stamps = simulated.stamps})
            .ok());
    for (const ClockEstimate& clock : simulated.clocks)
      ASSERT_TRUE(database->AddClock(round, clock).ok());
    expected.push_back(FindRoundPath(simulated.Records(plan.barrier)));
    if (round > 1) wall_ns += simulated.round.end_ns - simulated.round.begin_ns;
    state = simulated.next;
  }
  const auto run = AnalyzeRun(*database);
  ASSERT_TRUE(run.ok()) << run.status().ToString();
  ASSERT_EQ(run->paths.size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(SumPieces(run->paths[i].pieces), SumPieces(expected[i].pieces)) << "round " << i + 1;
    EXPECT_EQ(run->paths[i].workers[1].drag_ns, expected[i].workers[1].drag_ns);
    EXPECT_GT(run->paths[i].workers[1].drag_ns, 0);
  }
  const auto beside = AnalyzeRun(*database, 3);
  ASSERT_TRUE(beside.ok()) << beside.status().ToString();
  for (size_t i = 0; i < expected.size(); ++i)
    EXPECT_EQ(SumPieces(beside->paths[i].pieces), SumPieces(expected[i].pieces)) << i + 1;
  EXPECT_EQ(beside->records.stamps, run->records.stamps);
  const PathSummary summary = SummarizePaths(run->paths);
  int64_t sum_ns = 0;
  for (const auto& [what, of_what] : summary.sums) sum_ns += of_what;
  EXPECT_EQ(summary.wall_ns, wall_ns);
  EXPECT_EQ(sum_ns, wall_ns);
  EXPECT_EQ(summary.rounds, 4u);
  EXPECT_EQ(summary.workers[1].rounds_on_path, 4u);
}

}  // namespace
}  // namespace interlude
