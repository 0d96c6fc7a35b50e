#include "tests/process.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <iterator>

namespace interlude {
namespace {

constexpr int kPatienceMs = 60'000;

bool Readable(int fd) {
  pollfd event = {fd, POLLIN, 0};
  return poll(&event, 1, kPatienceMs) == 1;
}

std::string ReadWhole(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

}  // namespace

Process::Process(const std::vector<std::string>& arguments) {
  std::vector<char*> argv;
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  std::array<int, 2> output;
  std::array<int, 2> alive;
  if (pipe2(output.data(), O_CLOEXEC) != 0 || pipe2(alive.data(), O_CLOEXEC) != 0) std::abort();
  pid_ = fork();
  if (pid_ < 0) std::abort();
  if (pid_ == 0) {
    // Test runners in the background may have them ignored.
    for (int signal_number : {SIGINT, SIGTERM, SIGHUP}) signal(signal_number, SIG_DFL);
    dup2(output[1], STDOUT_FILENO);
    dup2(output[1], STDERR_FILENO);
    fcntl(alive[1], F_SETFD, 0);
    execv(argv[0], argv.data());
    _exit(127);
  }
  close(output[1]);
  close(alive[1]);
  output_fd_ = output[0];
  alive_fd_ = alive[0];
}

Process::~Process() {
  if (!reaped_) {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  close(output_fd_);
  close(alive_fd_);
}

void Process::Signal(int signal_number) const { kill(pid_, signal_number); }

bool Process::ReadMore() {
  std::array<char, 4096> piece;
  if (!Readable(output_fd_)) return false;
  const ssize_t got = read(output_fd_, piece.data(), piece.size());
  if (got <= 0) return false;
  output_.append(piece.data(), static_cast<size_t>(got));
  return true;
}

bool Process::AwaitOutput(const std::string& text) {
  while (output_.find(text) == std::string::npos) {
    if (!ReadMore()) {
      ADD_FAILURE() << "\"" << text << "\" is not in the output:\n" << output_;
      return false;
    }
  }
  return true;
}

bool Process::AwaitNext(const std::string& text) {
  if (!AwaitOutput(text)) return false;
  output_.erase(0, output_.find(text) + text.size());
  return true;
}

int Process::AwaitExit() {
  while (ReadMore()) {
  }
  // Descendants may hold the output open, so its end does not tell; a deaf process must not hang
  // the test.
  if (!Readable(alive_fd_)) kill(pid_, SIGKILL);
  int status = 0;
  waitpid(pid_, &status, 0);
  reaped_ = true;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

bool Process::AllGone() {
  char byte = 0;
  return Readable(alive_fd_) && read(alive_fd_, &byte, 1) == 0;
}

std::vector<pid_t> Process::ChildrenWith(const std::string& text) const {
  const std::string proc = "/proc/" + std::to_string(pid_);
  std::ifstream children(proc + "/task/" + std::to_string(pid_) + "/children");
  std::vector<pid_t> found;
  for (pid_t child = 0; children >> child;) {
    std::string command = ReadWhole("/proc/" + std::to_string(child) + "/cmdline");
    for (char& c : command) c = c == '\0' ? ' ' : c;
    if (command.find(text) != std::string::npos) found.push_back(child);
  }
  return found;
}

}  // namespace interlude
