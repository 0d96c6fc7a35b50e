// Watches the resident memory of some processes from outside, with a thread of its own. A peak that
// comes and goes between two looks is not seen; the kernel's own peak (VmHWM) is exact, but counts
// pages of files too.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"

namespace interlude {

struct MemorySample {
  int64_t at_ns = 0;  // CLOCK_MONOTONIC, which all processes of a machine share
  uint64_t anonymous = 0;
};

/// What was seen of one process.
struct ProcessSamples {
  std::string name;
  pid_t pid = -1;
  std::vector<MemorySample> samples;
  uint64_t peak_anonymous = 0;
  uint64_t peak_resident = 0;  // VmHWM

  /// The last sample that is not later than `at_ns`, else 0.
  uint64_t AnonymousAt(int64_t at_ns) const;
};

/// Watch, Look and Stop: any thread.
class MemorySampler {
 public:
  explicit MemorySampler(Nanoseconds interval = std::chrono::milliseconds(20));
  ~MemorySampler();
  MemorySampler(const MemorySampler&) = delete;
  MemorySampler& operator=(const MemorySampler&) = delete;

  /// From now until it ends.
  void Watch(const std::string& name, pid_t pid);
  /// One sample of each process now.
  void Look();
  /// Everything, in the order of Watch; nothing is looked at afterwards.
  std::vector<ProcessSamples> Stop();

 private:
  void Loop();
  void LookLocked() INTERLUDE_REQUIRES(mutex_);

  const Nanoseconds interval_;
  Mutex mutex_;
  CondVar stopped_;
  bool stop_ INTERLUDE_GUARDED_BY(mutex_) = false;
  std::vector<ProcessSamples> processes_ INTERLUDE_GUARDED_BY(mutex_);
  std::thread thread_;
};

}  // namespace interlude
