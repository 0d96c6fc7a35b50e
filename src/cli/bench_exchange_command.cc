// interlude bench exchange: the whole exchange between real processes over loopback, beside what
// memory, loopback and disk of this machine can do.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "bench/exchange_figures.h"
#include "cli/bench_commands.h"
#include "cli/bench_directory.h"
#include "cli/bench_run.h"
#include "cli/exit_codes.h"
#include "cli/run_options.h"
#include "cli/stop_signals.h"

namespace interlude {
namespace {

constexpr size_t kMostMachineBytes = size_t{512} << 20;
constexpr char kAllModes[] = "all";

struct ExchangeBenchOptions {
  uint64_t params = 86'000'000;
  uint32_t workers = 2;
  uint32_t rounds = 3;
  std::string mode = kAllModes;
  std::vector<std::string> settings;
  int threads = 0;
  std::string directory;
  bool keep = false;
  bool quiet = false;
  std::string json;
};

std::vector<std::string> ModesOf(const ExchangeBenchOptions& options) {
  if (options.mode == kAllModes) return {kPipelinedMode, kBarrierMode, kBarrierSaveMode};
  return {options.mode};
}

/// Local steps take a time that depends on nothing but the size, and longer than moving the
/// parameters does, so that all workers begin the exchange together.
double StepMs(uint64_t params, uint32_t workers, int cores, uint32_t steps) {
  const double share = std::max(1.0, static_cast<double>(workers) / cores);
  return std::max(10.0, static_cast<double>(params) * 4e-6 * share / steps);
}

StatusOr<RunConfig> MakeConfig(const ExchangeBenchOptions& options) {
  RunConfig config;
  config.model.kind = ModelKind::kSynthetic;
  config.model.synthetic_params = options.params;
  config.round.rounds = options.rounds;
  config.round.local_steps = 2;
  config.model.synthetic_step_ms =
      StepMs(options.params, options.workers, ReadCpuLimits().UsableCores(), 2);
  INTERLUDE_RETURN_IF_ERROR(ApplySettings(options.settings, config));
  if (config.model.kind != ModelKind::kSynthetic)
    return InvalidArgumentError("model.kind: the benchmark exchanges a synthetic model only");
  return config;
}

/// Small models need no big arrays: a test is to be quick.
size_t MachineBytes(const RunConfig& config) {
  return std::clamp<size_t>(config.model.synthetic_params * sizeof(float), size_t{64} << 20,
                            kMostMachineBytes);
}

class ExchangeBench {
 public:
  ExchangeBench(const ExchangeBenchOptions& options, const BenchDirectory& directory)
      : options_(options), directory_(directory) {}

  StatusOr<ExchangeFigures> Run(const RunConfig& config) {
    figures_.config = config;
    figures_.workers = options_.workers;
    figures_.machine = DescribeMachine();
    INTERLUDE_RETURN_IF_ERROR(MeasureMachine());
    for (const std::string& mode : ModesOf(options_)) INTERLUDE_RETURN_IF_ERROR(RunMode(mode));
    Say("memory again");
    figures_.memory_after = MeasureMemory(figures_.machine.usable_cores, MachineBytes(config));
    INTERLUDE_RETURN_IF_ERROR(GoOn());
    return std::move(figures_);
  }

 private:
  void Say(const std::string& step) const {
    if (!options_.quiet) fmt::print(stderr, "== {}\n", step);
  }

  /// Cancelled once a stop signal has come.
  Status GoOn() { return signals_.Take() == 0 ? OkStatus() : CancelledError("interrupted"); }

  Status MeasureMachine() {
    Say("memory, loopback and disk of this machine");
    const size_t bytes = MachineBytes(figures_.config);
    figures_.memory_before = MeasureMemory(figures_.machine.usable_cores, bytes);
    INTERLUDE_RETURN_IF_ERROR(GoOn());
    INTERLUDE_ASSIGN_OR_RETURN(figures_.tcp_loopback, MeasureTcpLoopback(bytes));
    INTERLUDE_ASSIGN_OR_RETURN(figures_.disk_write, MeasureDiskWrite(directory_.path(), bytes));
    return GoOn();
  }

  Status RunMode(const std::string& mode) {
    Say(fmt::format("{}: {} workers, {} rounds", mode, options_.workers, options_.rounds));
    BenchRun run{.mode = mode,
                 .config = ConfigOfMode(figures_.config, mode),
                 .workers = options_.workers,
                 .threads = options_.threads,
                 .quiet = options_.quiet};
    INTERLUDE_ASSIGN_OR_RETURN(run.directory, directory_.MakeRun(mode));
    INTERLUDE_ASSIGN_OR_RETURN(ModeFigures figures, RunOnce(run));
    figures_.modes.push_back(std::move(figures));
    if (!options_.keep) directory_.RemoveRun(mode);
    return GoOn();
  }

