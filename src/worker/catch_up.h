// Makes a worker's base the run's, chunk by chunk, while the rounds of the others go on: what is no
// base of the run is fetched whole, what is behind takes the retained sync deltas. No copy of the
// model is made.
#pragma once

#include <cstdint>

#include "base/status.h"
#include "ledger/recorder.h"
#include "worker/worker_context.h"

namespace interlude {

struct CatchUpResult {
  uint32_t round = 0;  // every chunk is the base after so many rounds
  uint32_t base_chunks = 0;
  uint32_t sync_chunks = 0;
  uint64_t bytes = 0;  // payload of both
  uint32_t retries = 0;
};

/// Where the model says of each chunk after how many rounds its base stands, or kNoBase: brings all
/// chunks, and the parameters with them, to the newest round that any of them
/// has reached, which is `least_round` at the least. A chunk that hashes to something else than the
/// coordinator says after a sync delta was applied, and one whose next sync delta is no longer
/// retained, is fetched whole. `timer` is charged with it all.
///
/// Unavailable when rounds pass faster
/// than they can be made good; Cancelled when keep_going says no; else as RepairBase. Blocks.
StatusOr<CatchUpResult> CatchUp(WorkerContext& context, uint32_t least_round, PhaseTimer& timer);

}  // namespace interlude
