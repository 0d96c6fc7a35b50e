// What a run database says about a run, as numbers: per round, per phase, per worker and in all.
// Only durations measured inside one process, and the coordinator's own events, are used: the
// clocks of different processes are not compared, but for the critical paths. Plain values.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "analysis/findings.h"
#include "analysis/round_path.h"
#include "analysis/spread.h"
#include "ledger/run_database.h"
#include "ledger/span.h"

namespace interlude {

/// One phase of one round over the processes that recorded it: the workers, or for a coordinator's
/// phase that is done per worker (receive, journal, send) those workers. Phases run in parallel:
/// they do not add up.
struct PhaseSummary {
  Phase phase = Phase::kTrain;
  Spread
      inside_seconds;   // from the phase's first beginning to its last end; this is "the" duration
  Spread busy_seconds;  // the part of it spent in the phase itself, not between its chunks
  Spread cpu_seconds;   // on a CPU, all threads
  Spread run_delay_seconds;  // runnable but waiting for a CPU
  double bytes = 0;          // sum over the processes
  double failed = 0;         // spans that ended in failure

  size_t processes() const { return inside_seconds.count; }
};

/// The round's wall time in four pieces that add up to it, by the coordinator's own events.
struct RoundStages {
  double until_first_delta_seconds =
      0;  // round's begin to the first delta chunk: the quickest worker's computing
  double deltas_arriving_seconds =
      0;  // first delta chunk to the last: waiting for slower workers, and upload
  double until_committed_seconds = 0;  // last delta chunk to all chunks merged
  double until_verified_seconds =
      0;  // merged to the last worker's report that it applied and verified
};

struct RoundSummary {
  uint32_t round = 0;  // from 1
  double wall_seconds = 0;
  uint32_t workers = 0;
  uint64_t samples = 0;
  double mean_loss = 0;
  std::optional<double> accuracy;  // of the evaluation made right after this round

  /// Of the worker whose training took longest; absent when no worker recorded training.
  std::optional<double> slowest_train_seconds;
  std::optional<int32_t> slowest_worker;
  /// ExchangeSecondsByWorker, over workers; count 0 when no worker has a figure.
  Spread exchange_of_workers;
  /// The smallest of them, which leaves out waiting for slower workers.
  std::optional<double> exchange_seconds() const { return MinOf(exchange_of_workers); }
  /// Training's share of the round, over workers; not above 1. (A worker may begin to train before
  /// the coordinator has heard the last report of the round before, so the quotient can exceed 1 by
  /// a hair.)
  Spread train_share;

  Spread upload_bytes;    // payload, over workers
  Spread download_bytes;  // payload, over workers
  uint64_t repaired_chunks = 0;
  std::string root_hash;
  std::vector<int32_t> disagreeing_workers;  // whose root hash is another one
  std::vector<int32_t> unverified_workers;   // who contributed and never said their root hash
  std::optional<RoundStages> stages;         // absent when the events are not in order
  std::optional<double>
      first_sync_after_last_delta_seconds;  // negative when syncing began while deltas arrived
  std::vector<PhaseSummary> phases;         // in the order of kAllPhases
};

/// One worker over the run. Medians are over rounds, without the first when there are more.
struct WorkerSummary {
  WorkerRecord record;
  uint32_t rounds = 0;
  uint64_t samples = 0;
  uint64_t repaired_chunks = 0;
  double train_seconds = 0;
  double encode_seconds = 0;
  double apply_seconds = 0;
  double run_delay_seconds = 0;  // of all its phases of a round together
  double train_share = 0;
};

/// Medians over rounds, without the first when there are more (it warms connections, caches and
/// memory).
struct TypicalRound {
  uint32_t rounds = 0;  // that the medians are over
  double wall_seconds = 0;
  double slowest_train_seconds = 0;
  Spread exchange_of_workers;  // medians of the rounds' minimum, median and maximum
  std::optional<double> exchange_seconds() const { return MinOf(exchange_of_workers); }
  double slowest_train_share = 0;
  double upload_bytes = 0;    // a worker
  double download_bytes = 0;  // a worker
  std::optional<RoundStages> stages;
  /// Each figure is the median over the rounds in which the phase occurred.
  std::vector<PhaseSummary> phases;
};

/// Rounds whose spans and stamps a summary keeps.
inline constexpr size_t kDrawnRounds = 24;
inline constexpr size_t kMostUnrecorded = 10'000;

struct RunSummary {
  std::map<std::string, std::string> meta;
  std::vector<PhaseSummary> before_rounds;  // making models and data ready, sharing the first base
  std::vector<RoundSummary> rounds;
  std::vector<RoundPath> paths;          // of the same rounds, in the same order
  std::vector<WorkerRoundCause> causes;  // why a worker was slow in a round, by round and worker
  Excesses excesses;                     // of all, slow or not
  std::vector<Finding> findings;         // what saves most first
  /// Committed rounds without a record, the first kMostUnrecorded of them: the coordinator was
  /// killed before it had written them.
  std::vector<uint32_t> unrecorded_rounds;
  TypicalRound typical;
  std::vector<WorkerSummary> workers;
  std::vector<EvaluationRecord> evaluations;
  EvaluationRecord final_evaluation;     // the last with samples
  std::vector<std::string> class_names;  // by label; empty: not known
  /// What workers have, by worker; one of kNoWorker: a data set that is split among all.
  std::vector<ClassCountsRecord> class_counts;
  std::vector<EventRecord> events;
  int64_t begin_ns = 0;     // of the first round, on the coordinator's clock
  double wall_seconds = 0;  // first round's begin to last round's end
  /// For views that draw it, as it was recorded: spans and stamps of the last kDrawnRounds rounds,
  /// all samples and records of memory.
  Account records;
  double gap_seconds = 0;  // of it, in no round; 0 when the rounds tile the run
  double slowest_train_seconds =
      0;  // sum over rounds: the part of wall_seconds that trained at the slowest worker
  std::optional<double> exchange_seconds;  // sum over the rounds that have a figure
  uint64_t samples = 0;
  double samples_per_second = 0;  // samples / wall_seconds
  uint64_t upload_bytes = 0;      // all workers, all rounds
  uint64_t download_bytes = 0;
  uint64_t repaired_chunks = 0;
  uint32_t workers_left = 0;
  std::optional<double> final_accuracy;  // of the last evaluation
  std::optional<double> final_loss;      // of the last round, over training samples
  bool hashes_agree = true;              // no worker said another root hash than its round's
  uint64_t impossible_spans = 0;         // ended before they began; left out of everything
};

}  // namespace interlude
