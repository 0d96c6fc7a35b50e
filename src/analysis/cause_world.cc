#include "analysis/cause_world.h"

#include <algorithm>
#include <random>

namespace interlude {
namespace {

constexpr double kMs = 1e6;
constexpr int64_t kSecond = 1'000'000'000;
constexpr uint64_t kBytes = 1'000'000;

/// What every process has of these; the others are 0 until something is added.
constexpr int64_t kQuietRoundTripNs = 500'000;

bool MovesBytes(Phase phase) {
  return phase == Phase::kUpload || phase == Phase::kDownload || phase == Phase::kEncode;
}

}  // namespace

CauseWorld::CauseWorld(int32_t workers, uint32_t rounds) : rounds_count_(rounds) {
  for (int32_t worker = 0; worker < workers; ++worker) {
    WorkerRecord record;
    record.worker = worker;
    record.host = "host-" + std::to_string(worker);
    record.visible_cores = 8;
    record.usable_cores = 8;
    record.threads = 8;
    workers_.push_back(record);
    for (uint32_t round = 1; round <= rounds; ++round) {
      WorkerRoundRecord part;
      part.round = round;
      part.worker = worker;
      part.samples = 1280;
      part.root_hash = "same";
      parts_.push_back(part);
    }
  }
  all_ = {{Phase::kTrain, {400, 1, 599}}, {Phase::kEncode, {98, 2, 0}},
          {Phase::kUpload, {5, 1, 94}},   {Phase::kWait, {0, 0, 30}},
          {Phase::kDownload, {5, 0, 55}}, {Phase::kApply, {40, 0, 0}},
          {Phase::kVerify, {5, 0, 0}}};
}

void CauseWorld::Set(int32_t worker, uint32_t round, Phase phase, PhaseMs times) {
  set_[{worker, round, phase}] = times;
}

void CauseWorld::SetLoading(int32_t worker, uint32_t round, double waited_ms, double cpu_ms) {
  loading_[{worker, round}] = {waited_ms, cpu_ms};
}

void CauseWorld::SetAll(Phase phase, PhaseMs times) { all_[phase] = times; }

void CauseWorld::AddNoise(uint64_t seed, double deviation) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal(1.0, deviation);
  for (const WorkerRecord& worker : workers_) {
    for (uint32_t round = 1; round <= rounds_count_; ++round) {
      for (const auto& [phase, times] : all_)
        noise_[{worker.worker, round, phase}] = std::max(0.1, normal(random));
    }
  }
}

void CauseWorld::AddFigure(int32_t worker, uint32_t round, Phase phase,
                           int64_t ProcessSample::*figure, double amount) {
  extras_.push_back({{worker, round, phase}, figure, amount});
}

void CauseWorld::Forget(int64_t ProcessSample::*figure) { forgotten_.push_back(figure); }

WorkerRoundRecord& CauseWorld::part(int32_t worker, uint32_t round) {
  return *std::find_if(parts_.begin(), parts_.end(), [&](const WorkerRoundRecord& part) {
    return part.worker == worker && part.round == round;
  });
}

PhaseMs CauseWorld::TimesOf(const Key& key) const {
  const auto found = set_.find(key);
  PhaseMs times = found == set_.end() ? all_.at(std::get<Phase>(key)) : found->second;
  const auto noise = noise_.find(key);
  if (noise != noise_.end()) {
    times.cpu *= noise->second;
    times.delay *= noise->second;
    times.blocked *= noise->second;
  }
  return times;
}

void CauseWorld::AddSpan(const Key& key, int64_t& now) {
  const auto [worker, round, phase] = key;
  const PhaseMs times = TimesOf(key);
  const bool pooled = phase == Phase::kEncode || phase == Phase::kApply;
  const auto found = parallel_.find(worker);
  const int threads = pooled && found != parallel_.end() ? found->second : 1;
  Span span;
  span.phase = phase;
  span.round = round;
  span.recorded_by = worker;
  span.begin_ns = now;
  span.busy_ns = static_cast<int64_t>((times.cpu + times.delay + times.blocked) * kMs);
  span.end_ns = now + span.busy_ns;
  span.cpu_ns = static_cast<int64_t>(times.cpu * kMs) * threads;
  span.run_delay_ns = static_cast<int64_t>(times.delay * kMs) * threads;
  span.blocked_ns = static_cast<int64_t>(times.blocked * kMs) * threads;
  if (MovesBytes(phase)) span.bytes = kBytes;
  now = span.end_ns;
  spans_.push_back(span);
}

