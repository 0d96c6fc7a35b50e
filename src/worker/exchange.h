// A round's exchange at the worker: encode and upload the delta, download and apply the sync delta,
// verify and repair. Pipelined: all at once, chunk by chunk. Barrier: one after the other.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "base/status.h"
#include "worker/worker_context.h"

namespace interlude {

struct ExchangeResult {
  uint64_t upload_bytes = 0;    // payload
  uint64_t download_bytes = 0;  // payload
  uint32_t repaired_chunks = 0;
  uint32_t retries = 0;  // uploads and downloads made again
};

/// Afterwards base and parameters are the next round's base. DataLoss for a delta that is NaN or
/// Inf (naming worker, round and parameter) and for a base that stays wrong after its repair;
/// Cancelled when keep_going says no; else the coordinator's refusal, or what broke the line
/// kBulkAttempts times. Records the spans of the phases. Blocks; one call at a time.
StatusOr<ExchangeResult> RunExchange(WorkerContext& context, uint32_t round, uint64_t samples);

/// Uploads the parameters whole as the first base, in fp32. Returns the number of retries.
StatusOr<uint32_t> UploadBase(WorkerContext& context);

/// Replaces these chunks of the base, and the parameters with them, by the coordinator's, which are
/// the base of `round`, or for a worker that catches up of a later one, as the model then knows;
/// `replaced`, where given, is told of each. The chunks are below the number of chunks
/// and none stands there twice. DataLoss when one hashes to something else than the coordinator
/// says. Returns the number of retries.
StatusOr<uint32_t> RepairBase(WorkerContext& context, uint32_t round,
                              const std::vector<uint32_t>& chunks, PhaseTimer& timer,
                              const std::function<void(uint32_t chunk)>& replaced = {});

}  // namespace interlude
