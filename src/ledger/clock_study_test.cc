// The synthetic study behind the choice of the line fit: a far path whose way up is a third of the
// time full of the worker's own upload, which delays each probe that is sent then.
#include <gtest/gtest.h>

#include <algorithm>

#include "ledger/clock_fit.h"
#include "ledger/clock_test_world.h"

namespace interlude {
namespace {

constexpr int64_t kMs = 1'000'000;

struct Study {
  double base_up = 40 * kMillisecond;
  double base_down = 40 * kMillisecond;
  double jitter = 0.5 * kMillisecond;  // of each of two queues on each way, in the mean
  double most_queue = 300 * kMillisecond;
  double upload_every = 45 * kSecond;
  double upload_for = 15 * kSecond;
  TrueClock clock{.offset_ns = 1'234'567'890, .drift = 20e-6};
  int64_t seconds = 20 * 60;
};

/// Two queues on the way that both are seldom empty.
double Jitter(const Study& study, Rng& rng) {
  return Exponential(rng, study.jitter) + Exponential(rng, study.jitter);
}

/// While the upload goes on the queue before the link stands somewhere between a sixth of its most
/// and full.
double UpDelay(const Study& study, Rng& rng, double at, double phase) {
  const double delay = study.base_up + Jitter(study, rng);
  const bool uploading = std::fmod(at + phase, study.upload_every) < study.upload_for;
  return uploading ? delay + study.most_queue * (1 + 5 * Uniform(rng)) / 6 : delay;
}

std::vector<ClockProbe> ProbesOf(const Study& study, uint64_t seed) {
  Rng rng(seed);
  const double phase = study.upload_every * Uniform(rng);
  std::vector<ClockProbe> probes;
  for (int64_t second = 0; second < study.seconds; ++second) {
    const int64_t at = second * 1'000 * kMs;
    const double up = UpDelay(study, rng, static_cast<double>(at), phase);
    probes.push_back(MakeProbe(study.clock, at, up, study.base_down + Jitter(study, rng)));
  }
  return probes;
}

/// What NTP's clock filter does: of the last eight probes the one with the smallest round trip.
ClockEstimate BestOfEight(std::span<const ClockProbe> so_far) {
  const auto last = so_far.last(std::min<size_t>(8, so_far.size()));
  const ClockProbe& best = *std::ranges::min_element(last, {}, &ClockProbe::round_trip_ns);
  return {.offset_ns =
              ((best.received_ns - best.sent_ns) + (best.replied_ns - best.returned_ns)) / 2};
}

double P99Ms(std::vector<double> errors) {
  std::ranges::sort(errors);
  return errors[errors.size() * 99 / 100] / kMillisecond;
}

TEST(ClockStudy, TheLineFitIsWithin70MicrosecondsWhereAFilterOverEightProbesIsTensOfMsOff) {
  const Study study;
  std::vector<double> filter_errors;
  std::vector<double> live_errors;
  std::vector<double> fit_errors;
  for (uint64_t seed = 0; seed < 40; ++seed) {
    const std::vector<ClockProbe> probes = ProbesOf(study, seed);
    const ClockEstimate fit = FitEnvelope(probes);
    // Half the round trip, jitter, and drift while an upload hides the way up.
    EXPECT_LT(fit.error_ns, 43 * kMs) << seed;
    for (size_t i = 0; i < probes.size(); ++i) {
      const int64_t at = probes[i].returned_ns;
      const std::span<const ClockProbe> so_far = std::span(probes).first(i + 1);
      filter_errors.push_back(ErrorOf(BestOfEight(so_far), study.clock, at));
      fit_errors.push_back(ErrorOf(fit, study.clock, at));
      if (i % 20 == 19)
        live_errors.push_back(ErrorOf(EstimateMinimum(so_far, at), study.clock, at));
    }
  }
  const double filter = P99Ms(std::move(filter_errors));
  const double live = P99Ms(std::move(live_errors));
  const double fit = P99Ms(std::move(fit_errors));
  RecordProperty("filter_p99_us", static_cast<int>(filter * 1e3));
  RecordProperty("live_p99_us", static_cast<int>(live * 1e3));
  RecordProperty("fit_p99_us", static_cast<int>(fit * 1e3));
  EXPECT_GT(filter, 10);
  EXPECT_LT(live, 2);
  EXPECT_LE(fit, 0.07) << "filter " << filter << " ms, live " << live << " ms";
}

// No method can see how a round trip is shared between its two ways; the bound says so.
TEST(ClockStudy, AnUnevenPathShiftsTheFitByHalfTheDifferenceAndTheBoundCoversIt) {
  Study study;
  study.base_up = 65 * kMillisecond;
  study.base_down = 15 * kMillisecond;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const std::vector<ClockProbe> probes = ProbesOf(study, seed);
    const ClockEstimate fit = FitEnvelope(probes);
    for (const ClockProbe& probe : probes) {
      const double error = ErrorOf(fit, study.clock, probe.sent_ns);
      ASSERT_NEAR(error, 25 * kMillisecond, 0.2 * kMillisecond) << seed;
      ASSERT_LE(error, static_cast<double>(fit.error_ns)) << seed;
    }
  }
}

}  // namespace
}  // namespace interlude
