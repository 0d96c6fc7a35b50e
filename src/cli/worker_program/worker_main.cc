// The `interlude-worker` program, and that of a worker with models of its own: joins a coordinator
// and trains what it says.
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <string_view>

#include "base/log.h"
#include "base/version.h"
#include "cli/app.h"
#include "cli/exit_codes.h"
#include "cli/key_files.h"
#include "cli/run_options.h"
#include "cli/stop_signals.h"
#include "cli/worker_program/evaluate.h"
#include "cli/worker_program/predict.h"
#include "cli/worker_program/ranks.h"
#include "cli/worker_program/trainers.h"
#include "interlude/worker.h"
#include "worker/synthetic_trainer.h"
#include "worker/worker.h"

namespace interlude {
namespace {

StatusOr<std::unique_ptr<LocalTrainer>> CreateTrainer(const RunConfig& of_run,
                                                      const WorkerCommandOptions& options,
                                                      WorkerId worker, uint32_t workers,
                                                      int threads) {
  INTERLUDE_ASSIGN_OR_RETURN(const RunConfig config, WithOwnData(of_run, options.data));
  if (!options.ranks.devices.empty())
    return CreateRankedTrainer(config, worker, workers, threads, options.ranks);
  if (config.model.kind == ModelKind::kSynthetic)
    return CreateSyntheticTrainer(config, worker, workers, threads);
  return CreateModelTrainer(config, worker, workers, threads);
}

StatusOr<WorkerOptions> Prepare(const WorkerCommandOptions& options) {
  WorkerOptions prepared;
  prepared.coordinator = options.coordinator;
  prepared.requested_worker = options.id;
  prepared.threads = options.threads;
  prepared.reconnect_for = std::chrono::seconds(options.reconnect_s);
  prepared.finish_round = options.finish_round;
  prepared.insecure = options.security.insecure;
  if (!options.security.keys.empty()) {
    INTERLUDE_ASSIGN_OR_RETURN(
        prepared.keys, LoadWorkerKeys(options.security.keys, options.id, SecondsSinceEpoch()));
  }
  INTERLUDE_RETURN_IF_ERROR(CheckExposure(prepared));
  return prepared;
}

int Run(const WorkerCommandOptions& options) {
  InitLog(options.id ? fmt::format("worker {}", *options.id) : "worker");
  const auto worker_options = Prepare(options);
  if (!worker_options.ok())
    return Fail(worker_options.status(), ExitCodeFor(worker_options.status()));
  signal(SIGPIPE, SIG_IGN);
  std::atomic<bool> stop = false;  // outlives the thread that sets it
  StopSignals signals;             // before any thread
  signals.Watch([&stop](int signal_number) {
    LogInfo("{}: leaving", StopSignalName(signal_number));
    stop = true;
  });

  const TrainerFactory factory = [&options](const RunConfig& config, WorkerId worker,
                                            uint32_t workers, int threads) {
    return CreateTrainer(config, options, worker, workers, threads);
  };
  const auto outcome =
      RunWorker(*worker_options, factory, SystemClock(), [&stop] { return stop.load(); });
  if (stop) return kExitInterrupted;
  if (!outcome.ok()) {
    const int status = Fail(outcome.status(), kExitFailed);
    if (!options.ranks.devices.empty())
      _exit(status);  // a device that hangs would keep the process
    return status;
  }
  LogInfo("done after {} rounds; the parameters hash to {}", outcome->rounds, outcome->root_hash);
  return kExitOk;
}

}  // namespace
}  // namespace interlude

namespace {

int Evaluate(int argc, char** argv) {
  CLI::App app{"How right a saved model is, class by class.", "interlude-worker evaluate"};
  interlude::EvaluateOptions options;
  interlude::AddEvaluateOptions(app, options);
  return interlude::RunApp(
      app, [&] { return interlude::EvaluateSavedModel(options); }, argc, argv);
}

int Predict(int argc, char** argv) {
  CLI::App app{"What a saved model sees on pictures.", "interlude-worker predict"};
  interlude::PredictCommandOptions options;
  interlude::AddPredictOptions(app, options);
  return interlude::RunApp(
      app, [&] { return interlude::PredictFiles(options); }, argc, argv);
}

}  // namespace

int interlude::WorkerMain(int argc, char** argv) {
  PrepareProcess(argv);
  if (argc > 1 && std::string_view(argv[1]) == "evaluate") return Evaluate(argc - 1, argv + 1);
  if (argc > 1 && std::string_view(argv[1]) == "predict") return Predict(argc - 1, argv + 1);
  if (argc > 1 && std::string_view(argv[1]) == "rank") return RunRank(argc - 1, argv + 1);
  CLI::App app{"One worker of a run; the coordinator tells it what to train.", "interlude-worker"};
  interlude::WorkerCommandOptions options;
  interlude::AddWorkerOptions(app, options);
  app.add_flag_callback(
      "--check-blas", [] { throw CLI::CallForVersion(interlude::BlasLine(), 0); },
      "Print which BLAS kernel training uses here, for interlude doctor, and exit");
  app.set_version_flag("--version", interlude::kSoftwareVersion);
  app.footer("Example:\n  interlude-worker --coordinator 10.0.0.5:50051 --keys keys");
  return interlude::RunApp(
      app, [&] { return interlude::Run(options); }, argc, argv);
}
