// interlude doctor: what of this machine, and of the way to the coordinator, will cost a run time.
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>

#include "base/log.h"
#include "cli/bench_commands.h"
#include "cli/child_process.h"
#include "cli/commands.h"
#include "cli/exit_codes.h"
#include "cli/key_files.h"
#include "cli/programs.h"
#include "cli/run_options.h"
#include "doctor/doctor.h"
#include "store/file.h"

namespace interlude {
namespace {

/// LibTorch takes a second or two to load.
constexpr std::chrono::milliseconds kBlasWithin{4000};
constexpr std::chrono::seconds kConnectWithin{3};

struct DoctorCommandOptions {
  Job job;
  std::string directory = ".";
  std::string coordinator;
  std::optional<int> id;
  SecurityOptions security;
  bool json = false;
};

/// What comes through the pipe until its other end is closed; DeadlineExceeded when that takes
/// longer than `within`.
StatusOr<std::string> ReadToEnd(int pipe, std::chrono::milliseconds within) {
  const auto due = std::chrono::steady_clock::now() + within;
  std::string text;
  for (;;) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        due - std::chrono::steady_clock::now());
    pollfd readable{.fd = pipe, .events = POLLIN, .revents = 0};
    const int ready = left.count() <= 0 ? 0 : ::poll(&readable, 1, static_cast<int>(left.count()));
    if (ready == 0)
      return DeadlineExceededError(
          "interlude-worker took longer than {} ms to say which BLAS it has", within.count());
    if (ready < 0 && errno == EINTR) continue;
    std::array<char, 256> piece;
    const ssize_t got = ::read(pipe, piece.data(), piece.size());
    if (got == 0) return text;
    if (got < 0 && errno != EINTR)
      return ErrnoError(errno, "cannot read what interlude-worker says");
    if (got > 0) text.append(piece.data(), static_cast<size_t>(got));
  }
}

StatusOr<std::string> AskBlas() {
  INTERLUDE_ASSIGN_OR_RETURN(const std::string program, WorkerProgram());
  std::array<int, 2> ends = {-1, -1};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return ErrnoError(errno, "cannot make a pipe");
  const FileDescriptor from_child(ends[0]);
  FileDescriptor to_parent(ends[1]);
  INTERLUDE_ASSIGN_OR_RETURN(const ChildProcess child,
                             ChildProcess::Start({.name = "interlude-worker",
                                                  .arguments = {program, "--check-blas"},
                                                  .log_path = "/dev/null",
                                                  .stdout_fd = to_parent.get()}));
  to_parent.Close();
  return ReadToEnd(from_child.get(), kBlasWithin);
}

std::optional<std::string> FromEnvironment(const std::string& name) {
  const char* const value = std::getenv(name.c_str());
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

StatusOr<std::optional<WorkerOptions>> CoordinatorOf(const DoctorCommandOptions& options) {
  if (options.coordinator.empty()) return std::optional<WorkerOptions>();
  WorkerOptions worker;
  worker.coordinator = options.coordinator;
  worker.connect_timeout = kConnectWithin;
  worker.insecure = options.security.insecure;
  if (!options.security.keys.empty()) {
    INTERLUDE_ASSIGN_OR_RETURN(
        worker.keys, LoadWorkerKeys(options.security.keys, options.id, SecondsSinceEpoch()));
  }
  INTERLUDE_RETURN_IF_ERROR(CheckExposure(worker));
  return std::optional(std::move(worker));
}

int Run(const DoctorCommandOptions& options) {
  InitLog("doctor");
  signal(SIGPIPE, SIG_IGN);
  DoctorOptions doctor{.job = options.job,
                       .directory = options.directory,
                       .ask_blas = AskBlas,
                       .environment = FromEnvironment};
  auto coordinator = CoordinatorOf(options);
  if (!coordinator.ok()) return Fail(coordinator.status(), ExitCodeFor(coordinator.status()));
  doctor.coordinator = *std::move(coordinator);
  const Checks checks = Examine(doctor);
  const bool color = isatty(STDOUT_FILENO) == 1 && std::getenv("NO_COLOR") == nullptr;
  const std::string text = options.json ? FormatChecksJson(checks) : FormatChecks(checks, color);
  const bool written =
      std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0;
  return written && !AnyBad(checks) ? kExitOk : kExitFailed;
}

void AddOptions(CLI::App& app, DoctorCommandOptions& options) {
  AddCoordinatorOption(app, options.coordinator, "Also look at the way to this coordinator");
  app.add_option("--id", options.id, "Whose certificate in --keys to show; as interlude worker")
      ->type_name("K")
      ->check(CLI::NonNegativeNumber.description(""));
  AddSecurityOptions(app, options.security);
  AddParamsOption(app, options.job.params,
                  "Parameters of the model, such as 632M: whether memory, disk and line suffice");
  app.add_option("--workers", options.job.workers, "Workers of the run, for its coordinator's disk")
      ->type_name("N")
      ->check(CLI::Range(1, 65'536).description(""))
      ->capture_default_str();
  app.add_option("--train-seconds", options.job.train_seconds,
                 "What a round's local steps take, to compare the exchange with")
      ->type_name("S")
      ->check(CLI::PositiveNumber.description(""));
  app.add_option("--dir", options.directory, "Where a run's directory would be")
      ->type_name("DIR")
      ->capture_default_str();
  app.add_flag("--json", options.json, "The same as JSON");
}

}  // namespace

void AddDoctorCommand(CLI::App& app, Action& chosen) {
  auto options = std::make_shared<DoctorCommandOptions>();
  CLI::App* command =
      app.add_subcommand("doctor", "What of this machine will cost a run time, before it does");
  AddOptions(*command, *options);
  command->footer(
      "Exit status: 0 nothing is bad, 1 something is.\n"
      "Example:\n  interlude doctor --params 632M\n"
      "  interlude doctor --coordinator 10.0.0.5:50051 --keys keys --params 632M --train-seconds "
      "48");
  command->callback([options, &chosen] { chosen = [options] { return Run(*options); }; });
}

}  // namespace interlude
