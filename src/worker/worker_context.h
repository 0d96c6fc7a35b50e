// What the parts of a worker share for its stay. Plain references; the Worker (worker.cc) owns
// everything.
#pragma once

#include <cstdint>
#include <functional>

#include "base/clock.h"
#include "base/task_pool.h"
#include "config/run_config.h"
#include "ledger/recorder.h"
#include "ledger/sampler.h"
#include "protocol/types.h"
#include "wire/bulk_methods.h"
#include "worker/control_link.h"
#include "worker/local_trainer.h"
#include "worker/worker_model.h"

namespace interlude {

struct WorkerContext {
  const RunConfig& config;
  LocalTrainer& trainer;
  WorkerModel& model;
  TaskPool& pool;
  Recorder& recorder;
  Sampler& sampler;
  const Clock& clock;
  ControlLink& control;
  BulkStub& bulk;
  WorkerId worker = 0;
  uint64_t session = 0;
  /// False once the worker was told to stop, the coordinator ended the stay or, within a round,
  /// goes on without it. Any thread.
  std::function<bool()> keep_going;
  /// When the round's report was about to be handed over.
  std::optional<Nanoseconds> reported_at = std::nullopt;
};

}  // namespace interlude
