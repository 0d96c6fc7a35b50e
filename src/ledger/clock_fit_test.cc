#include "ledger/clock_fit.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "ledger/clock_test_world.h"

namespace interlude {
namespace {

constexpr int64_t kMs = 1'000'000;

ClockProbe Probe(int64_t sent, int64_t received, int64_t replied, int64_t returned) {
  return {.worker = 3,
          .sent_ns = sent,
          .received_ns = received,
          .replied_ns = replied,
          .returned_ns = returned};
}

TEST(ClockFit, WithoutAProbeNothingIsKnown) {
  const ClockEstimate none = EstimateMinimum({}, 5);
  EXPECT_EQ(none, FitEnvelope({}));
  EXPECT_EQ(none.method, ClockMethod::kNone);
  EXPECT_EQ(none.probes, 0u);
}

// The example of docs/report.md: 40 ms on each way, and 30 ms more of the upload's queue.
TEST(ClockFit, TheExampleByHandComesOutAsItIsWritten) {
  const ClockProbe quick = Probe(1'000 * kMs, 6'040 * kMs, 6'040 * kMs, 1'080 * kMs);
  const ClockProbe queued = Probe(2'000 * kMs, 7'070 * kMs, 7'070 * kMs, 2'110 * kMs);
  EXPECT_EQ(quick.round_trip_ns(), 80 * kMs);
  EXPECT_EQ(queued.round_trip_ns(), 110 * kMs);

  const ClockEstimate live = EstimateMinimum(std::vector{quick, queued}, 2'110 * kMs);
  EXPECT_EQ(live.method, ClockMethod::kMinimum);
  EXPECT_EQ(live.worker, 3);
  EXPECT_NEAR(static_cast<double>(live.offset_ns), 5'000.050e6, 500);
  EXPECT_NEAR(static_cast<double>(live.error_ns), 40.061e6, 500);

  const ClockEstimate fit = FitEnvelope(std::vector{quick, queued});
  EXPECT_EQ(fit.method, ClockMethod::kEnvelope);
  EXPECT_EQ(fit.offset_ns, 5'000 * kMs);
  EXPECT_EQ(fit.drift, 0);
  EXPECT_NEAR(static_cast<double>(fit.error_ns), 40.1055e6, 3);
  EXPECT_EQ(fit.probes, 2u);
}

TEST(ClockFit, OneProbeGivesTheMiddleWithHalfItsRoundTripAsTheErrorAndNoDrift) {
  const std::vector probes = {Probe(100 * kMs, 40 * kMs, 41 * kMs, 121 * kMs)};
  for (const ClockEstimate& estimate : {FitEnvelope(probes), EstimateMinimum(probes, 110 * kMs)}) {
    EXPECT_EQ(estimate.probes, 1u);
    EXPECT_EQ(estimate.drift, 0);
    EXPECT_EQ(estimate.offset_ns, -70 * kMs);
    EXPECT_NEAR(static_cast<double>(estimate.error_ns), 10e6, 2e3);  // and 1 µs of drift
    EXPECT_EQ(estimate.ToCoordinator(110 * kMs), 40 * kMs);
  }
}

TEST(ClockFit, AnOlderProbesErrorGrowsByTheMostThatClocksDrift) {
  const std::vector probes = {Probe(0, 500, 500, 1'000)};
  const ClockEstimate fresh = EstimateMinimum(probes, 500);
  const ClockEstimate old = EstimateMinimum(probes, 500 + 60'000 * kMs);
  EXPECT_EQ(old.offset_ns, fresh.offset_ns);
  EXPECT_EQ(old.error_ns - fresh.error_ns, 6 * kMs);
}

TEST(ClockFit, AProbeThatWaitedForACpuCountsOnlyWhereThereIsNoOther) {
  ClockProbe waited = Probe(0, 300, 300, 400);
  waited.run_delay_ns = kMostRunDelayNs + 1;
  const ClockProbe quick = Probe(1'000, 1'700, 1'700, 2'000);
  EXPECT_EQ(EstimateMinimum(std::vector{waited, quick}, 2'000),
            EstimateMinimum(std::vector{quick}, 2'000));
  const ClockEstimate fit = FitEnvelope(std::vector{waited, quick});
  EXPECT_EQ(fit.probes, 1u);
  EXPECT_EQ(fit.offset_ns, FitEnvelope(std::vector{quick}).offset_ns);
  EXPECT_EQ(FitEnvelope(std::vector{waited}).method, ClockMethod::kEnvelope);
}

TEST(ClockFit, ImpossibleProbesCountForNothingAndBreakNothing) {
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  constexpr int64_t kLeast = std::numeric_limits<int64_t>::min();
  std::vector<ClockProbe> probes;
  for (const int64_t a : {kLeast, int64_t{-1}, int64_t{0}, int64_t{1} << 60, kMost})
    for (const int64_t b : {kLeast, int64_t{-1}, int64_t{7}, kMost})
      for (const int64_t c : {kLeast, int64_t{3}, kMost}) {
        probes.push_back(Probe(a, b, c, b));
        probes.push_back(Probe(b, c, a, a));
      }
  EXPECT_EQ(FitEnvelope(std::vector{Probe(10, 5, 4, 20)}).method, ClockMethod::kNone);
  EXPECT_EQ(FitEnvelope(std::vector{Probe(10, 5, 40, 20)}).method, ClockMethod::kNone);
  for (const int64_t at : {kLeast, int64_t{0}, kMost}) {
    const ClockEstimate live = EstimateMinimum(probes, at);
    for (const int64_t time : {kLeast, int64_t{0}, kMost}) {
      FitEnvelope(probes).ToCoordinator(time);
      live.ToCoordinator(time);
    }
  }
}

TEST(ClockFit, ThinnedOutTheQuickerOfEachTwoStaysAndNoneThatIsImpossible) {
  std::vector<ClockProbe> probes = {Probe(-1, 0, 0, 0)};
  for (int64_t i = 0; i < 9; ++i) probes.push_back(Probe(i * 100, 0, 0, i * 100 + 1 + i % 2));
  KeepQuickest(probes, 9);
  EXPECT_EQ(probes.size(), 9u);
  KeepQuickest(probes, 5);
  ASSERT_EQ(probes.size(), 5u);
  for (size_t i = 0; i < probes.size(); ++i)
    EXPECT_EQ(probes[i].sent_ns, static_cast<int64_t>(i) * 200);
  KeepQuickest(probes, 0);
  EXPECT_EQ(probes.size(), 1u);
}

TEST(ClockFit, ToCoordinatorNeverOverflowsAndKeepsTheOrder) {
  const ClockEstimate estimate{
      .at_ns = -5, .offset_ns = std::numeric_limits<int64_t>::max(), .drift = 1e-4};
  EXPECT_EQ(estimate.ToCoordinator(1'000), std::numeric_limits<int64_t>::max());
  EXPECT_EQ(ClockEstimate{.offset_ns = std::numeric_limits<int64_t>::min()}.ToCoordinator(-1),
            std::numeric_limits<int64_t>::min());
  const ClockEstimate slow{.at_ns = 100, .offset_ns = 7, .drift = -1e-4};
  for (int64_t time = 0; time < 100'000; ++time)
    ASSERT_LE(slow.ToCoordinator(time), slow.ToCoordinator(time + 1));
  EXPECT_EQ(slow.ToCoordinator(1'000'100), 1'000'007);
}

TEST(ClockFit, AJumpOfTheCoordinatorsClockBeginsAnotherEpochAndARestartWithoutOneDoesNot) {
  const TrueClock before{.offset_ns = 3'600'000 * kMs, .drift = 2e-5};
  const TrueClock after{.offset_ns = 42 * kMs, .drift = -3e-5};
  std::vector<ClockProbe> probes;
  for (int64_t i = 0; i < 50; ++i) probes.push_back(MakeProbe(before, i * 1'000 * kMs, 4e7, 4e7));
  // Nobody answered for a while; the process that then did reads the same machine's clock.
  for (int64_t i = 80; i < 100; ++i) probes.push_back(MakeProbe(before, i * 1'000 * kMs, 4e7, 4e7));
  const ClockEstimate first = FitEnvelope(probes);
  EXPECT_EQ(first.probes, 70u);
  for (int64_t i = 100; i < 130; ++i) probes.push_back(MakeProbe(after, i * 1'000 * kMs, 4e7, 4e7));

  const ClockEstimate second = FitEnvelope(probes);
  EXPECT_EQ(second.probes, 30u);
  EXPECT_LT(ErrorOf(first, before, 60'000 * kMs), 1e5);
  EXPECT_LT(ErrorOf(second, after, 110'000 * kMs), 1e5);
  EXPECT_LT(ErrorOf(EstimateMinimum(probes, 60'000 * kMs), before, 60'000 * kMs), 1e6);
  EXPECT_LT(ErrorOf(EstimateMinimum(probes, 129'000 * kMs), after, 129'000 * kMs), 1e6);
}

TEST(ClockFit, TheOrderOfProbesWithinAnEpochDoesNotMatter) {
  const TrueClock clock{.offset_ns = 77, .drift = 5e-5};
  Rng rng(9);
  std::vector<ClockProbe> probes;
  for (int64_t i = 0; i < 60; ++i)
    probes.push_back(MakeProbe(clock, i * 1'000 * kMs, 1e7 + Exponential(rng, 1e7), 1e7));
  const ClockEstimate in_order = FitEnvelope(probes);
  std::ranges::reverse(probes.begin() + 1, probes.end());  // the first is what others are told from
  const ClockEstimate other = FitEnvelope(probes);
  EXPECT_EQ(other, in_order);
}

/// One made-up run: clocks, path, moments.
struct World {
  explicit World(uint64_t seed);
  void AddProbe(Rng& rng, int64_t at_ns);

  std::vector<TrueClock> clocks;  // one after the other
  std::vector<ClockProbe> probes;
  std::vector<size_t> clock_of;  // each probe's
  double base_up, base_down, jitter, queue, busy_share;
};

World::World(uint64_t seed) {
  Rng rng(seed);
  const double distance = std::pow(10.0, 3 + 5 * Uniform(rng));  // 1 µs to 100 ms
  base_up = distance * Uniform(rng);
  base_down = distance * Uniform(rng);
  jitter = distance * std::pow(Uniform(rng), 3);
  queue = 5e8 * std::pow(Uniform(rng), 3);
  busy_share = Uniform(rng);
  const size_t epochs = 1 + rng.Below(3);
  int64_t at_ns = static_cast<int64_t>(rng.Below(1u << 30));
  for (size_t epoch = 0; epoch < epochs; ++epoch) {
    // That between two machines' clocks is one of hours, either way.
    const int64_t hours = epoch % 2 == 0 ? 500 + static_cast<int64_t>(epoch) : 3;
    clocks.push_back(
        {.offset_ns = hours * 3'600'000 * kMs, .drift = (2 * Uniform(rng) - 1) * kMostClockDrift});
    const size_t count = 1 + rng.Below(Uniform(rng) < 0.5 ? 8 : 300);
    for (size_t i = 0; i < count; ++i) {
      AddProbe(rng, at_ns);
      at_ns = probes.back().returned_ns + static_cast<int64_t>(1e9 * Exponential(rng, 1.0));
    }
  }
}

void World::AddProbe(Rng& rng, int64_t at_ns) {
  const auto delay = [&](double base) {
    const double queued = Uniform(rng) < busy_share ? queue * Uniform(rng) : 0;
    return base + Exponential(rng, jitter) + queued;
  };
  probes.push_back(MakeProbe(clocks.back(), at_ns, delay(base_up), delay(base_down)));
  if (Uniform(rng) < 0.2) probes.back().run_delay_ns = 2 * kMostRunDelayNs;
  clock_of.push_back(clocks.size() - 1);
}

/// The final estimate of each clock, as if the run had ended with it.
std::vector<ClockEstimate> FitsOf(const World& world) {
  std::vector<ClockEstimate> fits;
  for (size_t i = 0; i < world.probes.size(); ++i) {
    const bool last = i + 1 == world.probes.size() || world.clock_of[i + 1] != world.clock_of[i];
    if (last) fits.push_back(FitEnvelope(std::span(world.probes).first(i + 1)));
  }
  return fits;
}

// Whatever the path does, and however uneven its two ways are.
TEST(ClockFitProperty, TheErrorNeverExceedsItsBound) {
  for (uint64_t seed = 0; seed < 1'500; ++seed) {
    const World world(seed);
    const std::vector<ClockEstimate> fits = FitsOf(world);
    for (size_t i = 0; i < world.probes.size(); ++i) {
      const TrueClock& clock = world.clocks[world.clock_of[i]];
      const ClockProbe& probe = world.probes[i];
      const ClockEstimate& fit = fits[world.clock_of[i]];
      const int64_t middle = (probe.sent_ns + probe.returned_ns) / 2;
      ASSERT_LE(ErrorOf(fit, clock, middle), static_cast<double>(fit.error_ns))
          << "seed " << seed << " probe " << i;
      if (i % 10 != 0 && i > 10) continue;
      const std::span<const ClockProbe> so_far = std::span(world.probes).first(i + 1);
      const ClockEstimate live = EstimateMinimum(so_far, probe.returned_ns);
      ASSERT_LE(ErrorOf(live, clock, probe.returned_ns), static_cast<double>(live.error_ns))
          << "seed " << seed << " probe " << i;
    }
  }
}

// Between its first and last probe, the bound holds where the drift itself changes, as it does
// with a machine's temperature: the line is then only the best one.
TEST(ClockFitProperty, TheBoundHoldsAlsoWhereTheDriftChanges) {
  for (uint64_t seed = 0; seed < 300; ++seed) {
    Rng rng(seed);
    const double distance = std::pow(10.0, 4 + 4 * Uniform(rng));
    std::vector<std::pair<int64_t, TrueClock>> pieces = {{0, {.offset_ns = 1'000'000 * kMs}}};
    std::vector<ClockProbe> probes;
    for (int64_t i = 0; i < 400; ++i) {
      const int64_t at = i * 1'000 * kMs;
      if (rng.Below(50) == 0) {
        const double drift = (2 * Uniform(rng) - 1) * kMostClockDrift;
        const auto here = static_cast<long double>(at);
        const long double offset = pieces.back().second.OffsetAt(here) - drift * here;
        pieces.push_back({at, {.offset_ns = std::llround(offset), .drift = drift}});
      }
      probes.push_back(MakeProbe(pieces.back().second, at, distance * Uniform(rng), distance));
    }
    const ClockEstimate fit = FitEnvelope(probes);
    ASSERT_EQ(fit.probes, probes.size()) << "no jump, " << seed;
    size_t piece = 0;
    for (int64_t at = probes[0].returned_ns; at < probes.back().sent_ns; at += 333 * kMs) {
      while (piece + 1 < pieces.size() && pieces[piece + 1].first <= at) ++piece;
      // 64 ns: offsets of the pieces are rounded where they meet.
      ASSERT_LE(ErrorOf(fit, pieces[piece].second, at), static_cast<double>(fit.error_ns) + 64)
          << "seed " << seed << " at " << at;
    }
  }
}

TEST(ClockFit, AHundredThousandProbesAreNoTrouble) {
  const TrueClock clock{.offset_ns = -5, .drift = 3e-5};
  Rng rng(1);
  std::vector<ClockProbe> probes;
  for (int64_t i = 0; i < 100'000; ++i)
    probes.push_back(MakeProbe(clock, i * 1'000 * kMs, 1e6 + Exponential(rng, 1e6), 1e6));
  const ClockEstimate fit = FitEnvelope(probes);
  EXPECT_EQ(fit.probes, 100'000u);
  EXPECT_NEAR(fit.drift, 3e-5, 1e-9);
}

}  // namespace
}  // namespace interlude
