// One round at the worker, from StartRound to RoundReport, and evaluations.
#pragma once

#include <cstdint>

#include "base/status.h"
#include "wire/messages.h"
#include "worker/worker_context.h"

namespace interlude {

/// Evaluates if asked, trains, exchanges and reports. DataLoss when the base is not the
/// coordinator's; else as the trainer and RunExchange. Cancelled when keep_going said no. Returns
/// the retries.
StatusOr<uint32_t> RunRound(WorkerContext& context, const StartRoundMessage& start);

/// Scores the parameters and sends the report. The span belongs to the round that waits for it, the
/// one after `after_rounds`; after the last round that is one which never comes.
Status Evaluate(WorkerContext& context, uint32_t after_rounds, uint32_t part, uint32_t parts);

}  // namespace interlude
