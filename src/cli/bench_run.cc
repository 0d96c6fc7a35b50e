#include "cli/bench_run.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>

#include "base/process_memory.h"
#include "bench/memory_sampler.h"
#include "cli/exit_codes.h"
#include "cli/programs.h"
#include "cli/run_options.h"
#include "cli/supervisor.h"
#include "ledger/run_database.h"

namespace interlude {
namespace {

Status WriteConfig(const std::string& path, const RunConfig& config) {
  std::ofstream out(path, std::ios::trunc);
  out << FormatRunConfig(config);
  if (!out.flush()) return ErrnoError(errno, "cannot write " + path);
  return OkStatus();
}

/// Stays up after the run, so that its memory can be looked at.
std::vector<std::string> CoordinatorCommand(const BenchRun& run, const std::string& program,
                                            int ready_fd) {
  std::vector<std::string> command = {program,      "coordinator",
                                      "--workers",  std::to_string(run.workers),
                                      "--config",   run.directory + "/run.toml",
                                      "--dir",      run.directory,
                                      "--listen",   "127.0.0.1:0",
                                      "--runs",     "0",
                                      "--ready-fd", std::to_string(ready_fd)};
  if (run.threads > 0) {
    command.insert(command.end(), {"--threads", std::to_string(run.threads)});
  }
  return command;
}

/// The coordinator's process and what its memory was before and after the run.
struct CoordinatorWatch {
  pid_t pid = -1;
  std::optional<uint64_t> before;
  std::optional<uint64_t> after;

  std::optional<uint64_t> Look() const {
    const auto memory = ReadProcessMemory(pid);
    return memory ? std::optional(memory->anonymous) : std::nullopt;
  }
};

StatusOr<SupervisionPlan> MakePlan(const BenchRun& run, MemorySampler& sampler,
                                   CoordinatorWatch& coordinator) {
  INTERLUDE_ASSIGN_OR_RETURN(const std::string own, OwnProgram());
  INTERLUDE_ASSIGN_OR_RETURN(const std::string worker_program, WorkerProgram());
  const int threads =
      WorkerThreads(run.threads, run.config, ReadCpuLimits(), static_cast<int>(run.workers));
  SupervisionPlan plan;
  plan.workers = run.workers;
  plan.log_directory = run.directory;
  plan.coordinator_command = [run, own](int ready_fd) {
    return CoordinatorCommand(run, own, ready_fd);
  };
  plan.worker_command = [&coordinator, worker_program, threads](uint32_t worker,
                                                                const std::string& address) {
    if (!coordinator.before) coordinator.before = coordinator.Look();
    return WorkerCommand(worker_program, {.coordinator = address,
                                          .id = static_cast<int>(worker),
                                          .threads = threads,
                                          .reconnect_s = 0});
  };
  // It has a big model to write and, by now, to give back.
  plan.grace = std::chrono::minutes(3);
  plan.coordinator_stdout = run.quiet ? -1 : STDERR_FILENO;
  plan.on_child = [&](const std::string& name, pid_t pid) {
    if (coordinator.pid < 0) coordinator.pid = pid;
    sampler.Watch(name, pid);
  };
  plan.on_run_ended = [&] {
    sampler.Look();
    coordinator.after = coordinator.Look();
  };
  plan.notice = [](const std::string& message) { fmt::print(stderr, "\n{}\n", message); };
  return plan;
}

Status StatusOf(const BenchRun& run, const SupervisionResult& result) {
  if (result.exit_code == kExitInterrupted) return CancelledError("interrupted");
  if (result.exit_code == kExitOk) return OkStatus();
  std::string reason = fmt::format("the {} run failed", run.mode);
  for (const ChildFailure& failure : result.failures) reason += "\n" + FormatFailure(failure);
  return AbortedError("{}", reason);
}

}  // namespace

RunConfig ConfigOfMode(RunConfig config, const std::string& mode) {
  config.round.exchange =
      mode == kPipelinedMode ? ExchangeMode::kPipelined : ExchangeMode::kBarrier;
  config.round.persistence =
      mode == kBarrierSaveMode ? PersistenceMode::kEveryRound : PersistenceMode::kOnDemand;
  return config;
}

StatusOr<ModeFigures> RunOnce(const BenchRun& run) {
  INTERLUDE_RETURN_IF_ERROR(WriteConfig(run.directory + "/run.toml", run.config));
  MemorySampler sampler;
  CoordinatorWatch coordinator;
  INTERLUDE_ASSIGN_OR_RETURN(const SupervisionPlan plan, MakePlan(run, sampler, coordinator));
  INTERLUDE_ASSIGN_OR_RETURN(const SupervisionResult result, Supervise(plan));
  INTERLUDE_RETURN_IF_ERROR(StatusOf(run, result));
  ModeFigures figures{.mode = run.mode};
  figures.memory = sampler.Stop();
  figures.coordinator_before = coordinator.before;
  figures.coordinator_after = coordinator.after;
  INTERLUDE_ASSIGN_OR_RETURN(const auto database,
                             RunDatabase::OpenReadOnly(run.directory + "/run-1/run.db"));
  INTERLUDE_ASSIGN_OR_RETURN(figures.summary, SummarizeExchange(*database));
  return figures;
}

}  // namespace interlude
