#include "ledger/sampler.h"

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "base/thread_times.h"
#include "ledger/recording.h"

namespace interlude {
namespace {

constexpr Nanoseconds kSampleEvery = std::chrono::seconds(1);
constexpr Nanoseconds kNoNews = std::chrono::milliseconds(250);
/// How much longer than they cost samples rest.
constexpr int64_t kRest = 5500;

std::optional<TcpConnections> ConnectionsOf(const SamplerOptions& options) {
  if (!options.tcp) return std::nullopt;
  return TcpConnections(*options.tcp);
}

}  // namespace

Sampler::Sampler(const SamplerOptions& options, const Clock& clock)
    : options_(options),
      clock_(clock),
      connections_(ConnectionsOf(options)),
      last_(ReadSample(clock, connections_ ? &*connections_ : nullptr)),
      looks_(last_.at),
      due_(last_.at + kSampleEvery),
      sampled_at_(last_.at),
      thread_([this] { Loop(); }) {}

Sampler::~Sampler() { Stop(); }

bool Sampler::ShouldSample(Nanoseconds now) {
  if (std::exchange(asked_, false) && now - sampled_at_ >= kNoNews) return true;
  return now >= due_;
}

void Sampler::Loop() {
  if (!RecordingIsOn()) return;
  for (;;) {
    Nanoseconds now{0};
    bool peak = false;
    {
      MutexLock lock(mutex_);
      for (;;) {
        if (stopped_) return;
        now = clock_.Now();
        peak = asked_;
        if (ShouldSample(now)) break;
        wake_.WaitFor(mutex_, due_ - now);
      }
    }
    Sample(now, peak ? Look::kAtAPeak : Look::kWhenDue);
  }
}

void Sampler::Sample(Nanoseconds now, Look look) {
  const KeptProcFiles::Use kept(files_);
  const int64_t begin = ReadThreadTimes().cpu_ns;
  SampleReading reading = ReadSample(clock_, connections_ ? &*connections_ : nullptr);
  ProcessSample sample = SampleBetween(last_, reading);
  sample.recorded_by = options_.recorded_by;
  last_ = std::move(reading);
  const int64_t cost = ReadThreadTimes().cpu_ns - begin;
  {
    MutexLock lock(mutex_);
    store_.Add(sample);
    sampled_at_ = now;
    // One that was asked for before it was due makes the next ones wait longer, within reason.
    const Nanoseconds rest(cost * kRest);
    due_ = std::clamp(due_ + rest, now + kSampleEvery, now + std::max(kSampleEvery, 2 * rest));
    cpu_ns_ += cost;
  }
  if (look == Look::kInAnyCase || looks_.IsDue(now, sample.rss_bytes, look == Look::kAtAPeak))
    SampleMemory(now, sample);
}

void Sampler::SampleMemory(Nanoseconds now, const ProcessSample& sample) {
  const int64_t begin = ReadThreadTimes().cpu_ns;
  const std::optional<ResidentMemory> memory = memory_.Read();
  MutexLock lock(mutex_);
  // At the sample's time: both are of one moment.
  if (memory) store_.AddMemory(options_.recorded_by, sample.at_ns, memory->owners);
  const int64_t cost = ReadThreadTimes().cpu_ns - begin;
  looks_.Looked(now, sample.rss_bytes, cost);
  cpu_ns_ += cost;
}

void Sampler::SampleNow() {
  MutexLock lock(mutex_);
  asked_ = true;
  wake_.NotifyAll();
}

Account Sampler::Take() {
  MutexLock lock(mutex_);
  return store_.Take();
}

void Sampler::Stop() {
  {
    MutexLock lock(mutex_);
    if (std::exchange(stopped_, true)) return;
    wake_.NotifyAll();
  }
  thread_.join();
  if (!RecordingIsOn()) return;
  Sample(clock_.Now(), Look::kInAnyCase);
  LogInfo("samples took {:.3f} ms of CPU", static_cast<double>(cpu_ns()) * 1e-6);
}

int64_t Sampler::cpu_ns() const {
  MutexLock lock(mutex_);
  return cpu_ns_;
}

}  // namespace interlude
