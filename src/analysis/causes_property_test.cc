// What holds of causes whatever the figures are.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <limits>
#include <random>

#include "analysis/cause_world.h"
#include "analysis/causes.h"

namespace interlude {
namespace {

using S = ProcessSample;

constexpr int32_t kVictim = 1;

TEST(CausesPropertyTest, NoMoreIsExplainedThanThereIsAndTheGradeFollowsTheRule) {
  std::mt19937_64 random(7);
  const auto some = [&](double most) { return std::uniform_real_distribution<>(0, most)(random); };
  int found = 0;
  for (int i = 0; i < 300; ++i) {
    CauseWorld world(3, 3);
    for (const Phase phase : {Phase::kTrain, Phase::kEncode, Phase::kUpload, Phase::kDownload}) {
      world.Set(kVictim, 2, phase, {some(1500), some(1500), some(1500)});
      for (const SampleField& field : kSampleFields) {
        if (field.value == &S::interval_ns) continue;
        if (some(1) < 0.5) world.AddFigure(kVictim, 2, phase, field.value, some(2e9));
      }
    }
    if (some(1) < 0.3) world.record(kVictim).quota_cores = 0.01 + some(4);
    if (some(1) < 0.3) world.record(kVictim).threads = static_cast<int32_t>(some(20));
    if (some(1) < 0.3) world.SetRoundTrip(kVictim, some(200));
    if (some(1) < 0.3) world.Forget(kSampleFields[1 + random() % 27].value);
    for (const auto& [round, worker, cause] : FindCauses(world.Tables())) {
      SCOPED_TRACE(fmt::format("world {}, round {}, worker {}", i, round, worker));
      ++found;
      int64_t sum = 0;
      for (const CauseShare& share : cause.shares) sum += share.all_ns();
      EXPECT_LE(sum, cause.excess_ns);
      EXPECT_LE(cause.explained_ns, cause.excess_ns);
      const double measured =
          static_cast<double>(cause.shares[static_cast<size_t>(cause.kind)].measured_ns);
      EXPECT_EQ(cause.grade == Grade::kObserved,
                cause.kind != CauseKind::kUnknown &&
                    measured >= kObservedShare * static_cast<double>(cause.excess_ns));
    }
  }
  EXPECT_GT(found, 200);
}

TEST(CausesPropertyTest, AnyValuesThatADatabaseMayHoldAreSurvived) {
  std::mt19937_64 random(11);
  const auto any = [&] {
    switch (random() % 6) {
      case 0:
        return int64_t{0};
      case 1:
        return std::numeric_limits<int64_t>::min();
      case 2:
        return std::numeric_limits<int64_t>::max();
      case 3:
        return int64_t{-1};
      case 4:
        return static_cast<int64_t>(random() % 5'000'000'000);
      default:
        return static_cast<int64_t>(random());
    }
  };
  for (int i = 0; i < 300; ++i) {
    CauseWorld world(3, 3);
    CauseTables tables = world.Tables();
    std::vector<Span> spans(tables.spans.begin(), tables.spans.end());
    std::vector<ProcessSample> samples(tables.samples.begin(), tables.samples.end());
    std::vector<ClockProbe> probes(tables.probes.begin(), tables.probes.end());
    for (int change = 0; change < 8; ++change) {
      Span& span = spans[random() % spans.size()];
      for (int64_t Span::*field : {&Span::begin_ns, &Span::end_ns, &Span::busy_ns, &Span::cpu_ns,
                                   &Span::run_delay_ns, &Span::blocked_ns}) {
        if (random() % 2) span.*field = any();
      }
      samples[random() % samples.size()].*kSampleFields[random() % 28].value = any();
      probes[random() % probes.size()].returned_ns = any();
    }
    samples[random() % samples.size()].at_ns = any();
    tables.spans = spans;
    tables.samples = samples;
    tables.probes = probes;
    FindCauses(tables);
  }
}

}  // namespace
}  // namespace interlude
