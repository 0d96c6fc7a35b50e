// A program run by a test as a person would run it: its output comes through a pipe, and the end of
// a second pipe, which all its descendants inherit, shows that none of them is left.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace interlude {

/// One thread. What it waits for must come within a minute, else the test fails.
class Process {
 public:
  /// arguments[0] is the program. Aborts when it cannot be started.
  explicit Process(const std::vector<std::string>& arguments);
  /// Kills it if it still runs.
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  pid_t pid() const { return pid_; }
  void Signal(int signal_number) const;

  /// Reads on until the output so far (stdout and stderr mixed) contains `text`; false, and a test
  /// failure with the output, when it ends before.
  bool AwaitOutput(const std::string& text);
  /// The same, and forgets the output up to the end of `text`: what is said again can be awaited
  /// again.
  bool AwaitNext(const std::string& text);
  /// Reads to the end of the output and waits for the process. Its exit status, or minus the signal
  /// that killed it.
  int AwaitExit();
  /// True once neither the process nor any descendant runs.
  bool AllGone();
  /// Process ids of its children whose command line contains `text`.
  std::vector<pid_t> ChildrenWith(const std::string& text) const;

  const std::string& output() const { return output_; }

 private:
  bool ReadMore();

  pid_t pid_ = -1;
  int output_fd_ = -1;
  int alive_fd_ = -1;
  bool reaped_ = false;
  std::string output_;
};

}  // namespace interlude
