// A LocalTrainer without a model: moves parameters pseudo-randomly by small amounts and takes a
// stated time. For tests and benchmarks of everything around training.
#pragma once

#include <memory>

#include "config/run_config.h"
#include "protocol/types.h"
#include "worker/local_trainer.h"

namespace interlude {

/// Parameters start equal on all workers of a seed; deltas depend on (seed, worker, step) alone and
/// shrink as training goes on, so that runs repeat bit for bit. The layout is a few tensors of odd
/// sizes that add up to config.model.synthetic_params. InvalidArgument when the configuration is
/// not a synthetic one. `threads` share the work of config.model.synthetic_cpu_ms. The other errors
/// are those of the file that synthetic_read_mb and synthetic_map_mb need
/// (worker/synthetic_load.h).
StatusOr<std::unique_ptr<LocalTrainer>> CreateSyntheticTrainer(const RunConfig& config,
                                                               WorkerId worker, uint32_t workers,
                                                               int threads = 1);

}  // namespace interlude
