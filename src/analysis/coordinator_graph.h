// The coordinator's part of a round's graph. Internal to round_graph.cc; one thread at a time.
#pragma once

#include <cstdint>
#include <map>
#include <memory_resource>
#include <optional>
#include <vector>

#include "analysis/graph_parts.h"
#include "analysis/round_records.h"
#include "analysis/worker_graph.h"

namespace interlude {

/// From when on the round went on without a worker: the first word of it in the round.
using Closings = std::map<int32_t, int64_t>;
Closings ClosingsOf(const RoundRecords& records);

/// What has been added of the coordinator.
struct CoordinatorParts {
  explicit CoordinatorParts(std::pmr::memory_resource* memory) : merged(memory), posted(memory) {}

  bool barrier = false;
  int32_t threads = 0;  // that merge; 0: not known
  Closings closings;
  MaybeActivity ledger;  // what was done before anything of the round
  Stage merged;
  Stage posted;              // decided to be sent, of the rounds that have records of it
  MaybeActivity all_merged;  // and, where a full model is kept, saved
  MaybeActivity saved;
};

/// The records of the round before written, where that lies in this one.
MaybeActivity AddLedger(const PhaseTimes& times, GraphBuilder& builder);

/// Each chunk merged, once it has come of all that contribute and that was decided upon; and
/// decided to be sent. `workers` have their way up, `parts.ledger` stands.
void AddMerges(const PhaseTimes& times, const std::vector<WorkerParts>& workers,
               GraphBuilder& builder, CoordinatorParts& parts);

/// The sync chunks handed to one worker's link.
void AddSends(const PhaseTimes& times, const std::vector<WorkerParts>& workers,
              const CoordinatorParts& coordinator, GraphBuilder& builder, WorkerParts& parts);

/// The last activity: where the last report has come, or the round has ended without it.
uint32_t AddEnd(const RoundRecords& records, const std::vector<WorkerParts>& workers,
                const CoordinatorParts& coordinator, GraphBuilder& builder);

}  // namespace interlude
