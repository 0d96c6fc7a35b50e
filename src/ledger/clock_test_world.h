// Two clocks and a path between them whose truth is known, for the tests of clock estimates. Tests
// only.
#pragma once

#include <cmath>
#include <cstdint>
#include <functional>
#include <vector>

#include "base/rng.h"
#include "ledger/clock_probe.h"

namespace interlude {

inline constexpr double kSecond = 1e9;
inline constexpr double kMillisecond = 1e6;

/// 53 bits in [0, 1).
inline double Uniform(Rng& rng) { return static_cast<double>(rng() >> 11) * 0x1p-53; }
/// Exponential with this mean.
inline double Exponential(Rng& rng, double mean) { return -mean * std::log1p(-Uniform(rng)); }

/// The coordinator's clock as a function of the worker's: `offset_ns` at the worker's 0, and
/// `drift` from there.
struct TrueClock {
  int64_t offset_ns = 0;
  double drift = 0;

  long double OffsetAt(long double worker_ns) const { return offset_ns + drift * worker_ns; }
  long double ToCoordinator(long double worker_ns) const { return worker_ns + OffsetAt(worker_ns); }
  long double ToWorker(long double coordinator_ns) const {
    return (coordinator_ns - offset_ns) / (1.0L + drift);
  }
};

/// One-way delays in nanoseconds, given the worker's time of sending.
using Delay = std::function<double(double worker_ns)>;

/// The probe that is sent at this moment of the worker's clock. Readings are rounded such that
/// nothing arrives before it was sent.
inline ClockProbe MakeProbe(const TrueClock& clock, int64_t sent_ns, double up, double down) {
  ClockProbe probe{.worker = 3, .sent_ns = sent_ns};
  probe.received_ns =
      static_cast<int64_t>(std::ceil(clock.ToCoordinator(static_cast<long double>(sent_ns)) + up));
  probe.replied_ns = probe.received_ns + 20'000;
  probe.returned_ns = static_cast<int64_t>(
      std::ceil(clock.ToWorker(static_cast<long double>(probe.replied_ns) + down)));
  return probe;
}

/// How far the estimate is off, at a moment of the worker's clock.
inline double ErrorOf(const ClockEstimate& estimate, const TrueClock& clock, int64_t worker_ns) {
  const int64_t estimated = estimate.ToCoordinator(worker_ns);
  return static_cast<double>(std::fabs(static_cast<long double>(estimated) -
                                       clock.ToCoordinator(static_cast<long double>(worker_ns))));
}

}  // namespace interlude
