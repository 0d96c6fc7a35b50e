// What passes from one activity to the next within a process: a gap on the critical path whose
// cause is known in kind. Pure functions; any thread.
#pragma once

#include <cstdint>

#include "analysis/activity_graph.h"
#include "analysis/throttling.h"

namespace interlude {

/// What takes longer is no passing on: a thread that is woken waits for a CPU for some
/// milliseconds, or for the rest of a quota's period, which is 100 ms.
inline constexpr int64_t kMostHandOverNs = 100'000'000;

/// Whether a gap of a worker that is longer is one nevertheless, because its quota held the worker
/// up: for at least half of it, and no more CPU time than kMostHandOverNs was given to all of its
/// threads together, for which each waits in turn.
bool IsHeldUpByQuota(const Throttling::Part& gap, int64_t length_ns);

/// Whether the gap between the end of `graph[before]` and the begin of what was done `next` is a
/// hand-over: the first of the two is recorded up to where the process gave the item to a queue or
/// woke a thread, the second from where a thread took it, and nothing else happens in between
/// (docs/report.md lists the pairs). Both ends on the clock of that process, and no longer than
/// kMostHandOverNs, whatever the round's begin cuts off `gap`, or held up by a quota.
/// `throttling`: of the worker whose the gap is, null: none; `shift_ns`: its clock + this = that of
/// the graph.
bool IsHandOver(const ActivityGraph& graph, uint32_t before, const WalkPiece& gap,
                const Throttling* throttling = nullptr, int64_t shift_ns = 0);

}  // namespace interlude
