// Takes a sample of this process every second, and an account of its memory every second one and
// where it has moved, on a thread of its own, and keeps them until they are taken.
#pragma once

#include <cstdint>
#include <optional>
#include <thread>

#include "base/clock.h"
#include "base/kept_proc_files.h"
#include "base/mutex.h"
#include "base/resident_memory.h"
#include "base/tcp_counters.h"
#include "ledger/account.h"
#include "ledger/look_schedule.h"
#include "ledger/sample_reading.h"
#include "ledger/sample_store.h"

namespace interlude {

struct SamplerOptions {
  int32_t recorded_by = kNoWorker;
  /// The connections between worker and coordinator; without, they stay unknown.
  std::optional<TcpPorts> tcp;
};

/// Gives itself a 5,500th of one CPU for samples and less for memory (LookSchedule): where that is
/// not enough, they come less often. Those that SampleNow asks for are taken in any case, and put
/// the next ones off.
/// Any thread.
class Sampler {
 public:
  /// Begins to sample: the first interval begins now. `clock` outlives the sampler.
  Sampler(const SamplerOptions& options, const Clock& clock);
  /// As Stop.
  ~Sampler();

  /// Where memory is likely to be at a peak: asks for a sample of counters and memory now, and
  /// returns at once. Asked again within a quarter of a second, it is no news.
  void SampleNow();

  /// What was sampled since the last call: samples and memory.
  Account Take();

  /// A last sample, taken by the caller; no more come.
  void Stop();

  /// CPU time that sampling has cost.
  int64_t cpu_ns() const;

 private:
  enum class Look { kWhenDue, kAtAPeak, kInAnyCase };

  void Loop();
  /// A sample of counters, and one of memory as `look` says.
  void Sample(Nanoseconds now, Look look);
  void SampleMemory(Nanoseconds now, const ProcessSample& sample);
  bool ShouldSample(Nanoseconds now) INTERLUDE_REQUIRES(mutex_);

  const SamplerOptions options_;
  const Clock& clock_;
  // The sampling thread's; after Stop has joined it, the stopping thread's.
  KeptProcFiles files_;
  std::optional<TcpConnections> connections_;
  SampleReading last_;
  ResidentMemoryReader memory_;
  LookSchedule looks_;

  mutable Mutex mutex_;
  CondVar wake_;
  bool stopped_ INTERLUDE_GUARDED_BY(mutex_) = false;
  bool asked_ INTERLUDE_GUARDED_BY(mutex_) = false;
  Nanoseconds due_ INTERLUDE_GUARDED_BY(mutex_);
  Nanoseconds sampled_at_ INTERLUDE_GUARDED_BY(mutex_);
  int64_t cpu_ns_ INTERLUDE_GUARDED_BY(mutex_) = 0;
  SampleStore store_ INTERLUDE_GUARDED_BY(mutex_);
  std::thread thread_;
};

}  // namespace interlude
