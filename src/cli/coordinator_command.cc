// interlude coordinator: merges what workers send; they may be on other machines. Of one run, or of
// one run after the other on the same address.
#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <filesystem>
#include <memory>
#include <optional>
#include <utility>

#include "base/address.h"
#include "base/hash_file.h"
#include "base/heap.h"
#include "base/host_name.h"
#include "base/log.h"
#include "base/mutex.h"
#include "base/process_memory.h"
#include "cli/commands.h"
#include "cli/exit_codes.h"
#include "cli/key_files.h"
#include "cli/progress.h"
#include "cli/progress_printer.h"
#include "cli/run_options.h"
#include "cli/stop_signals.h"
#include "coordinator/coordinator.h"
#include "web/live_page.h"

namespace interlude {
namespace {

struct CoordinatorCommandOptions {
  RunOptions run;
  uint32_t runs = 1;  // 0: until stopped
  SecurityOptions security;
  bool require_worker_certificates = false;
  int ready_fd = -1;  // where a parent process learns the address, and when runs begin and end
};

void TellParent(int ready_fd, const std::string& line) {
  if (ready_fd < 0) return;
  const std::string text = line + "\n";
  if (write(ready_fd, text.data(), text.size()) != static_cast<ssize_t>(text.size())) {
    LogWarning("cannot tell the parent process \"{}\": {}", line,
               ErrnoError(errno, "write").message());
  }
}

/// Where run `number` (from 1) goes.
std::string RunDirectory(const CoordinatorCommandOptions& options, uint32_t number) {
  if (options.runs == 1) return options.run.directory;
  return fmt::format("{}/run-{}", options.run.directory, number);
}

/// So that workers compare their file with the one that is here.
Status AddFileHash(ModelConfig& model) {
  std::error_code error;
  if (!model.file_hash.empty() || !std::filesystem::is_regular_file(model.file, error))
    return OkStatus();
  INTERLUDE_ASSIGN_OR_RETURN(const Hash128 hash, HashFile(model.file));
  model.file_hash = hash.ToHex();
  return OkStatus();
}

StatusOr<CoordinatorOptions> Prepare(const CoordinatorCommandOptions& options) {
  const RunOptions& run = options.run;
  CoordinatorOptions prepared;
  INTERLUDE_ASSIGN_OR_RETURN(prepared.config, LoadRunConfig(run.config));
  INTERLUDE_RETURN_IF_ERROR(AddFileHash(prepared.config.model));
  prepared.directory = RunDirectory(options, 1);
  INTERLUDE_RETURN_IF_ERROR(CheckRunDirectory(prepared.directory));
  prepared.workers = static_cast<uint32_t>(run.workers);
  prepared.listen = run.listen;
  prepared.threads = run.threads > 0 ? run.threads : static_cast<int>(prepared.config.threads);
  prepared.insecure = options.security.insecure;
  if (!options.security.keys.empty()) {
    INTERLUDE_ASSIGN_OR_RETURN(
        prepared.keys,
        LoadCoordinatorKeys(options.security.keys, options.require_worker_certificates,
                            SecondsSinceEpoch()));
  }
  return prepared;
}

/// The run that a stop is meant for. Any thread.
class CurrentRun {
 public:
  /// Of this run and of those to come.
  void Stop(const std::string& reason) {
    MutexLock lock(mutex_);
    reason_ = reason;
    if (run_ != nullptr) run_->Stop(reason);
  }
  bool stopped() const {
    MutexLock lock(mutex_);
    return reason_.has_value();
  }
  void Set(std::shared_ptr<Coordinator> run) {
    std::shared_ptr<Coordinator> old;  // goes away without the lock
    MutexLock lock(mutex_);
    old = std::exchange(run_, std::move(run));
    if (run_ != nullptr && reason_) run_->Stop(*reason_);
  }

 private:
  mutable Mutex mutex_;
  std::shared_ptr<Coordinator> run_ INTERLUDE_GUARDED_BY(mutex_);
  std::optional<std::string> reason_ INTERLUDE_GUARDED_BY(mutex_);
};

/// None where none was asked for.
StatusOr<std::unique_ptr<LivePage>> StartPage(const CoordinatorCommandOptions& options) {
  if (options.run.http.empty()) return std::unique_ptr<LivePage>();
  LivePageOptions page{.address = options.run.http, .insecure = options.security.insecure};
  if (!IsLoopback(page.address) && !options.security.keys.empty()) {
    INTERLUDE_ASSIGN_OR_RETURN(page.token, LoadPageToken(options.security.keys));
  }
  return LivePage::Start(page, SystemClock());
}

uint64_t AnonymousMemory() {
  const auto memory = ReadProcessMemory(getpid());
  return memory ? memory->anonymous : 0;
}

/// Serves runs one after the other.
class Service {
 public:
  Service(const CoordinatorCommandOptions& options, CoordinatorOptions prepared)
      : options_(options),
        prepared_(std::move(prepared)),
        printer_(StandardOutput(options.run.quiet), [this] {
          began_ = true;
          TellParent(options_.ready_fd, "started");
        }) {}

