// Trainers and settings for tests of the worker.
#pragma once

#include <functional>
#include <span>

#include "worker/local_trainer.h"
#include "worker/synthetic_trainer.h"
#include "worker/worker.h"

namespace interlude {

/// A synthetic run of 1000 parameters in 6 chunks, the last chunk and its last block short; 3
/// rounds of 4 steps.
RunConfig SmallConfig();

/// Called after a round's training with the parameters.
using AfterTraining = std::function<void(uint32_t round, std::span<float> parameters)>;

/// Makes synthetic trainers, with `after_training` (may be empty) at the end of each TrainRound.
TrainerFactory SyntheticFactory(AfterTraining after_training = {});

}  // namespace interlude
