#include "ledger/recorder.h"

#include <algorithm>
#include <utility>

#include "ledger/recording.h"

namespace interlude {
namespace {

ThreadTimes TimesWhereRecorded() {
  return RecordingIsOn() ? ReadThreadTimesWithDelay() : ThreadTimes{};
}

}  // namespace

bool Recorder::HasRoom() {
  if (account_.spans.size() < kMaxRecordedSpans) return true;
  ++dropped_;
  return false;
}

void Recorder::Record(const Span& span) {
  if (!RecordingIsOn()) return;
  MutexLock lock(mutex_);
  if (HasRoom()) account_.spans.push_back(span);
}

void Recorder::Record(const PhaseTimer& timer) {
  if (!RecordingIsOn()) return;
  ChunkStamps stamps = timer.Stamps();
  const Span span = timer.Finish();
  MutexLock lock(mutex_);
  if (!HasRoom()) return;
  account_.spans.push_back(span);
  if (!stamps.stamps.empty()) account_.stamps.push_back(std::move(stamps));
}

void Recorder::AddSource(std::function<Account()> source) {
  MutexLock lock(mutex_);
  sources_.push_back(std::move(source));
}

Account Recorder::Take() {
  MutexLock lock(mutex_);
  Account account = std::exchange(account_, {});
  for (const auto& source : sources_) account.Append(source());
  return account;
}

uint64_t Recorder::dropped() const {
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

PhaseTimer::Scope::Scope(PhaseTimer& timer, std::optional<uint32_t> chunk)
    : timer_(timer), chunk_(chunk), times_(TimesWhereRecorded()), begin_(timer.Begin()) {}

PhaseTimer::Scope::~Scope() {
  if (!RecordingIsOn()) return;
  const ThreadTimes times = ReadThreadTimesWithDelay();
  timer_.End(begin_, chunk_,
             {.cpu_ns = times.cpu_ns - times_.cpu_ns,
              .run_delay_ns = times.run_delay_ns - times_.run_delay_ns});
}

// The clock is read under the lock, or a thread that waited for it could count time twice.
Nanoseconds PhaseTimer::Begin() {
  if (!RecordingIsOn()) return Nanoseconds(0);
  MutexLock lock(mutex_);
  const Nanoseconds now = clock_.Now();
  if (!entered_) span_.begin_ns = now.count();
  entered_ = true;
  if (inside_++ == 0) busy_since_ = now;
  return now;
}

void PhaseTimer::End(Nanoseconds begin, std::optional<uint32_t> chunk, const ThreadTimes& used) {
  MutexLock lock(mutex_);
  const Nanoseconds now = clock_.Now();
  span_.end_ns = now.count();
  if (--inside_ == 0) span_.busy_ns += (now - busy_since_).count();
  span_.cpu_ns += used.cpu_ns;
  span_.run_delay_ns += used.run_delay_ns;
  const int64_t awake = used.cpu_ns + used.run_delay_ns;
  span_.blocked_ns += std::max<int64_t>(0, (now - begin).count() - awake);
  if (chunk.has_value() && stamps_.size() < kMaxStamps)
    stamps_.push_back({*chunk, begin.count(), now.count()});
}

void PhaseTimer::AddStamp(uint32_t chunk, Nanoseconds begin, Nanoseconds end) {
  if (!RecordingIsOn()) return;
  MutexLock lock(mutex_);
  if (stamps_.size() < kMaxStamps) stamps_.push_back({chunk, begin.count(), end.count()});
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

ChunkStamps PhaseTimer::Stamps() const {
  MutexLock lock(mutex_);
  return {.phase = span_.phase,
          .round = span_.round,
          .recorded_by = span_.recorded_by,
          .about_worker = span_.about_worker,
          .stamps = stamps_};
}

}  // namespace interlude
