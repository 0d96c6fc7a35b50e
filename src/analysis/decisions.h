// What the coordinator's round thread decided of each chunk of a round: that it be merged, then
// that it be sent. Internal to coordinator_graph.cc; one thread at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "analysis/round_records.h"

namespace interlude {

class Decisions {
 public:
  explicit Decisions(const PhaseTimes& times);

  /// The chunk's last one that ended by `ns`: by it the merge that began then was ordered.
  std::optional<ChunkStamp> Order(uint32_t chunk, int64_t ns);
  /// All that Order has not given: by them chunks were sent.
  std::vector<ChunkStamp> Rest() const;

 private:
  std::vector<ChunkStamp> stamps_;  // by chunk, then by time
  std::vector<bool> ordered_;
};

}  // namespace interlude
