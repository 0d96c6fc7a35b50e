// A worker of several processes, one for each device: this process is rank 0, which talks to the
// coordinator; the others are children of it and run the same program. Main thread.
#pragma once

#include <memory>

#include "base/status.h"
#include "cli/run_options.h"
#include "config/run_config.h"
#include "protocol/types.h"
#include "worker/local_trainer.h"

namespace interlude {

/// The trainer of this worker on `options.devices`, with the other ranks behind it, which `threads`
/// are divided among.
/// The ranks end with the trainer, and with this process however that ends. Errors of
/// CreateTorchTrainer, with the rank in front; InvalidArgument for devices that cannot be.
StatusOr<std::unique_ptr<LocalTrainer>> CreateRankedTrainer(const RunConfig& config,
                                                            WorkerId worker, uint32_t workers,
                                                            int threads,
                                                            const RankOptions& options);

/// What a child of such a process does: `interlude-worker rank CHANNEL`, which nobody but rank 0
/// calls. Returns the exit status.
int RunRank(int argc, char** argv);

}  // namespace interlude
