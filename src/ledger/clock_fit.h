// From clock probes to a worker's clock: how far it stands from the coordinator's, and how sure
// that is. Pure functions; any thread. The maths, and an example by hand: docs/report.md, "Clocks".
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ledger/clock_probe.h"

namespace interlude {

/// The most by which one clock is taken to gain on the other: two quartz clocks, each off by at
/// most 50 millionths. Every error bound here rests on it.
inline constexpr double kMostClockDrift = 100e-6;
/// A probe whose thread waited longer for a CPU says little: it is left out where there are others.
inline constexpr int64_t kMostRunDelayNs = 1'000'000;

/// The live estimate, at the moment `at_ns` of the worker's clock. `probes` are of one worker, in
/// the order in which they were made; impossible ones (a negative time or round trip) do not count.
/// Each probe bounds the offset from both sides, by its way there and its way back, and an older
/// one's bounds are wider by kMostClockDrift of its age; the estimate is the middle of what all
/// leave open, with no drift, and error_ns half of it. Where the coordinator's clock has jumped
/// only probes from the same side as `at_ns` count. Linear time.
ClockEstimate EstimateMinimum(std::span<const ClockProbe> probes, int64_t at_ns);

/// The final estimate of a whole run: of the straight lines (offset and drift) the one that keeps
/// the largest distance to the bounds of all probes. error_ns holds at every moment between the
/// first probe and the last, also where the drift changes; beyond them kMostClockDrift of the
/// distance is to be added. Where the coordinator's clock has jumped: since the newest jump. Linear
/// time but for probes that come out of order.
ClockEstimate FitEnvelope(std::span<const ClockProbe> probes);

}  // namespace interlude
