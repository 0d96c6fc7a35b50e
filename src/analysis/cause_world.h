// A made-up run for tests of causes and findings: workers that pass through the phases of their
// rounds, each with a clock of its own, and a sample of each process every second. One thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <vector>

#include "analysis/phase_facts.h"

namespace interlude {

/// Of the mean thread of a phase, in milliseconds.
struct PhaseMs {
  double cpu = 0;
  double delay = 0;
  double blocked = 0;
};

class CauseWorld {
 public:
  CauseWorld(int32_t workers, uint32_t rounds);

  /// What a worker does in a phase of a round, in place of what all do.
  void Set(int32_t worker, uint32_t round, Phase phase, PhaseMs times);
  /// Pictures for a worker's training: how long it waits for them, and their CPU time.
  void SetLoading(int32_t worker, uint32_t round, double waited_ms, double cpu_ms);
  /// What all do.
  void SetAll(Phase phase, PhaseMs times);
  /// Every phase takes as much longer or shorter as a normal distribution says.
  void AddNoise(uint64_t seed, double deviation);
  /// Adds to a figure of the process's samples, spread over the phase.
  void AddFigure(int32_t worker, uint32_t round, Phase phase, int64_t ProcessSample::*figure,
                 double amount);
  /// No sample of any worker has the figure.
  void Forget(int64_t ProcessSample::*figure);
  void ForgetSamples() { no_samples_ = true; }
  void SetRoundTrip(int32_t worker, double ms) { round_trip_ms_[worker] = ms; }
  /// Threads side by side in encode and apply; 1 without it.
  void SetParallel(int32_t worker, int threads) { parallel_[worker] = threads; }
  /// A sample of the coordinator, two seconds after the last round.
  void SetCoordinatorAfter(int64_t anonymous_bytes) { coordinator_after_ = anonymous_bytes; }
  WorkerRecord& record(int32_t worker) { return workers_[worker]; }
  WorkerRoundRecord& part(int32_t worker, uint32_t round);

  /// Valid until the next call.
  CauseTables Tables();

 private:
  using Key = std::tuple<int32_t, uint32_t, Phase>;
  struct Extra {
    Key key;
    int64_t ProcessSample::*figure;
    double amount;
  };
  PhaseMs TimesOf(const Key& key) const;
  void RunWorker(int32_t worker, std::vector<int64_t>& round_ends);
  void AddSpan(const Key& key, int64_t& now);
  void AddLoading(int32_t worker, uint32_t round);
  void SampleWorker(int32_t worker, int64_t end);
  void Spread(int32_t worker, int64_t begin, int64_t end, int64_t ProcessSample::*figure,
              double amount);
  static int64_t ClockOf(int32_t worker) { return int64_t{1'000'000'000'000} * (worker + 1); }

  uint32_t rounds_count_;
  std::vector<WorkerRecord> workers_;
  std::map<Phase, PhaseMs> all_;
  std::map<Key, PhaseMs> set_;
  std::map<std::pair<int32_t, uint32_t>, std::pair<double, double>> loading_;
  std::map<Key, double> noise_;
  std::vector<Extra> extras_;
  std::vector<int64_t ProcessSample::*> forgotten_;
  bool no_samples_ = false;
  std::optional<int64_t> coordinator_after_;
  std::map<int32_t, double> round_trip_ms_;
  std::map<int32_t, int> parallel_;
  std::vector<WorkerRoundRecord> parts_;

  std::vector<RoundRecord> rounds_;
  std::vector<Span> spans_;
  std::vector<ProcessSample> samples_;
  std::vector<ClockProbe> probes_;
};

}  // namespace interlude
