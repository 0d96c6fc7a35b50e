// From a run's run.db to the figures of its exchange: per round and per process. Reads; prints
// nothing.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "ledger/run_database.h"

namespace interlude {

/// One process's part in one phase of one round; spans of the same phase are added up.
struct ProcessPhase {
  Phase phase = Phase::kTrain;
  int32_t recorded_by = kNoWorker;   // the coordinator's is kNoWorker
  int32_t about_worker = kNoWorker;  // of receive, journal and send
  double inside_seconds = 0;         // first beginning to last end
  double busy_seconds = 0;
  double cpu_seconds = 0;
  double run_delay_seconds = 0;
  uint64_t bytes = 0;
};

struct ExchangeRound {
  uint32_t round = 0;
  double wall_seconds = 0;
  int64_t end_ns = 0;  // on the coordinator's clock
  /// ExchangeSecondsByWorker: from the end of a worker's local steps to the end of its last phase.
  std::map<int32_t, double> exchange_seconds;
  /// From the beginning of the merging of the first chunk to the first sync chunk on its way to a
  /// worker: an upper bound of what lies between aggregation and sync. Contains that chunk's
  /// merging, with a barrier that of all chunks.
  std::optional<double> merge_to_sync_seconds;
  std::map<int32_t, uint64_t> upload_bytes;    // payload, by worker
  std::map<int32_t, uint64_t> download_bytes;  // payload, by worker
  uint64_t repaired_chunks = 0;
  std::vector<ProcessPhase> phases;  // in the order of kAllPhases, then by process

  /// The longest of the workers', which counts what each does while another still trains.
  std::optional<double> longest_exchange() const;
  std::optional<double> shortest_exchange() const;
};

struct ExchangeSummary {
  std::vector<ExchangeRound> rounds;
  bool hashes_agree = true;  // every worker said its round's root hash
  std::string final_root;

  /// The rounds that medians are over: all but the first, which touches pages for the first time;
  /// the first where there is no other.
  std::vector<const ExchangeRound*> warm() const;
  /// The median of `get` over warm(), of those where it is something.
  std::optional<double> Typical(
      const std::function<std::optional<double>(const ExchangeRound&)>& get) const;
};

/// The database's errors; FailedPrecondition when it holds no finished round.
StatusOr<ExchangeSummary> SummarizeExchange(const RunDatabase& database);

/// A stage of the exchange over the processes that do it side by side, and what it took in one
/// round: the longest of them.
struct StageTime {
  double inside_seconds = 0;
  double busy_seconds = 0;
  double cpu_seconds = 0;  // of all processes together
};

/// The stages of ExchangeBytes by the same names ("encode", "upload", "merge", "download", "apply")
/// and, beside them, "wait", "receive", "journal", "send" and "save". A stage of several phases
/// (apply with verify) is busy for their sum.
std::optional<StageTime> StageOf(const ExchangeRound& round, const std::string& stage);

/// The names that StageOf knows, in the order of a table.
const std::vector<std::string>& StageNames();

}  // namespace interlude
