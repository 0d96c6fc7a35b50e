// What a model of so many parameters asks of a machine, with the default configuration. Arithmetic
// only.
#pragma once

#include <cstdint>

namespace interlude {

/// What is known of the job; nothing has to be.
struct Job {
  uint64_t params = 0;       // 0: not said
  uint32_t workers = 2;      // of the run, for the coordinator's disk
  double train_seconds = 0;  // of a round's local steps; 0: not said
};

/// Of one payload, up or down, with q4: 4.25 bits a parameter.
uint64_t PayloadBytes(uint64_t params);

/// Of a worker that trains on the CPU: parameters, gradient and AdamW's two moments (16 bytes a
/// parameter), the base (4), its payload (0.53). Activations and the program come on top.
uint64_t WorkerMemoryBytes(uint64_t params);

/// Of a coordinator's directory: the payloads of all workers for the rounds that the journal keeps,
/// the sync deltas it retains, two snapshots (12 bytes a parameter each) and one that is being
/// written, and the final model.
uint64_t CoordinatorDiskBytes(uint64_t params, uint32_t workers);

}  // namespace interlude
