// Recording spans in memory while the work goes on. Nothing here does I/O.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"
#include "base/thread_times.h"
#include "ledger/account.h"

namespace interlude {

/// Most spans a process keeps between two calls of Take; beyond it the new ones are dropped and
/// counted.
inline constexpr size_t kMaxRecordedSpans = 4096;

class PhaseTimer;

/// A process's spans, and the stamps of their chunks, until they are taken. Any thread.
class Recorder {
 public:
  void Record(const Span& span);
  /// The timer's span, and its stamps where it has any.
  void Record(const PhaseTimer& timer);
  /// Take also takes what `source` gives, which must be there as long as Take is called.
  void AddSource(std::function<Account()> source);
  /// All so far, in order of recording; the recorder is empty afterwards.
  Account Take();
  /// Spans dropped since the start because nobody took the others.
  uint64_t dropped() const;

 private:
  bool HasRoom() INTERLUDE_REQUIRES(mutex_);

  mutable Mutex mutex_;
  Account account_ INTERLUDE_GUARDED_BY(mutex_);
  std::vector<std::function<Account()>> sources_ INTERLUDE_GUARDED_BY(mutex_);
  uint64_t dropped_ INTERLUDE_GUARDED_BY(mutex_) = 0;
};

/// One phase of one round, entered once or many times (chunk by chunk) by any number of threads,
/// also side by side; records a single Span from the first Enter to the last Leave, with the time
/// in which at least one thread was inside as busy_ns and the CPU time of all. A scope that is
/// entered for a chunk leaves a stamp of it.
///
///   PhaseTimer encode(Phase::kEncode, round, worker, clock);
///   for (chunk...) { auto scope = encode.Enter(chunk); ...; encode.AddBytes(n); encode.AddChunk();
///   } recorder.Record(encode);
class PhaseTimer {
 public:
  PhaseTimer(Phase phase, uint32_t round, int32_t recorded_by, const Clock& clock,
             int32_t about_worker = kNoWorker);

  class Scope {
   public:
    Scope(PhaseTimer& timer, std::optional<uint32_t> chunk);
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    PhaseTimer& timer_;
    const std::optional<uint32_t> chunk_;
    const ThreadTimes times_;
    const Nanoseconds begin_;
  };

  [[nodiscard]] Scope Enter(std::optional<uint32_t> chunk = std::nullopt) {
    return Scope(*this, chunk);
  }
  /// For a chunk whose passage is not one scope.
  void AddStamp(uint32_t chunk, Nanoseconds begin, Nanoseconds end);
  void AddBytes(uint64_t bytes);
  void AddChunk();
  /// CPU time that threads outside the scopes spent for this phase.
  void AddCpu(int64_t cpu_ns);
  void MarkFailed();
  bool entered() const;

  /// The span so far. A phase that was never entered has begin = end = now and ok as it is.
  Span Finish() const;
  ChunkStamps Stamps() const;

 private:
  friend class Scope;
  Nanoseconds Begin();
  void End(Nanoseconds begin, std::optional<uint32_t> chunk, const ThreadTimes& used);

  const Clock& clock_;
  mutable Mutex mutex_;
  Span span_ INTERLUDE_GUARDED_BY(mutex_);
  std::vector<ChunkStamp> stamps_ INTERLUDE_GUARDED_BY(mutex_);
  Nanoseconds busy_since_ INTERLUDE_GUARDED_BY(mutex_){0};
  int inside_ INTERLUDE_GUARDED_BY(mutex_) = 0;
  bool entered_ INTERLUDE_GUARDED_BY(mutex_) = false;
};

}  // namespace interlude
