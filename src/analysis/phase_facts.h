// What is known of one worker's passage through one phase of one round, and of the median worker's,
// with which it is compared. Plain values; any thread.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "analysis/host_figures.h"
#include "analysis/span_split.h"
#include "analysis/throttling.h"
#include "ledger/clock_probe.h"
#include "ledger/run_database.h"

namespace interlude {

/// The tables that causes are found in; nothing is changed, and all outlive whoever reads them.
struct CauseTables {
  std::span<const WorkerRecord> workers;
  std::span<const RoundRecord> rounds;
  std::span<const WorkerRoundRecord> parts;
  std::span<const Span> spans;
  std::span<const ProcessSample> samples;
  std::span<const ClockProbe> probes;
};

struct PhaseFacts {
  Phase phase = Phase::kTrain;
  uint32_t round = 0;
  int32_t worker = kNoWorker;
  SpanSplit split;
  int64_t cpu_ns = 0;            // of all threads that worked on it
  int64_t cpu_meanwhile_ns = 0;  // of all the process's spans while it went on
  uint64_t bytes = 0;
  uint64_t samples = 0;   // trained on in the round
  int64_t waited_ns = 0;  // for pictures, in train
  HostFigures host;
  /// Of its busy time, by the samples' share of time: its quota held it up (analysis/throttling.h),
  /// and threads of the process that are in no span waited for a CPU, all together. 0: not known.
  int64_t held_up_ns = 0;
  int64_t others_delay_ns = 0;
  /// The smallest round trip of a clock probe from the worker's first span of the round to the end
  /// of this one: while it trains, the way has no queue that its own upload makes. kUnknownFigure:
  /// no probe.
  int64_t probe_round_trip_ns = kUnknownFigure;
  // of the worker
  int64_t threads = 0;  // 0: not known
  int64_t visible_cores = 1;
  int64_t usable_cores = 1;
  double quota_cores = 0;  // 0: none
};

/// The phases in which a worker can be slow by itself, in the order of a round: evaluate, train,
/// encode, upload, download, apply, verify. Waiting for others is never among them.
std::span<const Phase> OwnPhases();

using FactsByWorker = std::map<int32_t, PhaseFacts>;
using FactsByPhase = std::map<Phase, FactsByWorker>;

/// The tables, ready to say what is known of a round.
class FactsSource {
 public:
  /// The tables outlive it.
  explicit FactsSource(const CauseTables& tables);
  ~FactsSource();

  /// All rounds that have spans of workers, ascending.
  std::vector<uint32_t> Rounds() const;
  /// Left out: phases that failed, and what a worker did before it began to train for the round a
  /// second time.
  FactsByPhase OfRound(uint32_t round) const;

 private:
  struct Process;  // one worker's account
  std::map<int32_t, Process> processes_;
  std::vector<const Span*> spans_;                            // of workers' own phases, by round
  std::map<std::pair<int32_t, uint32_t>, uint64_t> samples_;  // by worker and round
  std::map<std::pair<int32_t, uint32_t>, int64_t> waited_;    // likewise: the last training's
};

/// The worker with the median busy time, the lower of the middle two where their number is even (of
/// two workers: the quicker one). Nothing of an empty map.
const PhaseFacts* MedianWorker(const FactsByWorker& facts);

}  // namespace interlude
