// Whole runs in virtual time: calm ones, one leaver at each moment, and chaos, all held against the
// model.
#include <gtest/gtest.h>

#include "protocol/run_machine_test_cluster.h"

namespace interlude {
namespace {

TEST(RunMachineRandom, ACalmRunOfAnySizeAndModeEndsWell) {
  for (const uint32_t workers : {1u, 2u, 3u, 8u}) {
    for (const bool barrier : {false, true}) {
      for (const bool overtaking : {false, true}) {
        for (uint64_t seed = 0; seed < 10; ++seed) {
          SCOPED_TRACE(testing::Message() << workers << " workers, barrier " << barrier
                                          << ", overtaking " << overtaking << ", seed " << seed);
          Cluster cluster(
              {.plan = {.workers = workers, .rounds = 4, .evaluate_every = 2, .barrier = barrier},
               .chunks = 5,
               .overtaking = overtaking},
              seed);
          ASSERT_TRUE(cluster.Drain(10000));
          EXPECT_TRUE(cluster.model().end()->ok());
          EXPECT_EQ(cluster.machine().committed_rounds(), 4u);
          EXPECT_EQ(cluster.counts().refused, 0);
          EXPECT_EQ(cluster.counts().merged_without_all, 0);
          if (testing::Test::HasFailure()) return;
        }
      }
    }
  }
}

/// Takes `steps` calm steps, lets worker 0 leave, and goes on to the end. False when the run ended
/// before.
bool RunWithALeaver(const RunPlan& plan, int steps) {
  Cluster cluster({.plan = plan, .chunks = 3, .overtaking = true}, 5);
  for (int i = 0; i < steps; ++i) cluster.CalmStep();
  if (cluster.model().end()) return false;
  cluster.Leave(0);
  // One that comes in its place takes the run to its end.
  EXPECT_TRUE(cluster.Drain(10000)) << "the run hangs";
  EXPECT_TRUE(cluster.model().end()->ok()) << cluster.model().end()->ToString();
  return true;
}

TEST(RunMachineRandom, AWorkerMayLeaveAtEachMomentAndTheOthersGoOn) {
  for (const uint32_t workers : {1u, 2u, 3u}) {
    for (const bool barrier : {false, true}) {
      const RunPlan plan{.workers = workers, .rounds = 3, .evaluate_every = 1, .barrier = barrier};
      int moments = 0;
      while (RunWithALeaver(plan, moments)) {
        ++moments;
        ASSERT_FALSE(testing::Test::HasFailure())
            << workers << " workers, barrier " << barrier << ", after " << moments - 1 << " steps";
      }
      EXPECT_GT(moments, 20 * static_cast<int>(workers));
    }
  }
}

struct Tally {
  Cluster::Counts counts;

  void Add(const Cluster& cluster) {
    for (int Cluster::Counts::*count :
         {&Cluster::Counts::refused, &Cluster::Counts::duplicates, &Cluster::Counts::left,
          &Cluster::Counts::wrong_roots, &Cluster::Counts::late_joins, &Cluster::Counts::dropped,
          &Cluster::Counts::overtaken, &Cluster::Counts::asked_again,
          &Cluster::Counts::rounds_passed, &Cluster::Counts::merged_without_all,
          &Cluster::Counts::merged_of_none, &Cluster::Counts::lost, &Cluster::Counts::returned,
          &Cluster::Counts::late, &Cluster::Counts::waited, &Cluster::Counts::crashed,
          &Cluster::Counts::replaced}) {
      counts.*count += cluster.counts().*count;
    }
  }
};

Cluster::Options RandomOptions(Rng& rng) {
  Cluster::Options options;
  options.plan.workers = static_cast<uint32_t>(1 + rng.Below(8));
  options.plan.rounds = static_cast<uint32_t>(1 + rng.Below(8));
  options.plan.evaluate_every = static_cast<uint32_t>(rng.Below(3));
  options.plan.barrier = rng.Below(2) == 0;
  options.plan.quorum = static_cast<double>(rng.Below(5)) / 4;
  options.plan.patience = static_cast<double>(rng.Below(4));
  options.chunks = static_cast<uint32_t>(1 + rng.Below(6));
  options.overtaking = rng.Below(2) == 0;
  options.crashes = rng.Below(2) == 0;
  return options;
}

/// Many runs with random options; `honest` as in Cluster::Options.
void RunChaos(bool honest, Tally& tally) {
  for (uint64_t seed = 0; seed < 1500; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Rng rng(Mix64(seed));
    Cluster::Options options = RandomOptions(rng);
    options.honest = honest;
    Cluster cluster(options, seed);
    const uint64_t chaotic_steps = rng.Below(600);
    for (uint64_t i = 0; i < chaotic_steps; ++i) cluster.ChaoticStep();
    EXPECT_TRUE(cluster.Drain(20000)) << "the run hangs: " << cluster.Text();
    EXPECT_TRUE(cluster.model().end()->ok());
    ASSERT_FALSE(testing::Test::HasFailure());
    tally.Add(cluster);
  }
}

TEST(RunMachineRandom, ChaosBreaksNoInvariantAndNeverHangsARun) {
  Tally tally;
  ASSERT_NO_FATAL_FAILURE(RunChaos(false, tally));
  // The chaos was not a tame one.
  EXPECT_GT(tally.counts.refused, 10000);
  EXPECT_GT(tally.counts.duplicates, 500);
  EXPECT_GT(tally.counts.left, 500);
  EXPECT_GT(tally.counts.wrong_roots, 50);
  EXPECT_GT(tally.counts.late_joins, 500);
  EXPECT_GT(tally.counts.dropped, 500);
  EXPECT_GT(tally.counts.overtaken, 100);
  EXPECT_GT(tally.counts.asked_again, 20);
  EXPECT_GT(tally.counts.rounds_passed, 200);
  EXPECT_GT(tally.counts.merged_without_all, 1000);
  EXPECT_GT(tally.counts.merged_of_none, 200);
  EXPECT_GT(tally.counts.lost, 1000);
  EXPECT_GT(tally.counts.returned, 1000);
  EXPECT_GT(tally.counts.late, 500);
  EXPECT_GT(tally.counts.waited, 100);
  EXPECT_GT(tally.counts.crashed, 200);
  EXPECT_GT(tally.counts.replaced, 100);
}

TEST(RunMachineRandom, AWorkerThatDoesAsItIsToldIsNeverRefusedButForBeingTooLate) {
  Tally tally;
  ASSERT_NO_FATAL_FAILURE(RunChaos(true, tally));
  EXPECT_GT(tally.counts.refused, 0);  // too late
  EXPECT_GT(tally.counts.late, 500);
  EXPECT_GT(tally.counts.crashed, 200);
}

}  // namespace
}  // namespace interlude
