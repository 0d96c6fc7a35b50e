#include "cli/supervisor.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <optional>
#include <utility>

#include "cli/exit_codes.h"
#include "cli/log_tail.h"
#include "cli/stop_signals.h"

namespace interlude {
namespace {

constexpr size_t kShownLogLines = 12;

class Supervisor {
 public:
  explicit Supervisor(const SupervisionPlan& plan) : plan_(plan) {}
  ~Supervisor() {
    if (ready_fd_ >= 0) close(ready_fd_);
  }

  Status StartCoordinator();
  StatusOr<SupervisionResult> Watch();

 private:
  // What is awaited: the children's own end, their end after SIGTERM, their end after SIGKILL.
  enum class Stage { kRunning, kAsked, kKilled };

  void Started(ChildProcess child);
  bool AnyRunning() const;
  uint32_t RunningWorkers() const;
  bool AllWorkersFailed() const;
  Status WaitForEvents();
  void OnSignal();
  Status OnReady();
  Status OnReadyLine(const std::string& line);
  void OnExit(ChildProcess& child, const ChildExit& exit);
  void OnCoordinatorExit(const ChildExit& exit);
  void OnWorkerExit(const ChildExit& exit);
  void OnDeadline();
  void AskAll();
  void KillAll();
  void SetDeadline() { deadline_ = SystemClock().Now() + plan_.grace; }
  int PollTimeoutMs() const;
  int ExitCode() const;

