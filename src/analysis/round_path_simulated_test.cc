// The critical path of simulated rounds: exact sums always, and on clean rounds the right culprit
// with the right figure.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <random>

#include "analysis/round_path.h"
#include "analysis/round_simulation.h"
#include "analysis/round_simulation_plans.h"

namespace interlude {
namespace {

RoundPath PathOf(const SimulatedRound& simulated, bool barrier) {
  const RoundPath path = FindRoundPath(simulated.Records(barrier));
  EXPECT_EQ(SumOf(path), simulated.round.end_ns - simulated.round.begin_ns);
  return path;
}

/// Three rounds on: whatever the first begins with is behind.
SimulationState Settled(const SimulationPlan& plan) {
  SimulationState state = FirstState(plan);
  for (uint32_t round = 1; round <= 3; ++round) state = SimulateRound(plan, round, state).next;
  return state;
}

TEST(RoundPathOfSimulatedRounds, OnCleanRoundsTheSumIsExactAndNearlyAllIsExplained) {
  for (uint64_t seed = 0; seed < 150; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Random random(seed);
    const SimulationPlan plan = RandomPlan(seed, random);
    SimulationState state = FirstState(plan);
    for (uint32_t round = 1; round <= 4; ++round) {
      const SimulatedRound simulated = SimulateRound(plan, round, state);
      const RoundPath path = PathOf(simulated, plan.barrier);
      EXPECT_LE(path.unexplained_ns * 1000, path.end_ns - path.begin_ns) << "round " << round;
      // They take 5 µs in this world, and stamps are in whole ones: nothing else hides in them.
      for (const PathPiece& piece : path.pieces) {
        if (piece.what != ActivityKind::kHandOver) continue;
        EXPECT_LE(piece.end_ns - piece.begin_ns, 12 * kMicro) << ActivityName(piece.next);
      }
      EXPECT_THAT(path.notes, testing::IsEmpty());
      for (const WorkerPath& worker : path.workers) {
        EXPECT_GE(worker.slack_ns, 0);
        EXPECT_GE(worker.drag_ns, 0);
      }
      state = simulated.next;
    }
  }
}

struct Injection {
  const char* name;
  ActivityKind what;
  double SimulatedWorker::*factor;
  /// Of what the worker would save. A link that was never full does not show how much it carries.
  double tolerance;
};
constexpr Injection kInjections[] = {
    {"train", ActivityKind::kTrain, &SimulatedWorker::train, 0.05},
    {"encode", ActivityKind::kEncode, &SimulatedWorker::encode, 0.05},
    {"upload", ActivityKind::kUpload, &SimulatedWorker::upload, 0.05},
    {"link", ActivityKind::kLinkUp, &SimulatedWorker::link, 0.15},
    {"apply", ActivityKind::kApply, &SimulatedWorker::apply, 0.05},
};

/// One worker is slow in one thing in the round that is looked at.
void CheckInjection(const Injection& injection, uint64_t seed) {
  SCOPED_TRACE(testing::Message() << injection.name << ", seed " << seed);
  Random random(seed);
  const SimulationPlan clean = RandomPlan(seed, random);
  SimulationPlan slow = clean;
  const auto culprit = static_cast<size_t>(seed % clean.workers.size());
  slow.workers[culprit].*injection.factor = static_cast<double>(Draw(random, 3, 10));
  const SimulationState state = Settled(clean);
  const SimulatedRound simulated = SimulateRound(slow, 4, state);
  const int64_t saved = simulated.round.end_ns - SimulateRound(clean, 4, state).round.end_ns;
  const RoundPath path = PathOf(simulated, slow.barrier);
  const auto most = std::max_element(
      path.workers.begin(), path.workers.end(),
      [](const WorkerPath& a, const WorkerPath& b) { return a.drag_ns < b.drag_ns; });
  const int64_t wall = path.end_ns - path.begin_ns;
  if (saved * 50 < wall) return;  // it holds nobody up
  EXPECT_EQ(most->worker, static_cast<int32_t>(culprit)) << "barrier " << clean.barrier;
  EXPECT_EQ(most->slack_ns, 0);
  EXPECT_NEAR(static_cast<double>(most->drag_ns), static_cast<double>(saved),
              injection.tolerance * static_cast<double>(saved))
      << "wall " << wall << " barrier " << clean.barrier;
  const PathSums sums = SumPieces(path.pieces);
  EXPECT_TRUE(sums.contains({injection.what, static_cast<int32_t>(culprit)}));
}

TEST(RoundPathOfSimulatedRounds, TheSlowWorkerHasTheLargestDragAndItIsWhatItWouldSave) {
  for (const Injection& injection : kInjections) {
    for (uint64_t seed = 0; seed < 60; ++seed) CheckInjection(injection, seed);
  }
}

}  // namespace
}  // namespace interlude