  const ExchangeBenchOptions& options_;
  const BenchDirectory& directory_;
  StopSignals signals_;  // before any thread
  ExchangeFigures figures_;
};

/// The same parameters in every process and in every mode.
Status CheckResults(const ExchangeFigures& figures) {
  const std::string& root = figures.modes.front().summary.final_root;
  for (const ModeFigures& mode : figures.modes) {
    if (!mode.summary.hashes_agree)
      return DataLossError("{}: coordinator and workers do not agree on the parameters", mode.mode);
    if (mode.summary.final_root != root) {
      return DataLossError("{} and {} ended with different parameters: {}, {}",
                           figures.modes.front().mode, mode.mode, root, mode.summary.final_root);
    }
  }
  return OkStatus();
}

StatusOr<ExchangeFigures> Measure(const ExchangeBenchOptions& options) {
  INTERLUDE_ASSIGN_OR_RETURN(const RunConfig config, MakeConfig(options));
  std::vector<RunConfig> configs;
  for (const std::string& mode : ModesOf(options)) configs.push_back(ConfigOfMode(config, mode));
  INTERLUDE_RETURN_IF_ERROR(CheckMemory(configs, options.workers));
  INTERLUDE_ASSIGN_OR_RETURN(const BenchDirectory directory,
                             BenchDirectory::Create(options.directory, options.keep));
  INTERLUDE_RETURN_IF_ERROR(CheckDisk(directory.path(), configs, options.workers, options.keep));
  return ExchangeBench(options, directory).Run(config);
}

int Run(const ExchangeBenchOptions& options) {
  const auto figures = Measure(options);
  if (!figures.ok()) {
    const bool interrupted = figures.status().code() == StatusCode::kCancelled;
    return Fail(figures.status(), interrupted ? kExitInterrupted : ExitCodeFor(figures.status()));
  }
  PrintBenchText(FormatExchangeText(*figures), options.json);
  const Status written = WriteBenchJson(FormatExchangeJson(*figures), options.json);
  if (!written.ok()) return Fail(written, kExitFailed);
  const Status right = CheckResults(*figures);
  return right.ok() ? kExitOk : Fail(right, kExitFailed);
}

}  // namespace

void AddBenchExchangeCommand(CLI::App& bench, Action& chosen) {
  auto options = std::make_shared<ExchangeBenchOptions>();
  CLI::App* command = bench.add_subcommand(
      "exchange",
      "Rounds of real processes over loopback beside what this machine's memory can do");
  AddParamsOption(*command, options->params, "Parameters of the model, as 632M; 86M without it");
  command->add_option("--workers", options->workers, "How many workers take part")
      ->type_name("N")
      ->check(CLI::Range(1, 64).description(""))
      ->capture_default_str();
  command->add_option("--rounds", options->rounds, "Rounds; the first is a warm-up")
      ->type_name("N")
      ->check(CLI::Range(1, 100'000).description(""))
      ->capture_default_str();
  command
      ->add_option("--mode", options->mode,
                   "pipelined, barrier, barrier-save (a barrier, and the whole model saved every "
                   "round) or all three one after the other")
      ->type_name("MODE")
      ->check(CLI::IsMember({kPipelinedMode, kBarrierMode, kBarrierSaveMode, kAllModes})
                  .description(""))
      ->capture_default_str();
  AddSettingsOption(*command, options->settings);
  command
      ->add_option("--threads", options->threads,
                   "Threads of each process; without it what `interlude run` would take")
      ->type_name("T")
      ->check(CLI::Range(1, 1024).description(""));
  command
      ->add_option("--dir", options->directory,
                   "Where the runs go; without it a temporary directory")
      ->type_name("DIR");
  command->add_flag("--keep", options->keep, "Leave the runs and their logs there");
  command->add_flag("--quiet", options->quiet, "No progress on stderr");
  AddJsonOption(*command, options->json);
  command->footer(
      "Example:\n  interlude bench exchange --params 632M --workers 2 --rounds 3\n\n"
      "Fixed costs of a process weigh on small models: the memory bars say something from some 50 "
      "M "
      "parameters on.\nMissing a bar does not change the exit status; parameters that do not agree "
      "do.");
  command->callback([options, &chosen] { chosen = [options] { return Run(*options); }; });
}

}  // namespace interlude
