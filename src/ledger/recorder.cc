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

PhaseTimer::Scope::Scope(PhaseTimer& timer)
    : timer_(timer), begin_(timer.clock_.Now()), times_(ReadThreadTimesWithDelay()) {
  if (timer_.entered_) return;
  timer_.entered_ = true;
  timer_.span_.begin_ns = begin_.count();
}

PhaseTimer::Scope::~Scope() {
  const ThreadTimes times = ReadThreadTimesWithDelay();
  const Nanoseconds now = timer_.clock_.Now();
  Span& span = timer_.span_;
  span.end_ns = now.count();
  span.busy_ns += (now - begin_).count();
  span.cpu_ns += times.cpu_ns - times_.cpu_ns;
  span.run_delay_ns += times.run_delay_ns - times_.run_delay_ns;
}

Span PhaseTimer::Finish() const {
  Span span = span_;
  if (!entered_) span.begin_ns = span.end_ns = clock_.Now().count();
  return span;
}

}  // namespace interlude
