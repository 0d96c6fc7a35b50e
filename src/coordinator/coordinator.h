// The coordinator: the gRPC service around protocol/, and the round thread that owns all round
// state.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/status.h"
#include "config/run_config.h"
#include "protocol/types.h"
#include "wire/transport_keys.h"

namespace interlude {

struct CoordinatorOptions {
  RunConfig config;
  uint32_t workers = 1;
  /// Where run.db, the journal, the snapshots and model.safetensors go; made when absent. A run in
  /// it that was not finished is gone on with.
  std::string directory;
  /// "127.0.0.1:0" lets the kernel choose the port; see Coordinator::address.
  std::string listen = "127.0.0.1:0";
  /// Threads of the merge pool; 0: the machine's usable cores.
  int threads = 0;
  /// What proves to workers that this is their coordinator, and by which they prove that they may
  /// join. Without keys connections are plain text and anybody who reaches the port may join; an
  /// address that other machines reach is then refused unless `insecure` says that this is wanted.
  std::optional<TransportKeys> keys;
  bool insecure = false;
  /// Called once the run has ended, before run.db is closed: who reads it lets go of it here, so
  /// that it becomes one plain file. On the thread that waits.
  std::function<void()> before_closing;
};

/// What a person sees go by. Called on the coordinator's own threads; must be quick and must not
/// call back.
class RunObserver {
 public:
  virtual ~RunObserver() = default;
  virtual void WorkerJoined(WorkerId, const std::string& /*host*/, uint32_t /*present*/,
                            uint32_t /*wanted*/) {}
  virtual void WorkerLeft(WorkerId, const std::string& /*reason*/) {}
  /// A member's connection broke; it is awaited for a while, and then it has left.
  virtual void WorkerLost(WorkerId, const std::string& /*reason*/) {}
  virtual void WorkerReturned(WorkerId) {}
  /// A round goes on without a member that is late.
  virtual void WorkerLate(WorkerId, const std::string& /*reason*/) {}
  /// A worker that came after the first round has begun makes its base the run's, while the rounds
  /// of the others go on; and the base it has then.
  virtual void CatchUpBegan(WorkerId, uint32_t /*committed_rounds*/) {}
  virtual void CaughtUp(WorkerId, uint32_t /*round*/) {}
  virtual void RunStarted(size_t /*total_params*/, uint32_t /*num_chunks*/) {}
  /// A few times a second within a round. `steps_done` is the slowest member's.
  struct Progress {
    uint32_t round = 0;
    uint32_t rounds = 0;
    uint32_t steps_done = 0;
    uint32_t steps = 0;
    uint32_t chunks_merged = 0;
    uint32_t chunks = 0;
  };
  virtual void RoundProgressed(const Progress&) {}
  struct RoundLine {
    uint32_t round = 0;
    uint32_t rounds = 0;
    double mean_loss = 0;
    uint64_t samples = 0;
    uint32_t workers = 0;
    double wall_seconds = 0;
    double train_seconds = 0;     // the slowest worker's local steps
    double evaluate_seconds = 0;  // the slowest worker's
    /// The smallest of ExchangeSecondsByWorker (ledger/span_math.h); absent when no worker has one.
    std::optional<double> exchange_seconds;
  };
  virtual void RoundEnded(const RoundLine&) {}
  virtual void Evaluated(uint32_t /*after_rounds*/, double /*accuracy*/, uint64_t /*samples*/) {}
};

/// What a finished run came to.
struct RunOutcome {
  uint32_t rounds = 0;             // committed
  std::string root_hash;           // hex; all members agreed on it
  bool synthetic = false;          // nothing was trained: loss and accuracy are made up
  std::optional<double> accuracy;  // of the last evaluation
  uint64_t test_samples = 0;
  std::string model_path;
  uint32_t workers_at_end = 0;
  bool ledger_complete = true;  // else a part of run.db could not be written; the log says why
  uint32_t workers_lost = 0;    // left before the end
};

/// Start, then Wait. Stop may come from any thread, also from a signal-watching one.
class Coordinator {
 public:
  /// Checks options, makes the run directory or takes up the run in it, binds the port and serves.
  /// Errors: InvalidArgument (an open address without keys), as OpenRunDirectory and RecoverRun,
  /// Unavailable (port in use: says which, and to choose another), what the disk says.
  static StatusOr<std::unique_ptr<Coordinator>> Start(const CoordinatorOptions& options,
                                                      const Clock& clock, RunObserver* observer);
  virtual ~Coordinator() = default;

  /// "127.0.0.1:43517": where workers reach it.
  virtual std::string address() const = 0;

  /// Blocks until the run has ended. Afterwards nothing is served any more.
  virtual StatusOr<RunOutcome> Wait() = 0;

  /// Ends the run early; Wait returns Cancelled with the reason. What is committed stays on disk.
  virtual void Stop(const std::string& reason) = 0;
};

}  // namespace interlude
