#include "cli/child_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>

namespace interlude {
namespace {

// Files and argument vector made ready before fork: between fork and exec only async-signal-safe
// calls are made.
struct Prepared {
  std::vector<char*> argv;
  int null_fd = -1;
  int log_fd = -1;
  std::array<int, 2> error_pipe = {-1, -1};

  ~Prepared() {
    for (int fd : {null_fd, log_fd, error_pipe[0], error_pipe[1]}) {
      if (fd >= 0) close(fd);
    }
  }
};

Status Prepare(const ChildSpec& spec, Prepared& prepared) {
  for (const std::string& argument : spec.arguments) {
    prepared.argv.push_back(const_cast<char*>(argument.c_str()));
  }
  prepared.argv.push_back(nullptr);
  prepared.null_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (prepared.null_fd < 0) return ErrnoError(errno, "cannot open /dev/null");
  prepared.log_fd =
      spec.log_path.empty()
          ? fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0)
          : open(spec.log_path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0666);
  if (prepared.log_fd < 0) {
    return ErrnoError(errno, fmt::format("cannot write {}'s log {}", spec.name, spec.log_path));
  }
  if (pipe2(prepared.error_pipe.data(), O_CLOEXEC) != 0)
    return ErrnoError(errno, "cannot make a pipe");
  return OkStatus();
}

[[noreturn]] void BecomeChild(const ChildSpec& spec, const Prepared& prepared, pid_t parent) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  // The parent may have died before prctl: then no signal will come.
  if (getppid() != parent) _exit(127);

  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  // A background process group may be stopped for writing to its terminal.
  signal(SIGTTOU, SIG_IGN);

  // Before stderr becomes the log: stdout may be meant to go to the parent's stderr.
  bool ok = dup2(spec.stdout_fd >= 0 ? spec.stdout_fd : prepared.log_fd, STDOUT_FILENO) >= 0;
  ok = ok && dup2(prepared.null_fd, STDIN_FILENO) >= 0;
  ok = ok && dup2(prepared.log_fd, STDERR_FILENO) >= 0;
  if (spec.inherited_fd >= 0) ok = ok && fcntl(spec.inherited_fd, F_SETFD, 0) == 0;
  if (ok) execv(prepared.argv[0], prepared.argv.data());

  const int error_number = errno;
  (void)!write(prepared.error_pipe[1], &error_number, sizeof error_number);
  _exit(127);
}

// What exec failed with, or 0 when the pipe was closed by a successful exec.
int ReadExecError(int fd) {
  int error_number = 0;
  ssize_t got = 0;
  do {
    got = read(fd, &error_number, sizeof error_number);
  } while (got < 0 && errno == EINTR);
  return got == sizeof error_number ? error_number : 0;
}

}  // namespace

std::string ChildExit::ToString() const {
  if (signal != 0) return fmt::format("killed by signal {} ({})", signal, strsignal(signal));
  return fmt::format("exit status {}", code);
}

StatusOr<ChildProcess> ChildProcess::Start(const ChildSpec& spec) {
  INTERLUDE_CHECK(!spec.arguments.empty(), "{} has no program", spec.name);
  Prepared prepared;
  INTERLUDE_RETURN_IF_ERROR(Prepare(spec, prepared));
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid < 0) return ErrnoError(errno, fmt::format("cannot start {}", spec.name));
  if (pid == 0) BecomeChild(spec, prepared, parent);

  setpgid(pid, pid);  // the child does it too; whoever comes first
  close(std::exchange(prepared.error_pipe[1], -1));
  if (const int error_number = ReadExecError(prepared.error_pipe[0]); error_number != 0) {
    waitpid(pid, nullptr, 0);
    return ErrnoError(error_number,
                      fmt::format("cannot run {} as {}", spec.arguments[0], spec.name));
  }
  // glibc 2.36 declares pidfd_open without C linkage.
  const int pidfd = static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
  if (pidfd < 0) {
    const int error_number = errno;
    kill(-pid, SIGKILL);
    waitpid(pid, nullptr, 0);
    return ErrnoError(error_number,
                      fmt::format("cannot watch {} (pidfd_open needs Linux 5.3)", spec.name));
  }
  return ChildProcess(spec, pid, pidfd);
}

ChildProcess::ChildProcess(const ChildSpec& spec, pid_t pid, int pidfd)
    : name_(spec.name), log_path_(spec.log_path), pid_(pid), pidfd_(pidfd) {}

ChildProcess::ChildProcess(ChildProcess&& other) noexcept
    : name_(std::move(other.name_)),
      log_path_(std::move(other.log_path_)),
      pid_(other.pid_),
      pidfd_(std::exchange(other.pidfd_, -1)) {}

ChildProcess& ChildProcess::operator=(ChildProcess&& other) noexcept {
  if (this == &other) return *this;
  End();
  name_ = std::move(other.name_);
  log_path_ = std::move(other.log_path_);
  pid_ = other.pid_;
  pidfd_ = std::exchange(other.pidfd_, -1);
  return *this;
}

ChildProcess::~ChildProcess() { End(); }

void ChildProcess::End() {
  if (!running()) return;
  Signal(SIGKILL);
  pollfd ended = {pidfd_, POLLIN, 0};
  while (!Reap()) poll(&ended, 1, -1);
}

void ChildProcess::Signal(int signal_number) {
  if (running()) kill(-pid_, signal_number);
}

std::optional<ChildExit> ChildProcess::Reap() {
  if (!running()) return std::nullopt;
  siginfo_t info = {};
  if (waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) != 0 ||
      info.si_pid == 0) {
    return std::nullopt;
  }
  // While it is a zombie its number cannot belong to another process group.
  kill(-pid_, SIGKILL);
  int status = 0;
  waitpid(pid_, &status, 0);
  close(std::exchange(pidfd_, -1));
  if (WIFSIGNALED(status)) return ChildExit{.code = 0, .signal = WTERMSIG(status)};
  return ChildExit{.code = WEXITSTATUS(status), .signal = 0};
}

}  // namespace interlude
