// SIGINT, SIGTERM and SIGHUP as ordinary events on an ordinary thread, where everything may be
// called.
#pragma once

#include <signal.h>

#include <functional>
#include <map>
#include <thread>

namespace interlude {

/// Holds the stop signals back from the calling thread and from every thread it starts; so it is
/// made before any other. A thread that a library started before the program (OpenBLAS does) passes
/// them on. A signal that whoever started the program had set to be ignored (nohup)
/// stays ignored.
class StopSignals {
 public:
  StopSignals();
  /// Ends the watching and lets the signals through again.
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  /// A descriptor that is readable when a stop signal is waiting; Take takes it.
  int fd() const { return fd_; }
  /// The number of one waiting signal, 0 when there is none.
  int Take();

  /// Starts a thread that calls `on_first` for the first signal (one that came before counts too)
  /// and ends the process at once with kExitInterrupted on the second. Once.
  void Watch(std::function<void(int signal_number)> on_first);

 private:
  void WatchLoop(const std::function<void(int)>& on_first);

  sigset_t signals_;
  std::map<int, struct sigaction> actions_before_;
  sigset_t mask_before_;
  int fd_ = -1;
  int quit_fd_ = -1;
  std::thread watcher_;
};

/// "SIGINT" and the like.
const char* StopSignalName(int signal_number);

}  // namespace interlude
