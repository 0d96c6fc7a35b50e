// interlude run: the coordinator and all workers on this machine, as child processes.
#include <fmt/format.h>

#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>

#include "base/address.h"
#include "cli/commands.h"
#include "cli/exit_codes.h"
#include "cli/programs.h"
#include "cli/run_options.h"
#include "cli/supervisor.h"
#include "config/rank_devices.h"
#include "model/model_parameters.h"
#include "model/pretrained.h"

namespace interlude {
namespace {

struct Prepared {
  RunConfig config;
  std::string own_program;
  std::string worker_program;
  std::string log_directory;
  std::vector<std::string> devices;  // each worker's --devices; none without --devices
};

// The workers are on this machine, so the file has to be, unless the run has its base already.
Status CheckPretrained(const ModelConfig& model, const std::string& directory) {
  std::error_code error;
  if (model.pretrained.empty() ||
      std::filesystem::exists(std::filesystem::path(directory) / "run.db", error)) {
    return OkStatus();
  }
  INTERLUDE_ASSIGN_OR_RETURN(std::vector<ModelParameter> parameters, ModelParameters(model));
  return PretrainedWeights::Open(model, std::move(parameters)).status();
}

Status CheckModelFile(const ModelConfig& model) {
  std::error_code error;
  if (model.file.empty() || std::filesystem::is_regular_file(model.file, error)) return OkStatus();
  return NotFoundError("model.file = {} is no file", model.file);
}

StatusOr<std::vector<std::string>> WorkerDevices(const RunOptions& options,
                                                 const RunConfig& config) {
  std::vector<std::string> texts;
  if (options.ranks.devices.empty()) return texts;
  INTERLUDE_ASSIGN_OR_RETURN(
      const std::vector<RankDevices> dealt,
      DealDevices(options.ranks.devices, config, static_cast<uint32_t>(options.workers)));
  for (const RankDevices& devices : dealt)
    texts.push_back(fmt::format("{}", fmt::join(devices, ",")));
  return texts;
}

// Everything that can be wrong is found here, before a process is started.
StatusOr<Prepared> Prepare(const RunOptions& options) {
  Prepared prepared;
  if (!IsLoopback(options.listen)) {
    return InvalidArgumentError(
        "--listen {}: all workers of interlude run are on this machine, so give an address that is "
        "this machine's alone, such as 127.0.0.1:0; interlude coordinator lets others in",
        options.listen);
  }
  if (!options.http.empty() && !IsLoopback(options.http)) {
    return InvalidArgumentError(
        "--http {}: of interlude run only this machine sees the page, at an address such as "
        "127.0.0.1:7080; interlude coordinator shows it to others, and an ssh tunnel does",
        options.http);
  }
  INTERLUDE_ASSIGN_OR_RETURN(prepared.config, LoadRunConfig(options.config));
  INTERLUDE_RETURN_IF_ERROR(CheckWorkersData(options, prepared.config));
  INTERLUDE_RETURN_IF_ERROR(CheckPretrained(prepared.config.model, options.directory));
  INTERLUDE_RETURN_IF_ERROR(CheckModelFile(prepared.config.model));
  INTERLUDE_ASSIGN_OR_RETURN(prepared.devices, WorkerDevices(options, prepared.config));
  INTERLUDE_RETURN_IF_ERROR(CheckRunDirectory(options.directory));
  INTERLUDE_ASSIGN_OR_RETURN(prepared.own_program, OwnProgram());
  INTERLUDE_ASSIGN_OR_RETURN(prepared.worker_program, WorkerProgram(options.worker_program));
  prepared.log_directory = (std::filesystem::path(options.directory) / "logs").string();
  std::error_code error;
  std::filesystem::create_directories(prepared.log_directory, error);
  if (error)
    return ErrnoError(error.value(), fmt::format("cannot make {}", prepared.log_directory));
  return prepared;
}

std::vector<std::string> CoordinatorCommand(const RunOptions& options, const std::string& program,
                                            int ready_fd) {
  std::vector<std::string> command = {
      program,    "coordinator",       "--workers",  std::to_string(options.workers),
      "--config", options.config.path, "--dir",      options.directory,
      "--listen", options.listen,      "--ready-fd", std::to_string(ready_fd)};
  for (const std::string& setting : options.config.settings)
    command.insert(command.end(), {"--set", setting});
  if (options.threads > 0)
    command.insert(command.end(), {"--threads", std::to_string(options.threads)});
  if (!options.http.empty()) command.insert(command.end(), {"--http", options.http});
  if (options.quiet) command.push_back("--quiet");
  return command;
}

SupervisionPlan MakePlan(const RunOptions& options, const Prepared& prepared) {
  const int threads =
      WorkerThreads(options.threads, prepared.config, ReadCpuLimits(), options.workers);
  SupervisionPlan plan;
  plan.workers = static_cast<uint32_t>(options.workers);
  plan.log_directory = prepared.log_directory;
  plan.coordinator_command = [options, program = prepared.own_program](int ready_fd) {
    return CoordinatorCommand(options, program, ready_fd);
  };
  plan.worker_command = [prepared, threads, data = options.data,
                         rank_timeout = options.ranks.timeout_s](uint32_t worker,
                                                                 const std::string& address) {
    WorkerCommandOptions command{.coordinator = address,
                                 .id = static_cast<int>(worker),
                                 .threads = threads,
                                 .reconnect_s = 0,  // nobody would start the coordinator again
                                 .ranks = {.timeout_s = rank_timeout}};
    if (!data.empty()) command.data = data.at(worker);
    if (!prepared.devices.empty()) command.ranks.devices = prepared.devices[worker];
    return WorkerCommand(prepared.worker_program, command);
  };
  plan.notice = [](const std::string& message) { fmt::print(stderr, "\n{}\n", message); };
  return plan;
}

int Run(const RunOptions& options) {
  const auto prepared = Prepare(options);
  if (!prepared.ok()) return Fail(prepared.status(), ExitCodeFor(prepared.status()));
  const auto result = Supervise(MakePlan(options, *prepared));
  if (!result.ok()) return Fail(result.status(), kExitFailed);
  for (const ChildFailure& failure : result->failures) {
    fmt::print(stderr, "{}\n", FormatFailure(failure));
  }
  if (result->exit_code == kExitWorkerLost) {
    fmt::print(stderr, "The run finished without {} of its {} workers.\n", result->failures.size(),
               options.workers);
  }
  return result->exit_code;
}

}  // namespace

void AddRunCommand(CLI::App& app, Action& chosen) {
  auto options = std::make_shared<RunOptions>();
  CLI::App* command =
      app.add_subcommand("run", "Train here: one coordinator and N workers as child processes");
  AddRunOptions(*command, *options);
  AddListenOption(*command, options->listen)->capture_default_str();
  AddRankOptions(
      *command, options->ranks,
      "N: each worker is a process on each of N devices, and no two workers share a GPU; "
      "LIST: all devices, such as cuda:0,cuda:1,cuda:2,cuda:3, dealt out to the workers");
  command
      ->add_option("--worker-program", options->worker_program,
                   "Start this program as each worker, one with models of your own; without it "
                   "interlude-worker")
      ->type_name("FILE");
  AddWorkersDataOption(*command, options->data);
  command->footer(
      "Example:\n  interlude run --workers 2 --config examples/fashion_mnist.toml --dir "
      "runs/first\n\n"
      "Logs go to DIR/logs. Ctrl-C stops all processes politely, a second one kills them; none is "
      "left behind,\n"
      "whatever happens. A worker that dies is left behind by the others; the exit status is then "
      "3.");
  command->callback([options, &chosen] { chosen = [options] { return Run(*options); }; });
}

}  // namespace interlude
