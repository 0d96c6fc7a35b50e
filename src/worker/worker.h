// The worker's loop: join, make the model, then round after round: train, encode and upload,
// download and apply, verify, report. Knows a LocalTrainer, not LibTorch.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/status.h"
#include "config/run_config.h"
#include "protocol/types.h"
#include "wire/transport_keys.h"
#include "worker/local_trainer.h"

namespace interlude {

struct WorkerOptions {
  std::string coordinator;  // "host:port"
  std::optional<WorkerId> requested_worker;
  /// Threads of the codec's pool and of the trainer; 0: the configuration's, and where it names
  /// none the machine's usable cores.
  int threads = 0;
  /// How long to try to reach the coordinator before giving up.
  Nanoseconds connect_timeout = std::chrono::seconds(30);
  /// By which the worker knows its coordinator and proves that it may join. Without keys the
  /// connection is plain text; to a coordinator on another machine that is refused unless
  /// `insecure` says that it is wanted.
  std::optional<TransportKeys> keys;
  bool insecure = false;
  /// How long to try to come back when the connection breaks in mid-stay; 0: that ends the stay.
  Nanoseconds reconnect_for{0};
  /// When told to stop, to finish the round first: it counts then. Else the round is dropped.
  bool finish_round = false;
};

/// Makes the trainer once the coordinator's configuration is known.
using TrainerFactory = std::function<StatusOr<std::unique_ptr<LocalTrainer>>(
    const RunConfig& config, WorkerId worker, uint32_t workers, int threads)>;

/// What a finished stay looked like.
struct WorkerOutcome {
  WorkerId worker = -1;
  uint32_t rounds = 0;    // reported
  std::string root_hash;  // hex; of the parameters at the end
  uint32_t retries =
      0;  // uploads and downloads made again after the line broke or bytes were damaged
};

/// Nobody sends a model over an open line without having said so: InvalidArgument, saying what to
/// do, without keys for a coordinator on another machine. RunWorker asks this first.
Status CheckExposure(const WorkerOptions& options);

/// Joins the coordinator and works until told to go. Blocks. The errors are meant to be printed:
/// Unavailable when the coordinator cannot be reached (says what to check) or is lost, the
/// coordinator's own refusals unchanged, and the trainer's (told to the coordinator before this
/// returns). `stop` is asked now and then, at least once a local step and several times a second
/// between, by several threads; when it returns true the worker leaves politely and Cancelled is
/// returned.
StatusOr<WorkerOutcome> RunWorker(const WorkerOptions& options, const TrainerFactory& make_trainer,
                                  const Clock& clock, const std::function<bool()>& stop);

}  // namespace interlude
