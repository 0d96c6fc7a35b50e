// A child process for supervisor_test that does what its arguments say, one after the other:
//   write FD TEXT   TEXT and a newline to descriptor FD
//   polite          hold SIGTERM back for await-term
//   deaf            ignore SIGTERM
//   await-term      wait for SIGTERM
//   await FD        wait until a byte or the end of the file can be read from FD
//   complain TEXT   TEXT and a newline to stderr
//   forever         wait until killed
//   die SIGNAL      be killed by the signal
//   exit STATUS
#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

namespace {

void WriteLine(int fd, std::string text) {
  text += '\n';
  if (write(fd, text.data(), text.size()) != static_cast<ssize_t>(text.size())) _exit(99);
}

}  // namespace

int main(int argc, char** argv) {
  sigset_t term;
  sigemptyset(&term);
  sigaddset(&term, SIGTERM);
  for (int i = 1; i < argc; ++i) {
    const std::string action = argv[i];
    const auto next = [&] { return ++i < argc ? argv[i] : ""; };
    if (action == "write") {
      const int fd = std::atoi(next());
      WriteLine(fd, next());
    } else if (action == "polite") {
      sigprocmask(SIG_BLOCK, &term, nullptr);
    } else if (action == "deaf") {
      signal(SIGTERM, SIG_IGN);
    } else if (action == "await-term") {
      int received = 0;
      sigwait(&term, &received);
    } else if (action == "await") {
      char byte = 0;
      if (read(std::atoi(next()), &byte, 1) < 0) _exit(98);
    } else if (action == "complain") {
      WriteLine(STDERR_FILENO, next());
    } else if (action == "forever") {
      while (true) pause();
    } else if (action == "die") {
      raise(std::atoi(next()));
    } else if (action == "exit") {
      return std::atoi(next());
    } else {
      WriteLine(STDERR_FILENO, "unknown action " + action);
      return 97;
    }
  }
  return 0;
}
