// Options that several subcommands share, and the checks made before anything is started.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/cpu_quota.h"
#include "base/status.h"
#include "config/run_config.h"

namespace interlude {

/// Where a run's description comes from.
struct ConfigOptions {
  std::string path;
  std::vector<std::string> settings;  // "section.key=value", applied in order
};

/// --threads
void AddThreadsOption(CLI::App& app, int& threads, const std::string& help);
/// --set, which takes all that follows up to the next option; with allow_extra_args(false) one
/// setting, so that something else may follow.
CLI::Option* AddSettingsOption(CLI::App& app, std::vector<std::string>& settings);

/// Reads the file and applies the settings. NotFound and the like name the file; else
/// ParseRunConfig's errors.
StatusOr<RunConfig> LoadRunConfig(const ConfigOptions& options);

/// How long one process of a worker may keep the others waiting when it is not told.
inline constexpr int kRankTimeoutSeconds = 120;

/// Workers of several processes, one for each device.
struct RankOptions {
  std::string devices;  // config/rank_devices.h; empty: one process, on train.device
  int timeout_s = kRankTimeoutSeconds;
};

/// --devices --rank-timeout
void AddRankOptions(CLI::App& app, RankOptions& options, const std::string& devices_help);

/// What `run` and `coordinator` have in common.
struct RunOptions {
  int workers = 0;
  ConfigOptions config;
  std::string directory;
  std::string listen = "127.0.0.1:0";
  std::vector<std::string> data;  // of `run`: each worker's own directory
  std::string http;               // of the live page; empty: none
  int threads = 0;                // 0: not given
  bool quiet = false;
  std::string worker_program;  // of `run`; empty: interlude-worker
  RankOptions ranks;           // of `run`, of all workers together
};

/// --workers --config --set --dir --threads --http --quiet
void AddRunOptions(CLI::App& app, RunOptions& options);
/// --listen
CLI::Option* AddListenOption(CLI::App& app, std::string& listen);

/// AlreadyExists, with what to do, when the directory holds a finished run; one that is not
/// finished is gone on with.
Status CheckRunDirectory(const std::string& directory);

/// How long a worker tries to come back when it is not told.
inline constexpr int kReconnectSeconds = 900;

/// Who may take part in a run whose processes are on several machines.
struct SecurityOptions {
  std::string keys;  // directory; empty: not given
  bool insecure = false;
};

/// --keys --insecure
void AddSecurityOptions(CLI::App& app, SecurityOptions& options);

/// What `interlude worker` and `interlude-worker` have in common.
struct WorkerCommandOptions {
  std::string coordinator;
  std::optional<int> id;
  int threads = 0;  // 0: not given
  int reconnect_s = kReconnectSeconds;
  bool finish_round = false;
  std::string data;  // directory; empty: the configuration's
  RankOptions ranks;
  SecurityOptions security;
};

/// --coordinator
CLI::Option* AddCoordinatorOption(CLI::App& app, std::string& coordinator, const std::string& help);
/// --coordinator --id --threads --data --devices --rank-timeout --reconnect-for --finish-round
/// --keys
/// --insecure
void AddWorkerOptions(CLI::App& app, WorkerCommandOptions& options);
/// The command line of `program` that gives these options.
std::vector<std::string> WorkerCommand(const std::string& program,
                                       const WorkerCommandOptions& options);

/// --data of `run`
void AddWorkersDataOption(CLI::App& app, std::vector<std::string>& data);
/// Whether `run` is given a directory for each worker, and only where they are wanted.
Status CheckWorkersData(const RunOptions& options, const RunConfig& config);
/// The run's configuration as a worker takes it whose --data is `data`. InvalidArgument where the
/// data are local and it has none.
StatusOr<RunConfig> WithOwnData(RunConfig config, const std::string& data);

/// A worker's threads when `workers` share this machine: `given` where not 0, else the
/// configuration's where not 0, else an equal share of the usable cores, at least 1.
int WorkerThreads(int given, const RunConfig& config, const CpuLimits& limits, int workers);

}  // namespace interlude
