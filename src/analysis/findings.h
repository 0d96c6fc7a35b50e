// Findings: short statements about a run, each with its figures, its grade, the records behind it,
// what mending it would save and what to try. A run in which nothing stands out has none. Pure
// functions; any thread.
#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/causes.h"

namespace interlude {

/// What a finding rests on.
struct FindingTables {
  CauseTables tables;
  std::span<const EventRecord> events;
  std::span<const ClockRecord> clocks;
  uint64_t parameters = 0;  // of the model; 0: not known
  std::string_view config;  // the run's whole TOML; empty: not known
};

/// The time of one kind of piece on the critical path of one round; the pieces of a round sum to
/// it. `what` are the names of JSON: "train", "merge", "unexplained", ...
struct PathShare {
  uint32_t round = 0;
  std::string_view what;
  int32_t worker = kNoWorker;
  int64_t ns = 0;
};

struct Finding {
  std::string id;  // short and stable: "straggler_quota_encode", "save_on_path"
  /// Whom it is about; none: the whole run or the coordinator. Two findings of one id may be about
  /// different workers.
  std::set<int32_t> workers;
  std::string text;
  Grade grade = Grade::kHypothesis;
  /// What a round would be shorter if this were mended: the mean over the measured rounds, which
  /// are all but the first when there are more. 0: not known.
  int64_t saves_ns_per_round = 0;
  double round_share = 0;  // of the measured rounds' wall time
  std::vector<std::string> evidence;
  std::string records;  // an SQL query on run.db that shows them
  std::string try_this;
};

/// Sorted by what they save; wrong results come before all others. `path` may be empty: then
/// nothing is said of what stands on the critical path. `drags` may be empty: DragsFromExcess is
/// used.
std::vector<Finding> FindFindings(const FindingTables& input,
                                  const std::vector<WorkerRoundCause>& causes, Drags drags,
                                  std::span<const PathShare> path);

/// "worker 3", "workers 3 and 7", "workers 1, 3 and 7".
std::string WorkersText(const std::set<int32_t>& workers);

}  // namespace interlude
