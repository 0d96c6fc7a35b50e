#include "ledger/recorder.h"

#include <utility>

namespace interlude {

void SpanRecorder::Record(const Span& span) {
  MutexLock lock(mutex_);
  if (spans_.size() >= kMaxRecordedSpans) {
    ++dropped_;
    return;
  }
  spans_.push_back(span);
}

std::vector<Span> SpanRecorder::Take() {
  MutexLock lock(mutex_);
  return std::exchange(spans_, {});
}

uint64_t SpanRecorder::dropped() const {
  MutexLock lock(mutex_);
  return dropped_;
}

PhaseTimer::PhaseTimer(Phase phase, uint32_t round, int32_t recorded_by, const Clock& clock,
                       int32_t about_worker)
    : clock_(clock),
      span_{.phase = phase,
            .round = round,
            .recorded_by = recorded_by,
            .about_worker = about_worker} {}

PhaseTimer::Scope::Scope(PhaseTimer& timer) : timer_(timer), times_(ReadThreadTimesWithDelay()) {
  timer_.Begin();
}

PhaseTimer::Scope::~Scope() {
  const ThreadTimes times = ReadThreadTimesWithDelay();
  timer_.End({.cpu_ns = times.cpu_ns - times_.cpu_ns,
              .run_delay_ns = times.run_delay_ns - times_.run_delay_ns});
}

// The clock is read under the lock, or a thread that waited for it could count time twice.
void PhaseTimer::Begin() {
  MutexLock lock(mutex_);
  const Nanoseconds now = clock_.Now();
  if (!entered_) span_.begin_ns = now.count();
  entered_ = true;
  if (inside_++ == 0) busy_since_ = now;
}

void PhaseTimer::End(const ThreadTimes& used) {
  MutexLock lock(mutex_);
  const Nanoseconds now = clock_.Now();
  span_.end_ns = now.count();
  if (--inside_ == 0) span_.busy_ns += (now - busy_since_).count();
  span_.cpu_ns += used.cpu_ns;
  span_.run_delay_ns += used.run_delay_ns;
}

void PhaseTimer::AddBytes(uint64_t bytes) {
  MutexLock lock(mutex_);
  span_.bytes += bytes;
}

void PhaseTimer::AddChunk() {
  MutexLock lock(mutex_);
  ++span_.chunks;
}

void PhaseTimer::AddCpu(int64_t cpu_ns) {
  MutexLock lock(mutex_);
  span_.cpu_ns += cpu_ns;
}

void PhaseTimer::MarkFailed() {
  MutexLock lock(mutex_);
  span_.ok = false;
}

bool PhaseTimer::entered() const {
  MutexLock lock(mutex_);
  return entered_;
}

Span PhaseTimer::Finish() const {
  MutexLock lock(mutex_);
  Span span = span_;
  if (!entered_) span.begin_ns = span.end_ns = clock_.Now().count();
  return span;
}

}  // namespace interlude
