// Runs with faults in virtual time: nothing hangs, no honest worker is refused, the others go on,
// and a coordinator that was killed orders the merges that it would have ordered anyway.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "protocol/run_machine_test_world.h"

namespace interlude {
namespace {

constexpr double kForever = 1e5;
constexpr double kHour = 3600;

RunPlan Plan(uint32_t workers, uint32_t rounds, bool barrier = false) {
  return {.workers = workers, .rounds = rounds, .evaluate_every = 2, .barrier = barrier};
}

/// Every chunk of every round is merged from all workers.
void ExpectAllMergesFromAll(const World& world, uint32_t workers, uint32_t rounds,
                            uint32_t chunks) {
  const std::vector<MergeOrder> orders = world.Orders();
  EXPECT_EQ(orders.size(), rounds * chunks);
  for (const MergeOrder& order : orders) {
    EXPECT_EQ(order.contributors.size(), workers) << "round " << order.round;
  }
}

TEST(RunMachineFaults, WithoutFaultsAllIsMergedFromAllAndNobodyIsLate) {
  for (const bool barrier : {false, true}) {
    World world({.plan = Plan(3, 6, barrier)}, 1);
    ASSERT_TRUE(world.RunUntil(kHour));
    EXPECT_TRUE(world.end()->ok());
    EXPECT_EQ(world.counts().late, 0);
    EXPECT_EQ(world.counts().too_late, 0);
    ExpectAllMergesFromAll(world, 3, 6, 4);
  }
}

TEST(RunMachineFaults, AShortBreakAtAnyMomentChangesNoMerge) {
  for (const bool barrier : {false, true}) {
    for (double at = 2; at < 50; at += 0.7) {
      SCOPED_TRACE(at);
      World world({.plan = Plan(2, 3, barrier)}, 2);
      // Before round 1 a worker that loses its connection joins anew.
      world.At(at, [&] {
        if (world.machine().stage() == RunMachine::Stage::kRounds) world.BreakConnection(1, 1.5);
      });
      ASSERT_TRUE(world.RunUntil(kHour)) << "the run hangs";
      EXPECT_TRUE(world.end()->ok());
      EXPECT_EQ(world.counts().late, 0);
      ExpectAllMergesFromAll(world, 2, 3, 4);
    }
  }
}

TEST(RunMachineFaults, ACoordinatorKilledAtAnyMomentOrdersTheMergesOfTheRunWithoutTheCrash) {
  int crashes_in_rounds = 0;
  for (const bool barrier : {false, true}) {
    for (double at = 3; at < 50; at += 0.31) {
      SCOPED_TRACE(at);
      World world({.plan = Plan(2, 3, barrier)}, 3);
      world.At(at, [&] {
        if (world.machine().stage() == RunMachine::Stage::kRounds) ++crashes_in_rounds;
        world.KillCoordinator(2, 4);
      });
      ASSERT_TRUE(world.RunUntil(kHour)) << "the run hangs";
      EXPECT_TRUE(world.end()->ok());
      EXPECT_EQ(world.counts().late, 0);
      ExpectAllMergesFromAll(world, 2, 3, 4);
      ASSERT_FALSE(HasFailure());
    }
  }
  EXPECT_GT(crashes_in_rounds, 150);
}

/// Seconds that the run with one fault took longer than the one without.
double Delay(const World::Options& options, const std::function<void(World&)>& fault,
             double at = 25) {
  World calm(options, 4);
  EXPECT_TRUE(calm.RunUntil(kForever));
  World world(options, 4);
  world.At(at, [&] { fault(world); });
  EXPECT_TRUE(world.RunUntil(kForever)) << "the run hangs";
  EXPECT_TRUE(world.end() && world.end()->ok());
  return world.now_s() - calm.now_s();
}

TEST(RunMachineFaults, OneThatHangsForEverHoldsTheOthersUpOnce) {
  for (const bool barrier : {false, true}) {
    for (double at = 15; at < 45; at += 1.3) {
      SCOPED_TRACE(at);
      // Its second round alone may cost patience times its usual time.
      EXPECT_LT(
          Delay(
              {.plan = Plan(3, 8, barrier)}, [](World& world) { world.Hang(2, kForever); }, at),
          90);
    }
  }
}

TEST(RunMachineFaults, OneThatHangsAfterACrashOfTheCoordinatorHoldsTheOthersUpOnce) {
  for (const bool barrier : {false, true}) {
    for (double at = 15; at < 45; at += 1.3) {
      SCOPED_TRACE(at);
      EXPECT_LT(Delay(
                    {.plan = Plan(3, 8, barrier)},
                    [](World& world) {
                      world.KillCoordinator(2, 4);
                      world.At(world.now_s() + 7, [&] { world.Hang(2, kForever); });
                    },
                    at),
                640);  // a round restored has a patience of its own
    }
  }
}

TEST(RunMachineFaults, MostWorkersMayVanishForGoodAndTheLastGoesOn) {
  for (const bool barrier : {false, true}) {
    for (double at = 15; at < 45; at += 1.3) {
      SCOPED_TRACE(at);
      EXPECT_LT(Delay(
                    {.plan = Plan(4, 6, barrier)},
                    [](World& world) {
                      for (const size_t process : {0, 2, 3})
                        world.BreakConnection(process, kForever);
                    },
                    at),
                30);
    }
  }
}

TEST(RunMachineFaults, WhenAllAreGoneForGoodAnotherTakesTheRunOver) {
  for (const bool barrier : {false, true}) {
    for (double at = 15; at < 45; at += 1.3) {
      SCOPED_TRACE(at);
      World world({.plan = Plan(3, 4, barrier)}, 5);
      world.At(at, [&] {
        for (const size_t process : {0, 1, 2}) world.BreakConnection(process, kForever);
      });
      world.AddProcess(at + 60);
      ASSERT_TRUE(world.RunUntil(kHour)) << "the run hangs";
      EXPECT_TRUE(world.end()->ok()) << world.end()->ToString();
      EXPECT_EQ(world.committed(), 4u);
    }
  }
}

TEST(RunMachineFaults, ARunWithoutWorkersCommitsNothing) {
  World world({.plan = Plan(2, 50)}, 6);
  world.At(25, [&] {
    for (const size_t process : {0, 1}) world.BreakConnection(process, kForever);
  });
  EXPECT_FALSE(world.RunUntil(5 * kHour));
  EXPECT_LE(world.committed(), 2u);
  EXPECT_LT(world.counts().ticks, 20);
}

TEST(RunMachineFaults, OneThatIsSlowerForGoodIsLateAFewTimesAndThenAwaited) {
  World world({.plan = Plan(3, 40)}, 7);
  world.At(100, [&] { world.Slow(2, 8); });
  ASSERT_TRUE(world.RunUntil(20 * kHour));
  EXPECT_GE(world.counts().late, 1);
  EXPECT_LE(world.counts().late, 6) << testing::PrintToString(world.reasons());
}

TEST(RunMachineFaults, AHangInTheLastEvaluationDoesNotHoldUpTheEnd) {
  for (const bool barrier : {false, true}) {
    World world({.plan = Plan(2, 1, barrier), .train_s = 5}, 9);
    bool hung = false;
    for (double at = 5; at < 40; at += 0.1) {
      world.At(at, [&] {
        if (hung || world.machine().stage() != RunMachine::Stage::kFinishing) return;
        hung = true;
        world.Hang(1, kForever);
      });
    }
    EXPECT_TRUE(world.RunUntil(200)) << "the run hangs";
    EXPECT_TRUE(hung);
  }
}

/// One random fault of any kind.
void Fault(World& world, Rng& rng, bool crashes) {
  const size_t process = rng.Below(world.processes());
  const double some = static_cast<double>(rng.Uniform());
  if (!world.coordinator_up()) return;
  switch (rng.Below(crashes ? 7 : 6)) {
    case 0:
    case 1:
      return world.BreakConnection(process, some * 4);
    case 2:
      return world.BreakConnection(process, some * 60);
    case 3:
      return world.Kill(process, some * 30);
    case 4:
      return world.Hang(process, some * 200);
    case 5:
      return world.Slow(process, 1 + (rng.Below(2) == 0 ? 0 : some * 8));
    default:
      return world.KillCoordinator(some * 10, some * 30);
  }
}

TEST(RunMachineFaults, ARandomRunNeverHangsAndNeverRefusesAnHonestWorker) {
  World::Counts sum;
  for (uint64_t seed = 0; seed < 3000; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Rng rng(Mix64(seed));
    World::Options options;
    options.plan = Plan(static_cast<uint32_t>(1 + rng.Below(5)),
                        static_cast<uint32_t>(1 + rng.Below(8)), rng.Below(2) == 0);
    options.plan.quorum = rng.Below(3) == 0 ? 0.75 : 0.5;
    options.chunks = static_cast<uint32_t>(1 + rng.Below(5));
    options.train_s = 1 + static_cast<double>(rng.Below(30));
    options.uploads_outlive_sessions = rng.Below(2) == 0;
    World world(options, seed);
    const uint64_t faults = rng.Below(30);
    const bool crashes = rng.Below(2) == 0;
    double at = 3;
    for (uint64_t i = 0; i < faults; ++i) {
      at += static_cast<double>(rng.Uniform()) * options.train_s;
      world.At(at, [&] { Fault(world, rng, crashes); });
    }
    // When nothing else happens all are there again and well.
    ASSERT_TRUE(world.RunUntil(kForever))
        << "the run hangs in stage " << StageName(world.machine().stage()) << " after "
        << world.committed() << " rounds, at " << world.now_s() << " s";
    EXPECT_TRUE(world.end()->ok()) << world.end()->ToString();
    ASSERT_FALSE(HasFailure());
    sum.late += world.counts().late;
    sum.returned += world.counts().returned;
    sum.joined += world.counts().joined;
    sum.crashes += world.counts().crashes;
    sum.too_late += world.counts().too_late;
    sum.dropped += world.counts().dropped;
    sum.awaits += world.counts().awaits;
  }
  // The faults were not tame ones.
  EXPECT_GT(sum.late, 2000);
  EXPECT_GT(sum.returned, 4000);
  EXPECT_GT(sum.joined, 10000);
  EXPECT_GT(sum.crashes, 1000);
  EXPECT_GT(sum.too_late, 30);
  EXPECT_GT(sum.dropped, 3000);
  EXPECT_GT(sum.awaits, 400);
}

}  // namespace
}  // namespace interlude
