#include "cli/stop_signals.h"

#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <ucontext.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <utility>

#include "base/check.h"
#include "cli/exit_codes.h"

namespace interlude {
namespace {

/// Runs where a signal found a thread that doesn't hold it back: that thread does from now on, and
/// the signal waits for one that takes it.
void PassOn(int signal_number, siginfo_t* /*info*/, void* context) {
  sigaddset(&static_cast<ucontext_t*>(context)->uc_sigmask, signal_number);
  kill(getpid(), signal_number);
}

}  // namespace

StopSignals::StopSignals() {
  sigemptyset(&signals_);
  for (int signal_number : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction action = {};
    sigaction(signal_number, nullptr, &action);
    if (action.sa_handler == SIG_IGN) continue;
    sigaddset(&signals_, signal_number);
    actions_before_[signal_number] = action;
  }
  pthread_sigmask(SIG_BLOCK, &signals_, &mask_before_);
  struct sigaction pass_on = {};
  pass_on.sa_sigaction = PassOn;
  pass_on.sa_flags = SA_SIGINFO | SA_RESTART;
  for (const auto& [signal_number, action] : actions_before_)
    sigaction(signal_number, &pass_on, nullptr);
  fd_ = signalfd(-1, &signals_, SFD_CLOEXEC | SFD_NONBLOCK);
  quit_fd_ = eventfd(0, EFD_CLOEXEC);
  INTERLUDE_CHECK(fd_ >= 0 && quit_fd_ >= 0, "no file descriptor left at the program's start");
}

StopSignals::~StopSignals() {
  if (watcher_.joinable()) {
    eventfd_write(quit_fd_, 1);
    watcher_.join();
  }
  close(fd_);
  close(quit_fd_);
  for (const auto& [signal_number, action] : actions_before_)
    sigaction(signal_number, &action, nullptr);
  pthread_sigmask(SIG_SETMASK, &mask_before_, nullptr);
}

int StopSignals::Take() {
  signalfd_siginfo info = {};
  if (read(fd_, &info, sizeof info) != sizeof info) return 0;
  return static_cast<int>(info.ssi_signo);
}

void StopSignals::Watch(std::function<void(int)> on_first) {
  INTERLUDE_CHECK(!watcher_.joinable(), "stop signals are watched already");
  watcher_ = std::thread([this, on_first = std::move(on_first)] { WatchLoop(on_first); });
}

void StopSignals::WatchLoop(const std::function<void(int)>& on_first) {
  bool seen = false;
  while (true) {
    std::array<pollfd, 2> events = {{{fd_, POLLIN, 0}, {quit_fd_, POLLIN, 0}}};
    if (poll(events.data(), events.size(), -1) < 0) continue;
    if (events[1].revents != 0) return;
    const int signal_number = Take();
    if (signal_number == 0) continue;
    if (seen) _exit(kExitInterrupted);
    seen = true;
    on_first(signal_number);
  }
}

const char* StopSignalName(int signal_number) {
  switch (signal_number) {
    case SIGINT:
      return "SIGINT";
    case SIGTERM:
      return "SIGTERM";
    case SIGHUP:
      return "SIGHUP";
    default:
      return "a signal";
  }
}

}  // namespace interlude
