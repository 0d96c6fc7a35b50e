// interlude coordinator: merges what workers send; they may be on other machines.
#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <memory>

#include "base/host_name.h"
#include "base/log.h"
#include "cli/commands.h"
#include "cli/exit_codes.h"
#include "cli/progress.h"
#include "cli/progress_printer.h"
#include "cli/run_options.h"
#include "cli/stop_signals.h"
#include "coordinator/coordinator.h"

namespace interlude {
namespace {

struct CoordinatorCommandOptions {
  RunOptions run;
  int ready_fd = -1;  // where `interlude run` learns the address and the beginning of the run
};

void TellParent(int ready_fd, const std::string& line) {
  if (ready_fd < 0) return;
  const std::string text = line + "\n";
  if (write(ready_fd, text.data(), text.size()) != static_cast<ssize_t>(text.size())) {
    LogWarning("cannot tell the parent process \"{}\": {}", line,
               ErrnoError(errno, "write").message());
  }
}

StatusOr<CoordinatorOptions> Prepare(const RunOptions& options) {
  CoordinatorOptions prepared;
  INTERLUDE_ASSIGN_OR_RETURN(prepared.config, LoadRunConfig(options.config));
  INTERLUDE_RETURN_IF_ERROR(CheckRunDirectory(options.directory));
  prepared.workers = static_cast<uint32_t>(options.workers);
  prepared.directory = options.directory;
  prepared.listen = options.listen;
  prepared.threads =
      options.threads > 0 ? options.threads : static_cast<int>(prepared.config.threads);
  return prepared;
}

int Run(const CoordinatorCommandOptions& options) {
  const auto prepared = Prepare(options.run);
  if (!prepared.ok()) return Fail(prepared.status(), ExitCodeFor(prepared.status()));
  InitLog("coordinator");
  signal(SIGPIPE, SIG_IGN);  // the run goes on when nobody reads its progress any more

  std::atomic<bool> interrupted = false;  // outlives the thread that sets it
  StopSignals signals;                    // before any thread
  ProgressPrinter printer(StandardOutput(options.run.quiet),
                          [&] { TellParent(options.ready_fd, "started"); });
  auto started = Coordinator::Start(*prepared, SystemClock(), &printer);
  if (!started.ok()) return Fail(started.status(), ExitCodeFor(started.status()));
  const std::shared_ptr<Coordinator> coordinator = *std::move(started);

  signals.Watch([coordinator, &interrupted](int signal_number) {
    interrupted = true;
    coordinator->Stop(fmt::format("stopped by {}", StopSignalName(signal_number)));
  });
  if (options.ready_fd >= 0) {
    TellParent(options.ready_fd, coordinator->address());
  } else if (!options.run.quiet) {
    printer.PrintLine(
        FormatInvitation(coordinator->address(), prepared->workers, HostName("HOST")));
  }

  const auto outcome = coordinator->Wait();
  printer.Flush();  // the error comes after what led to it
  if (!outcome.ok()) return Fail(outcome.status(), interrupted ? kExitInterrupted : kExitFailed);
  printer.PrintLine(FormatOutcome(*outcome, options.run.directory));
  return kExitOk;
}

}  // namespace

void AddCoordinatorCommand(CLI::App& app, Action& chosen) {
  auto options = std::make_shared<CoordinatorCommandOptions>();
  CLI::App* command =
      app.add_subcommand("coordinator", "Only the coordinator; workers join from anywhere");
  AddRunOptions(*command, options->run);
  AddListenOption(*command, options->run.listen)->required();
  command->add_option("--ready-fd", options->ready_fd)->group("");
  command->footer(
      "Example:\n  interlude coordinator --workers 2 --config run.toml --dir runs/far --listen "
      "0.0.0.0:50051\n\n"
      "The workers need only the address: interlude worker --coordinator HOST:50051");
  command->callback([options, &chosen] { chosen = [options] { return Run(*options); }; });
}

}  // namespace interlude
