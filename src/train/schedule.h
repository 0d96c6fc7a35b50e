// The learning rate of a local step, from the step's number alone: a worker that joins late, or a
// run that is resumed, gets the same rate as one that was there from the start. Pure; any thread.
#pragma once

#include <cstdint>

#include "config/run_config.h"

namespace interlude {

/// Rises linearly from learning_rate / warmup_steps at step 0 to learning_rate at step warmup_steps
/// - 1, then falls along a half cosine towards learning_rate * final_learning_rate_ratio, which
/// step `total_steps` would have (kConstant: stays). Steps at or beyond `total_steps` get the final
/// rate.
double LearningRate(const TrainConfig& config, uint64_t total_steps, uint64_t step);

}  // namespace interlude