  int Run() {
    signals_.Watch([this](int signal_number) {
      current_.Stop(fmt::format("stopped by {}", StopSignalName(signal_number)));
    });
    auto page = StartPage(options_);
    if (!page.ok()) return Fail(page.status(), ExitCodeFor(page.status()));
    page_ = *std::move(page);
    if (page_ != nullptr) {
      prepared_.before_closing = [this] { page_->Hide(); };
      AnnouncePage();
    }
    bool all_well = true;
    for (uint32_t number = 1; options_.runs == 0 || number <= options_.runs; ++number) {
      prepared_.directory = RunDirectory(options_, number);
      const uint64_t before = AnonymousMemory();
      const auto outcome = ServeOne();
      // A coordinator that serves until it is stopped ends well when no run is under way.
      if (current_.stopped() && options_.runs == 0 && !began_) break;
      if (!bound_) return Fail(outcome.status(), ExitCodeFor(outcome.status()));
      if (!outcome.ok()) Fail(outcome.status(), kExitFailed);
      if (!outcome.ok() && current_.stopped()) return kExitInterrupted;
      all_well = all_well && outcome.ok();
      if (options_.runs != 1) GiveBackMemory(before);
    }
    return all_well ? kExitOk : kExitFailed;
  }

 private:
  StatusOr<RunOutcome> ServeOne() {
    began_ = false;
    bound_ = false;
    INTERLUDE_ASSIGN_OR_RETURN(auto started,
                               Coordinator::Start(prepared_, SystemClock(), &printer_));
    const std::shared_ptr<Coordinator> coordinator = std::move(started);
    bound_ = true;
    current_.Set(coordinator);
    Announce(coordinator->address());
    if (page_ != nullptr) page_->Show(prepared_.directory);
    const auto outcome = coordinator->Wait();
    current_.Set(nullptr);
    printer_.Flush();  // an error comes after what led to it
    if (outcome.ok()) printer_.PrintLine(FormatOutcome(*outcome, prepared_.directory));
    return outcome;
  }

  void Announce(const std::string& address) {
    const bool first = std::exchange(prepared_.listen, address) != address;
    if (options_.ready_fd >= 0) {
      if (first || !announced_) TellParent(options_.ready_fd, address);
    } else if (!options_.run.quiet) {
      printer_.PrintLine(FormatInvitation(address, prepared_.workers, HostName("HOST"), Proof()));
    }
    announced_ = true;
  }

  void AnnouncePage() {
    const std::string& address = page_->address();
    const std::string_view host = HostOf(address);
    const bool everywhere = host == "0.0.0.0" || host == "[::]";
    const std::string name = everywhere ? HostName("HOST") : std::string(host);
    const bool asks = !IsLoopback(address) && !options_.security.keys.empty();
    const std::string line =
        fmt::format("page: http://{}{}/{}", name, address.substr(host.size()),
                    asks ? "?token=TOKEN, which is in page.token of the keys" : "");
    LogInfo("{}", line);
    if (!options_.run.quiet) printer_.PrintLine(line);
  }

  /// What each worker's command line needs besides the address.
  std::string Proof() const {
    if (prepared_.keys)
      return options_.require_worker_certificates ? " --keys DIR --id K" : " --keys DIR";
    return prepared_.insecure ? " --insecure" : "";
  }

  /// Called when the run's objects are gone: what they left in the heap goes back too.
  void GiveBackMemory(uint64_t before) {
    printer_.Flush();
    ReturnFreedMemory();
    LogInfo("memory after the run: {:.1f} MiB anonymous, {:.1f} MiB before it",
            static_cast<double>(AnonymousMemory()) / 0x1p20, static_cast<double>(before) / 0x1p20);
    TellParent(options_.ready_fd, "ended");
  }

  const CoordinatorCommandOptions& options_;
  CoordinatorOptions prepared_;
  CurrentRun current_;
  std::atomic<bool> began_ = false;  // the run, by all its workers
  bool bound_ = false;               // the run could be waited for
  bool announced_ = false;
  StopSignals signals_;  // before any thread, so before the printer
  ProgressPrinter printer_;
  std::unique_ptr<LivePage> page_;
};

int Run(const CoordinatorCommandOptions& options) {
  auto prepared = Prepare(options);
  if (!prepared.ok()) return Fail(prepared.status(), ExitCodeFor(prepared.status()));
  ShareOneHeap();
  InitLog("coordinator");
  signal(SIGPIPE, SIG_IGN);  // the run goes on when nobody reads its progress any more
  return Service(options, *std::move(prepared)).Run();
}

}  // namespace

void AddCoordinatorCommand(CLI::App& app, Action& chosen) {
  auto options = std::make_shared<CoordinatorCommandOptions>();
  CLI::App* command =
      app.add_subcommand("coordinator", "Only the coordinator; workers join from anywhere");
  AddRunOptions(*command, options->run);
  AddListenOption(*command, options->run.listen)->required();
  command
      ->add_option(
          "--runs", options->runs,
          "Runs to serve one after the other, in DIR/run-1, DIR/run-2 ...; 0: until stopped")
      ->type_name("N")
      ->capture_default_str();
  AddSecurityOptions(*command, options->security);
  command
      ->add_flag("--require-worker-certificates", options->require_worker_certificates,
                 "A worker must show a certificate that ca.crt has signed, and is the one it names")
      ->needs("--keys");
  command->add_option("--ready-fd", options->ready_fd)->group("");
  command->footer(
      "Example:\n  interlude keys init keys --name HOST\n"
      "  interlude coordinator --workers 2 --config run.toml --dir runs/far --listen 0.0.0.0:50051 "
      "--keys keys\n\n"
      "The workers need the address and their keys: interlude worker --coordinator HOST:50051 "
      "--keys "
      "keys");
  command->callback([options, &chosen] { chosen = [options] { return Run(*options); }; });
}

}  // namespace interlude
