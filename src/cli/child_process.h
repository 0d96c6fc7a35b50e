// One child process that never outlives its parent: the kernel kills it when the parent dies,
// however that comes about. Not a shell: no pipes between children. One thread at a time, and
// always the same one, which must live as long as the child (the kernel's promise is tied to the
// thread that started it).
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "base/status.h"

namespace interlude {

/// What to start, and where its output goes.
struct ChildSpec {
  std::string name;                    // "worker 3", for messages
  std::vector<std::string> arguments;  // [0] is the program's path
  std::string log_path;                // stderr, and stdout without stdout_fd; emptied first.
                                       // Empty: the parent's stderr
  int stdout_fd = -1;                  // what stdout becomes; -1: the log
  int inherited_fd = -1;               // stays open in the child under the same number; -1: none
};

/// How a child ended.
struct ChildExit {
  int code = 0;    // meaningful when signal is 0
  int signal = 0;  // the signal that killed it; 0: none

  bool ok() const { return code == 0 && signal == 0; }
  /// "exit status 1", "killed by signal 9 (Killed)".
  std::string ToString() const;
};

/// The child leads its own process group, so that a terminal's Ctrl-C reaches the parent alone.
/// Move only.
class ChildProcess {
 public:
  /// Returns once the program runs. NotFound and the like, with the path, when it cannot be run.
  static StatusOr<ChildProcess> Start(const ChildSpec& spec);
  /// Kills what still runs and waits for its end.
  ~ChildProcess();
  ChildProcess(ChildProcess&& other) noexcept;
  ChildProcess& operator=(ChildProcess&& other) noexcept;

  const std::string& name() const { return name_; }
  const std::string& log_path() const { return log_path_; }
  pid_t pid() const { return pid_; }
  /// Readable when the child has ended. Closed, and -1, after Reap.
  int pidfd() const { return pidfd_; }
  bool running() const { return pidfd_ >= 0; }

  /// Sends to the child's process group. Does nothing after Reap.
  void Signal(int signal_number);
  /// When the child has ended: how, and whatever it left in its process group is killed. Else
  /// nothing.
  std::optional<ChildExit> Reap();

 private:
  ChildProcess(const ChildSpec& spec, pid_t pid, int pidfd);
  void End();

  std::string name_;
  std::string log_path_;
  pid_t pid_ = -1;
  int pidfd_ = -1;
};

}  // namespace interlude
