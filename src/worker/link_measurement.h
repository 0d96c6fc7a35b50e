// Measures the way to a coordinator before a job, without joining: the near end of MeasureLink.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

#include "base/clock.h"
#include "base/status.h"
#include "worker/link_figures.h"
#include "worker/worker.h"

namespace interlude {

/// How much of everything. All bounds stay below the coordinator's own (call_limits.h).
struct LinkPlan {
  size_t round_trips = 50;
  Nanoseconds round_trips_within = std::chrono::milliseconds(800);  // though some are always made
  Nanoseconds each_way_within = std::chrono::milliseconds(1200);
  uint64_t most_bytes_each_way = uint64_t{256} << 20;
  size_t piece_bytes = size_t{64} << 10;
  Nanoseconds call_within = std::chrono::seconds(5);  // all of it, in real time
};

/// Uses the coordinator, connect_timeout, keys and insecure of `options`, as a worker does, and one
/// connection for the measurement. Errors: CheckExposure's and Connect's, the coordinator's
/// refusals unchanged, Unavailable when it breaks before a round trip; what breaks later is in
/// LinkFigures::cut_short. Blocks for about connect_timeout + call_within at most.
StatusOr<LinkFigures> MeasureLink(const WorkerOptions& options, const LinkPlan& plan,
                                  const Clock& clock);

}  // namespace interlude
