// The critical paths of the rounds of a run. Pure; any thread.
#pragma once

#include <map>
#include <memory_resource>
#include <span>
#include <string>
#include <vector>

#include "analysis/round_path.h"
#include "analysis/run_clocks.h"
#include "ledger/run_database.h"

namespace interlude {

/// What the rounds of a run have in common, for finding their paths one by one.
class RunPaths {
 public:
  /// The arguments are a run database's rows. Of the samples those of the rounds that are asked
  /// for will do.
  RunPaths(const std::vector<WorkerRecord>& workers, std::vector<EventRecord> events,
           const std::map<std::string, std::string>& meta, const std::vector<ClockRecord>& clocks,
           std::span<const ProcessSample> samples);

  /// Of one round, from its own records; `memory` as in RoundRecords. Cost: with n records and
  /// dependencies n log n.
  RoundPath Find(const RoundRecord& round, std::span<const Span> spans,
                 std::span<const ChunkStamps> stamps,
                 std::pmr::memory_resource* memory = std::pmr::get_default_resource()) const;

 private:
  std::vector<EventRecord> events_;  // by time
  RunClocks clocks_;
  std::map<int32_t, int32_t> threads_;
  ThrottlingByWorker throttling_;
  bool barrier_ = false;
};

}  // namespace interlude