  const SupervisionPlan& plan_;
  StopSignals signals_;  // before any child: what a terminal sends meanwhile waits for us
  std::vector<ChildProcess> children_;  // the coordinator, then the workers
  int ready_fd_ = -1;
  std::string ready_text_;
  bool started_ = false;  // the coordinator said that the run began
  bool interrupted_ = false;
  bool gave_up_ = false;
  Stage stage_ = Stage::kRunning;
  std::optional<Nanoseconds> deadline_;
  std::optional<ChildExit> coordinator_exit_;
  std::vector<ChildFailure> failures_;
};

Status Supervisor::StartCoordinator() {
  std::array<int, 2> ready = {-1, -1};
  if (pipe2(ready.data(), O_CLOEXEC) != 0) return ErrnoError(errno, "cannot make a pipe");
  ready_fd_ = ready[0];
  fcntl(ready_fd_, F_SETFL, O_NONBLOCK);
  auto child = ChildProcess::Start({.name = "coordinator",
                                    .arguments = plan_.coordinator_command(ready[1]),
                                    .log_path = plan_.log_directory + "/coordinator.log",
                                    .stdout_fd = plan_.coordinator_stdout,
                                    .inherited_fd = ready[1]});
  close(ready[1]);
  if (!child.ok()) return child.status();
  Started(*std::move(child));
  return OkStatus();
}

void Supervisor::Started(ChildProcess child) {
  plan_.on_child(child.name(), child.pid());
  children_.push_back(std::move(child));
}

StatusOr<SupervisionResult> Supervisor::Watch() {
  while (AnyRunning()) INTERLUDE_RETURN_IF_ERROR(WaitForEvents());
  return SupervisionResult{
      .exit_code = ExitCode(),
      .failures = interrupted_ ? std::vector<ChildFailure>{} : std::move(failures_)};
}

bool Supervisor::AnyRunning() const {
  return std::any_of(children_.begin(), children_.end(),
                     [](const auto& child) { return child.running(); });
}

uint32_t Supervisor::RunningWorkers() const {
  return static_cast<uint32_t>(std::count_if(children_.begin() + 1, children_.end(),
                                             [](const auto& child) { return child.running(); }));
}

bool Supervisor::AllWorkersFailed() const {
  const auto failed = std::count_if(failures_.begin(), failures_.end(), [&](const auto& failure) {
    return failure.name != children_.front().name();
  });
  return static_cast<size_t>(failed) == children_.size() - 1;
}

Status Supervisor::WaitForEvents() {
  std::vector<pollfd> events = {{signals_.fd(), POLLIN, 0}, {ready_fd_, POLLIN, 0}};
  for (const ChildProcess& child : children_) events.push_back({child.pidfd(), POLLIN, 0});
  if (poll(events.data(), events.size(), PollTimeoutMs()) < 0) return OkStatus();

  if (events[0].revents != 0) OnSignal();
  // Before the exits, so that a worker that ends right after the start does not seem to end before
  // it.
  if (events[1].revents != 0) INTERLUDE_RETURN_IF_ERROR(OnReady());
  for (ChildProcess& child : children_) {
    if (const auto exit = child.Reap()) OnExit(child, *exit);
  }
  if (deadline_ && SystemClock().Now() >= *deadline_) OnDeadline();
  return OkStatus();
}

void Supervisor::OnSignal() {
  const int signal_number = signals_.Take();
  if (signal_number == 0) return;
  if (std::exchange(interrupted_, true)) {
    KillAll();
    plan_.notice("killing all processes");
    return;
  }
  AskAll();
  plan_.notice(fmt::format("{}: stopping all processes; once more kills them at once",
                           StopSignalName(signal_number)));
}

Status Supervisor::OnReady() {
  std::array<char, 256> piece;
  const ssize_t got = read(ready_fd_, piece.data(), piece.size());
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return OkStatus();
  if (got <= 0) {
    close(std::exchange(ready_fd_, -1));
    return OkStatus();
  }
  ready_text_.append(piece.data(), static_cast<size_t>(got));
  for (size_t end = ready_text_.find('\n'); end != std::string::npos;
       end = ready_text_.find('\n')) {
    const std::string line = ready_text_.substr(0, end);
    ready_text_.erase(0, end + 1);
    INTERLUDE_RETURN_IF_ERROR(OnReadyLine(line));
  }
  return OkStatus();
}

Status Supervisor::OnReadyLine(const std::string& line) {
  if (children_.size() > 1) {
    started_ = started_ || line == "started";
    if (line == "ended" && stage_ == Stage::kRunning) {
      plan_.on_run_ended();
      children_.front().Signal(SIGTERM);  // it would wait for the next run
    }
    return OkStatus();
  }
  if (stage_ != Stage::kRunning) return OkStatus();
  for (uint32_t worker = 0; worker < plan_.workers; ++worker) {
    INTERLUDE_ASSIGN_OR_RETURN(
        auto child, ChildProcess::Start({.name = fmt::format("worker {}", worker),
                                         .arguments = plan_.worker_command(worker, line),
                                         .log_path = fmt::format("{}/worker-{}.log",
                                                                 plan_.log_directory, worker)}));
    Started(std::move(child));
  }
  return OkStatus();
}

void Supervisor::OnExit(ChildProcess& child, const ChildExit& exit) {
  const bool was_told =
      stage_ != Stage::kRunning &&
      (exit.code == kExitInterrupted || exit.signal == SIGTERM || exit.signal == SIGKILL);
  if (!exit.ok() && !was_told) failures_.push_back({child.name(), exit, child.log_path()});
  if (&child == &children_.front()) {
    OnCoordinatorExit(exit);
  } else {
    OnWorkerExit(exit);
  }
}

void Supervisor::OnCoordinatorExit(const ChildExit& exit) {
  coordinator_exit_ = exit;
  if (stage_ != Stage::kRunning) return;
  if (exit.ok()) {
    SetDeadline();  // the workers know that the run is over
  } else {
    AskAll();
  }
}

void Supervisor::OnWorkerExit(const ChildExit& exit) {
  if (stage_ != Stage::kRunning || coordinator_exit_) return;
  if (!started_ && !exit.ok()) {
    gave_up_ = true;  // the coordinator would wait for it for ever
    AskAll();
  } else if (RunningWorkers() == 0 && AllWorkersFailed()) {
    plan_.notice("no worker is left; stopping the coordinator");
    AskAll();
  } else if (RunningWorkers() == 0) {
    SetDeadline();  // the coordinator has the last results to write
  }
}

void Supervisor::OnDeadline() {
  deadline_.reset();
  if (stage_ == Stage::kAsked) {
    KillAll();
  } else if (stage_ == Stage::kRunning) {
    for (const ChildProcess& child : children_) {
      if (child.running())
        plan_.notice(fmt::format("{} does not end by itself; stopping it", child.name()));
    }
    gave_up_ = gave_up_ || !coordinator_exit_;
    AskAll();
  }
}

// The coordinator first: it then knows why the workers go.
void Supervisor::AskAll() {
  if (stage_ != Stage::kRunning) return;
  stage_ = Stage::kAsked;
  for (ChildProcess& child : children_) child.Signal(SIGTERM);
  SetDeadline();
}

void Supervisor::KillAll() {
  stage_ = Stage::kKilled;
  deadline_.reset();
  for (ChildProcess& child : children_) child.Signal(SIGKILL);
}

int Supervisor::PollTimeoutMs() const {
  if (!deadline_) return -1;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(*deadline_ - SystemClock().Now());
  return static_cast<int>(std::clamp<int64_t>(left.count(), 0, 1'000'000));
}

int Supervisor::ExitCode() const {
  if (interrupted_) return kExitInterrupted;
  if (gave_up_ || !coordinator_exit_) return kExitFailed;
  if (!coordinator_exit_->ok())
    return coordinator_exit_->code == kExitUsage ? kExitUsage : kExitFailed;
  return failures_.empty() ? kExitOk : kExitWorkerLost;
}

}  // namespace

std::string FormatFailure(const ChildFailure& failure) {
  std::string text = fmt::format("{}: {}. The end of its log {}:", failure.name,
                                 failure.exit.ToString(), failure.log_path);
  const auto lines = LastLines(failure.log_path, kShownLogLines);
  for (const std::string& line : lines) text += "\n  | " + line;
  return lines.empty() ? text + "\n  (empty)" : text;
}

StatusOr<SupervisionResult> Supervise(const SupervisionPlan& plan) {
  Supervisor supervisor(plan);
  INTERLUDE_RETURN_IF_ERROR(supervisor.StartCoordinator());
  return supervisor.Watch();
}

}  // namespace interlude
