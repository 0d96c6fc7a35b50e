#include "cli/run_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <memory>

#include "ledger/run_database.h"

namespace interlude {
namespace {

constexpr int kMostWorkers = 1024;
constexpr int kMostThreads = 1024;
// Far beyond any run's description; keeps a mistaken --config of a data file from being read whole.
constexpr size_t kMostConfigBytes = 1u << 20;

std::string CheckAddress(const std::string& text, int least_port) {
  const size_t colon = text.rfind(':');
  const char* example = least_port == 0 ? "0.0.0.0:50051" : "10.0.0.5:50051";
  if (colon == std::string::npos || colon == 0) {
    return fmt::format("{} is no address: give HOST:PORT, such as {}", text, example);
  }
  int port = -1;
  const char* begin = text.data() + colon + 1;
  const char* end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(begin, end, port);
  if (error != std::errc() || stopped != end || port < least_port || port > 65535) {
    return fmt::format("{}: the port must be a number from {} to 65535", text, least_port);
  }
  return "";
}

CLI::Validator AddressWithPort(int least_port) {
  return CLI::Validator([least_port](std::string& text) { return CheckAddress(text, least_port); },
                        "HOST:PORT");
}

StatusOr<std::string> ReadText(const std::string& path) {
  if (std::filesystem::is_directory(path))
    return InvalidArgumentError("{} is a directory, not a run's TOML file", path);
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"), std::fclose);
  if (file == nullptr)
    return ErrnoError(errno, fmt::format("cannot read the configuration {}", path));
  std::string text(kMostConfigBytes + 1, '\0');
  text.resize(std::fread(text.data(), 1, text.size(), file.get()));
  if (std::ferror(file.get()) != 0)
    return ErrnoError(errno, fmt::format("cannot read the configuration {}", path));
  if (text.size() > kMostConfigBytes) {
    return InvalidArgumentError("{} is longer than {} bytes: no run's TOML file", path,
                                kMostConfigBytes);
  }
  return text;
}

}  // namespace

void AddThreadsOption(CLI::App& app, int& threads, const std::string& help) {
  app.add_option("--threads", threads, help)
      ->type_name("T")
      ->check(CLI::Range(1, kMostThreads).description(""));
}

CLI::Option* AddSettingsOption(CLI::App& app, std::vector<std::string>& settings) {
  return app
      .add_option("--set", settings,
                  "Change a key of the configuration, such as round.rounds=3; may be repeated")
      ->type_name("KEY=VALUE")
      ->expected(1, -1);
}

StatusOr<RunConfig> LoadRunConfig(const ConfigOptions& options) {
  INTERLUDE_ASSIGN_OR_RETURN(const std::string text, ReadText(options.path));
  INTERLUDE_ASSIGN_OR_RETURN(RunConfig config, ParseRunConfig(text, options.path));
  INTERLUDE_RETURN_IF_ERROR(ApplySettings(options.settings, config));
  return config;
}

void AddRunOptions(CLI::App& app, RunOptions& options) {
  app.add_option("--workers", options.workers, "How many workers take part")
      ->type_name("N")
      ->required()
      ->check(CLI::Range(1, kMostWorkers).description(""));
  app.add_option("--config", options.config.path, "The run's TOML file")
      ->type_name("FILE")
      ->required();
  AddSettingsOption(app, options.config.settings);
  app.add_option("--dir", options.directory,
                 "Where run.db, the model and the logs go; made when absent")
      ->type_name("DIR")
      ->required();
  AddThreadsOption(
      app, options.threads,
      "Threads of each process; without it what the configuration or the usable cores say");
  app.add_option(
         "--http", options.http,
         "Show the run while it goes on: a page for browsers, and /metrics; port 0 lets the "
         "system choose")
      ->type_name("HOST:PORT")
      ->check(AddressWithPort(0).description(""));
  app.add_flag("--quiet", options.quiet, "Print only how it ended");
}

CLI::Option* AddListenOption(CLI::App& app, std::string& listen) {
  return app
      .add_option("--listen", listen, "Where workers connect to; port 0 lets the system choose")
      ->type_name("HOST:PORT")
      ->check(AddressWithPort(0).description(""));
}

Status CheckRunDirectory(const std::string& directory) {
  const std::filesystem::path path(directory);
  std::error_code error;
  if (const auto database = RunDatabase::OpenReadOnly((path / "run.db").string()); database.ok()) {
    const auto outcome = (*database)->GetMeta(kMetaOutcome);
    if (outcome.ok() && *outcome == "finished") {
      return AlreadyExistsError(
          "{} already holds a finished run: choose another --dir, or remove it first (interlude "
          "report {} shows it)",
          directory, directory);
    }
  }
  if (std::filesystem::exists(path, error) && !std::filesystem::is_directory(path, error)) {
    return InvalidArgumentError("--dir {} is a file; give a directory", directory);
  }
  return OkStatus();
}

void AddSecurityOptions(CLI::App& app, SecurityOptions& options) {
  CLI::Option* keys =
      app.add_option(
             "--keys", options.keys,
             "This machine's files of interlude keys init; needed where the other side is on "
             "another machine")
          ->type_name("DIR");
  app.add_flag("--insecure", options.insecure,
               "Without keys all the same: anybody on the network may read along and join")
      ->excludes(keys);
}

void AddRankOptions(CLI::App& app, RankOptions& options, const std::string& devices_help) {
  app.add_option("--devices", options.devices, devices_help)->type_name("N|LIST");
  app.add_option("--rank-timeout", options.timeout_s,
                 "With --devices: how long one process of a worker may keep its others waiting")
      ->type_name("SECONDS")
      ->check(CLI::Range(1, 86'400).description(""))
      ->capture_default_str();
}

CLI::Option* AddCoordinatorOption(CLI::App& app, std::string& coordinator,
                                  const std::string& help) {
  return app.add_option("--coordinator", coordinator, help)
      ->type_name("HOST:PORT")
      ->check(AddressWithPort(1).description(""));
}

void AddWorkerOptions(CLI::App& app, WorkerCommandOptions& options) {
  AddCoordinatorOption(app, options.coordinator, "Where the coordinator listens")->required();
  app.add_option("--id", options.id,
                 "The worker's number, 0 to N-1; without it the coordinator gives one")
      ->type_name("K")
      ->check(CLI::Range(0, kMostWorkers - 1).description(""));
  AddThreadsOption(
      app, options.threads,
      "Threads for training and codec; without it what the configuration or the usable "
      "cores say");
  app.add_option("--data", options.data,
                 "This worker's own pictures where data.sharing = \"local\"; else where the data "
                 "set is on this machine, if not in data.directory")
      ->type_name("DIR")
      ->check(CLI::ExistingDirectory.description(""));
  AddRankOptions(app, options.ranks,
                 "Train with a process on each of these devices, such as cuda:0,cuda:1, or on so "
                 "many; they share each batch");
  app.add_option("--reconnect-for", options.reconnect_s,
                 "How long to try to come back when the coordinator is lost; 0: not at all")
      ->type_name("SECONDS")
      ->check(CLI::Range(0, 7 * 86'400).description(""))
      ->capture_default_str();
  app.add_flag("--finish-round", options.finish_round,
               "When told to stop (SIGTERM, Ctrl-C), finish the round first; a second signal stops "
               "at once");
  AddSecurityOptions(app, options.security);
}

std::vector<std::string> WorkerCommand(const std::string& program,
                                       const WorkerCommandOptions& options) {
  std::vector<std::string> command = {program, "--coordinator", options.coordinator};
  if (options.id) command.insert(command.end(), {"--id", std::to_string(*options.id)});
  if (options.threads > 0)
    command.insert(command.end(), {"--threads", std::to_string(options.threads)});
  if (!options.data.empty()) command.insert(command.end(), {"--data", options.data});
  if (!options.ranks.devices.empty())
    command.insert(command.end(), {"--devices", options.ranks.devices});
  if (options.ranks.timeout_s != kRankTimeoutSeconds)
    command.insert(command.end(), {"--rank-timeout", std::to_string(options.ranks.timeout_s)});
  if (options.reconnect_s != kReconnectSeconds)
    command.insert(command.end(), {"--reconnect-for", std::to_string(options.reconnect_s)});
  if (options.finish_round) command.emplace_back("--finish-round");
  if (!options.security.keys.empty())
    command.insert(command.end(), {"--keys", options.security.keys});
  if (options.security.insecure) command.push_back("--insecure");
  return command;
}

void AddWorkersDataOption(CLI::App& app, std::vector<std::string>& data) {
  app.add_option("--data", data,
                 "Each worker's own pictures, worker 0's first, where data.sharing = \"local\"")
      ->type_name("DIR")
      ->expected(1, -1)
      ->check(CLI::ExistingDirectory.description(""));
}

Status CheckWorkersData(const RunOptions& options, const RunConfig& config) {
  if (!IsLocal(config.data) && !options.data.empty()) {
    return InvalidArgumentError(
        "--data gives each worker pictures of its own, which takes data.sharing = \"local\"; where "
        "all share one data set, data.directory says where it is");
  }
  const size_t given = options.data.size();
  if (given == static_cast<size_t>(options.workers)) return OkStatus();
  const bool needed = IsLocal(config.data) && config.model.kind != ModelKind::kSynthetic;
  if (given == 0 && !needed) return OkStatus();
  return InvalidArgumentError(
      "data.sharing = \"local\": give each of the {} workers its own directory, --data DIR DIR "
      "...; given: {}",
      options.workers, given);
}

StatusOr<RunConfig> WithOwnData(RunConfig config, const std::string& data) {
  if (!data.empty()) config.data.directory = data;
  if (!data.empty() || !IsLocal(config.data) || config.model.kind == ModelKind::kSynthetic)
    return config;
  return InvalidArgumentError(
      "this run's data are local (data.sharing): say with --data DIR where this worker's own "
      "pictures are");
}

int WorkerThreads(int given, const RunConfig& config, const CpuLimits& limits, int workers) {
  if (given > 0) return given;
  if (config.threads > 0) return static_cast<int>(config.threads);
  return std::max(1, limits.UsableCores() / workers);
}

}  // namespace interlude
