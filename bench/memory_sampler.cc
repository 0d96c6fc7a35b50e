#include "bench/memory_sampler.h"

#include <algorithm>
#include <utility>

#include "base/process_memory.h"

namespace interlude {

uint64_t ProcessSamples::AnonymousAt(int64_t at_ns) const {
  const auto later =
      std::upper_bound(samples.begin(), samples.end(), at_ns,
                       [](int64_t at, const MemorySample& sample) { return at < sample.at_ns; });
  return later == samples.begin() ? 0 : std::prev(later)->anonymous;
}

MemorySampler::MemorySampler(Nanoseconds interval)
    : interval_(interval), thread_([this] { Loop(); }) {}

MemorySampler::~MemorySampler() { Stop(); }

void MemorySampler::Watch(const std::string& name, pid_t pid) {
  MutexLock lock(mutex_);
  processes_.push_back({.name = name, .pid = pid});
}

void MemorySampler::Look() {
  MutexLock lock(mutex_);
  LookLocked();
}

std::vector<ProcessSamples> MemorySampler::Stop() {
  {
    MutexLock lock(mutex_);
    stop_ = true;
    stopped_.NotifyAll();
  }
  if (thread_.joinable()) thread_.join();
  MutexLock lock(mutex_);
  return std::move(processes_);
}

// Reading /proc is no I/O: the kernel makes the text up.
void MemorySampler::LookLocked() {
  for (ProcessSamples& process : processes_) {
    const auto memory = ReadProcessMemory(process.pid);
    if (!memory) continue;
    process.samples.push_back({SystemClock().Now().count(), memory->anonymous});
    process.peak_anonymous = std::max(process.peak_anonymous, memory->anonymous);
    process.peak_resident = std::max(process.peak_resident, memory->peak_resident);
  }
}

void MemorySampler::Loop() {
  MutexLock lock(mutex_);
  while (!stop_) {
    LookLocked();
    stopped_.WaitFor(mutex_, interval_);
  }
}

}  // namespace interlude
