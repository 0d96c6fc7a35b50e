// What run.db holds of one round, put in order: when each chunk went through each phase, by phase
// and worker. Raw times, each on the clock of the process that recorded it. Plain values; any
// thread.
#pragma once

#include <cstdint>
#include <map>
#include <memory_resource>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "analysis/activity_graph.h"
#include "analysis/throttling.h"
#include "ledger/chunk_stamps.h"
#include "ledger/clock_probe.h"
#include "ledger/run_database.h"
#include "ledger/span.h"

namespace interlude {

/// All records of one round. What belongs to another round is no harm and is left out.
struct RoundRecords {
  RoundRecord round;
  std::span<const Span> spans;
  std::span<const ChunkStamps> stamps;
  std::span<const EventRecord> events;    // of any time
  std::span<const ClockEstimate> clocks;  // for this round; of several of a worker the last counts
  bool barrier = false;                   // `exchange` in meta
  /// Of the pools, where they are known: by worker, and the coordinator's under kNoWorker.
  std::map<int32_t, int32_t> threads = {};
  /// Of workers with a quota; outlives the records. Null: nothing is known of any.
  const ThrottlingByWorker* throttling = nullptr;
  /// For what is needed meanwhile; no result is in it.
  std::pmr::memory_resource* memory = std::pmr::get_default_resource();
};

/// The records of a round by phase and worker. A phase that has no stamps counts with its spans,
/// each as one stamp of kNoChunk. What cannot be is left out: an end before its begin, times beyond
/// 36 years.
class PhaseTimes {
 public:
  explicit PhaseTimes(const RoundRecords& records);

  /// In order of their ends. `worker` recorded a worker's phase; a coordinator's is about it
  /// (kNoWorker: about none).
  std::span<const ChunkStamp> Of(Phase phase, int32_t worker) const;
  /// Brings what `worker` itself recorded onto another clock.
  void Shift(int32_t worker, int64_t shift_ns);
  /// Whoever recorded anything or is told of, ascending.
  const std::set<int32_t>& workers() const { return workers_; }
  /// Some phase that works chunk by chunk has no stamps.
  bool coarse() const { return coarse_; }
  /// Where they are.
  std::pmr::memory_resource* memory() const { return stamps_.get_allocator().resource(); }
  /// How many stamps there are.
  size_t size() const { return stamps_.size(); }

 private:
  using Key = std::pair<Phase, int32_t>;
  /// A phase of a worker: a part of stamps_.
  struct Series {
    Key key;
    size_t begin, end;
  };
  void AddStamps(const RoundRecords& records);
  /// Where there are no stamps.
  void AddSpans(const RoundRecords& records);
  /// What stands from `begin` on is the key's: the last series', where that is its own.
  void ExtendSeries(const Key& key, size_t begin);

  std::pmr::vector<ChunkStamp> stamps_;
  std::pmr::vector<Series> series_;  // by key
  std::set<int32_t> workers_;
  bool coarse_ = false;
};

}  // namespace interlude
