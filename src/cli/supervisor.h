// `interlude run`'s oversight of one coordinator and N workers as child processes: starts them,
// waits, passes a stop on, and says how it went. Knows nothing of training or gRPC: children are
// command lines.
#pragma once

#include <unistd.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "cli/child_process.h"

namespace interlude {

struct SupervisionPlan {
  uint32_t workers = 1;
  /// Exists. Gets coordinator.log and worker-K.log.
  std::string log_directory;
  /// The coordinator's command. It writes "host:port\n" to `ready_fd` when workers may connect,
  /// "started\n" when all workers are there and the run began, and, when it stays up for the next
  /// run, "ended\n" after this one; it is then asked to stop.
  std::function<std::vector<std::string>(int ready_fd)> coordinator_command;
  std::function<std::vector<std::string>(uint32_t worker, const std::string& address)>
      worker_command;
  /// How long a child may take to end after it was asked to, or after those it works with have
  /// ended.
  Nanoseconds grace = std::chrono::seconds(10);
  /// Where the coordinator's stdout, its progress, goes; -1: its log.
  int coordinator_stdout = STDOUT_FILENO;
  /// Called for each child that was started.
  std::function<void(const std::string& name, pid_t pid)> on_child = [](const auto&, pid_t) {};
  /// Called at "ended", before the coordinator is asked to stop.
  std::function<void()> on_run_ended = [] {};
  /// Gets what a person should know while it goes on.
  std::function<void(const std::string& message)> notice = [](const std::string&) {};
};

/// A child that ended badly, and not because it was told to.
struct ChildFailure {
  std::string name;
  ChildExit exit;
  std::string log_path;
};

/// How it ended and the last lines of its log, without a newline at the end.
std::string FormatFailure(const ChildFailure& failure);

struct SupervisionResult {
  int exit_code = 0;
  std::vector<ChildFailure> failures;  // in the order of their ends
};

/// Blocks until every child has ended. While it runs, SIGINT, SIGTERM and SIGHUP are its own: the
/// first asks the children to stop (SIGTERM) and kills them after `grace`, the second kills at
/// once.
///  - coordinator ended well: kExitOk, or kExitWorkerLost when a worker did not;
///  - coordinator failed: kExitFailed, or kExitUsage when that was its exit status;
///  - a worker ended badly before the run began, or all workers are gone: the rest is stopped,
///  kExitFailed;
///  - interrupted: kExitInterrupted.
/// An error when a child could not be started; those that were have ended by then. Call it from the
/// main thread.
StatusOr<SupervisionResult> Supervise(const SupervisionPlan& plan);

}  // namespace interlude
