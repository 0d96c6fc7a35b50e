#include "base/thread_times.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <ctime>

namespace interlude {
namespace {

/// The calling thread's schedstat file, kept open for the thread's life: reading then costs one
/// system call.
class SchedstatFile {
 public:
  SchedstatFile() : fd_(::open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC)) {}
  ~SchedstatFile() {
    if (fd_ >= 0) ::close(fd_);
  }
  SchedstatFile(const SchedstatFile&) = delete;
  SchedstatFile& operator=(const SchedstatFile&) = delete;

  int64_t ReadRunDelayNs() const {
    if (fd_ < 0) return 0;
    char text[96];
    const ssize_t n = ::pread(fd_, text, sizeof(text) - 1, 0);
    if (n <= 0) return 0;
    text[n] = '\0';
    // "on-cpu-ns run-delay-ns timeslices"
    char* end = nullptr;
    std::strtoll(text, &end, 10);
    return std::strtoll(end, nullptr, 10);
  }

 private:
  const int fd_;
};

}  // namespace

ThreadTimes ReadThreadTimes() {
  timespec now{};
  if (::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now) != 0) return {};
  return ThreadTimes{.cpu_ns = now.tv_sec * 1'000'000'000 + now.tv_nsec};
}

ThreadTimes ReadThreadTimesWithDelay() {
  static thread_local const SchedstatFile file;
  ThreadTimes times = ReadThreadTimes();
  times.run_delay_ns = file.ReadRunDelayNs();
  return times;
}

}  // namespace interlude
