// Recording spans in memory while the work goes on. Nothing here does I/O.
#pragma once

#include <cstdint>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"
#include "base/thread_times.h"
#include "ledger/span.h"

namespace interlude {

/// Most spans a process keeps between two calls of Take; beyond it the new ones are dropped and
/// counted.
inline constexpr size_t kMaxRecordedSpans = 4096;

/// A process's spans until they are taken. Any thread.
class SpanRecorder {
 public:
  void Record(const Span& span);
  /// All spans so far, in order of recording; the recorder is empty afterwards.
  std::vector<Span> Take();
  /// Spans dropped since the start because nobody took the others.
  uint64_t dropped() const;

 private:
  mutable Mutex mutex_;
  std::vector<Span> spans_ INTERLUDE_GUARDED_BY(mutex_);
  uint64_t dropped_ INTERLUDE_GUARDED_BY(mutex_) = 0;
};

/// One phase of one round, entered once or many times (chunk by chunk) by one thread; records a
/// single Span from the first Enter to the last Leave, with the time inside as busy_ns and the
/// thread's CPU time.
///
///   PhaseTimer encode(Phase::kEncode, round, worker, clock);
///   for (chunk...) { auto scope = encode.Enter(); ...; encode.AddBytes(n); encode.AddChunk(); }
///   recorder.Record(encode.Finish());
class PhaseTimer {
 public:
  PhaseTimer(Phase phase, uint32_t round, int32_t recorded_by, const Clock& clock,
             int32_t about_worker = kNoWorker);

  class Scope {
   public:
    explicit Scope(PhaseTimer& timer);
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    PhaseTimer& timer_;
    Nanoseconds begin_;
    ThreadTimes times_;
  };

  [[nodiscard]] Scope Enter() { return Scope(*this); }
  void AddBytes(uint64_t bytes) { span_.bytes += bytes; }
  void AddChunk() { ++span_.chunks; }
  /// CPU time of helper threads that worked for this phase.
  void AddCpu(int64_t cpu_ns) { span_.cpu_ns += cpu_ns; }
  void MarkFailed() { span_.ok = false; }
  bool entered() const { return entered_; }

  /// The span so far. A phase that was never entered has begin = end = now and ok as it is.
  Span Finish() const;

 private:
  friend class Scope;
  const Clock& clock_;
  Span span_;
  bool entered_ = false;
};

}  // namespace interlude