/// Over the training that was added last.
void CauseWorld::AddLoading(int32_t worker, uint32_t round) {
  const auto found = loading_.find({worker, round});
  if (found == loading_.end()) return;
  Span span = spans_.back();
  span.phase = Phase::kLoad;
  span.busy_ns = static_cast<int64_t>(found->second.first * kMs);
  span.cpu_ns = static_cast<int64_t>(found->second.second * kMs);
  span.run_delay_ns = span.blocked_ns = 0;
  spans_.push_back(span);
}

void CauseWorld::RunWorker(int32_t worker, std::vector<int64_t>& round_ends) {
  int64_t now = ClockOf(worker);
  for (uint32_t round = 1; round <= rounds_count_; ++round) {
    for (const Phase phase : {Phase::kEvaluate, Phase::kTrain, Phase::kEncode, Phase::kUpload,
                              Phase::kWait, Phase::kDownload, Phase::kApply, Phase::kVerify}) {
      if (all_.contains(phase)) AddSpan({worker, round, phase}, now);
      if (phase == Phase::kTrain) AddLoading(worker, round);
    }
    round_ends[round - 1] = std::max(round_ends[round - 1], now - ClockOf(worker));
  }
}

void CauseWorld::Spread(int32_t worker, int64_t begin, int64_t end, int64_t ProcessSample::*figure,
                        double amount) {
  for (ProcessSample& sample : samples_) {
    if (sample.recorded_by != worker || sample.*figure < 0) continue;
    const int64_t from = std::max(begin, sample.at_ns - sample.interval_ns);
    const int64_t to = std::min(end, sample.at_ns);
    if (to > from)
      sample.*figure += static_cast<int64_t>(amount * static_cast<double>(to - from) /
                                             static_cast<double>(end - begin));
  }
}

void CauseWorld::SampleWorker(int32_t worker, int64_t end) {
  for (int64_t at = ClockOf(worker) + kSecond; at < end + kSecond; at += kSecond) {
    ProcessSample sample;
    sample.recorded_by = worker;
    sample.at_ns = at;
    for (const SampleField& field : kSampleFields) sample.*field.value = 0;
    sample.interval_ns = kSecond;
    sample.tcp_round_trip_ns = kQuietRoundTripNs;
    samples_.push_back(sample);
    const auto trip = static_cast<int64_t>(
        (round_trip_ms_.contains(worker) ? round_trip_ms_[worker] : 0.4) * kMs);
    probes_.push_back({worker, at, at + 5 * kSecond, at + 5 * kSecond, at + trip, 0});
  }
  for (const Span& span : spans_) {
    if (span.recorded_by != worker || span.phase == Phase::kLoad) continue;
    const auto cpu = static_cast<double>(span.cpu_ns);
    Spread(worker, span.begin_ns, span.end_ns, &ProcessSample::cpu_ns, cpu);
    Spread(worker, span.begin_ns, span.end_ns, &ProcessSample::machine_busy_ns, cpu);
  }
}

CauseTables CauseWorld::Tables() {
  rounds_.clear();
  spans_.clear();
  samples_.clear();
  probes_.clear();
  std::vector<int64_t> ends(rounds_count_, 0);
  for (const WorkerRecord& worker : workers_) RunWorker(worker.worker, ends);
  int64_t begin = 0;
  for (uint32_t round = 1; round <= rounds_count_; ++round) {
    RoundRecord record;
    record.round = round;
    record.root_hash = "same";
    record.begin_ns = begin;
    record.end_ns = begin = std::max(begin, ends[round - 1]);
    rounds_.push_back(record);
  }
  if (!no_samples_) {
    for (const WorkerRecord& worker : workers_)
      SampleWorker(worker.worker, ClockOf(worker.worker) + ends.back());
  }
  if (coordinator_after_.has_value()) {
    ProcessSample sample;
    sample.at_ns = begin + 2 * kSecond;
    sample.interval_ns = kSecond;
    sample.anonymous_bytes = *coordinator_after_;
    samples_.push_back(sample);
  }
  for (const Extra& extra : extras_) {
    const auto [worker, round, phase] = extra.key;
    for (const Span& span : spans_) {
      if (span.recorded_by == worker && span.round == round && span.phase == phase)
        Spread(worker, span.begin_ns, span.end_ns, extra.figure, extra.amount);
    }
  }
  for (ProcessSample& sample : samples_) {
    for (int64_t ProcessSample::*figure : forgotten_) sample.*figure = kUnknownFigure;
  }
  return {workers_, rounds_, parts_, spans_, samples_, probes_};
}

}  // namespace interlude
