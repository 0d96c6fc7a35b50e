// Drag: how much sooner the round would have ended, had one worker been no slower than the median.
// Pure function; any thread.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "analysis/activity_graph.h"

namespace interlude {

/// By worker. For each kind of activity (train, encode, a link's flight, ...) the worker's times
/// are added up and held against the median worker's sum, the lower of the middle two where their
/// number is even: of two workers, the quicker. Where the worker's sum is larger, each of its
/// activities of the kind is shortened in proportion, and the graph recomputed. 0 for a worker that
/// is alone in all it does, and for waiting. `on_path`: the workers on the critical path; no other
/// can have any.
std::map<int32_t, int64_t> DragOf(const ActivityGraph& graph, const GraphTimes& times,
                                  uint32_t last, const std::vector<int32_t>& on_path);

}  // namespace interlude
