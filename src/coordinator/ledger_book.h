// Gathers what belongs to each round (reports, spans, times) and writes it to run.db when the round
// has ended. Owned by the round thread.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "coordinator/chunk_merge.h"
#include "coordinator/clock_book.h"
#include "coordinator/coordinator.h"
#include "ledger/recorder.h"
#include "ledger/run_database.h"
#include "protocol/round_exchange.h"
#include "wire/messages.h"

namespace interlude {

/// Kind of the event that a worker's wrong update or message leaves.
inline constexpr char kRefusedEvent[] = "refused";

class LedgerBook {
 public:
  /// A database that fails (a full disk) is logged once and the run goes on, writing what it can:
  /// the account is worth less than the model. `failed()` says so. Clock probes that the database
  /// holds already, of the run before the coordinator was killed, count.
  LedgerBook(std::unique_ptr<RunDatabase> database, Recorder& recorder, const Clock& clock);

  void Meta(const std::string& key, const std::string& value);
  /// What Meta stored, also before the coordinator was killed; empty: nothing.
  std::string MetaText(const std::string& key);
  void Joined(WorkerId worker, const JoinMessage& join);
  /// The worker that joined has made its model and chosen its threads.
  void Ready(WorkerId worker, int32_t threads);
  /// How many pictures of each class it has; kNoWorker: one data set, split among all. Counts that
  /// replace others leave an event.
  void Counted(WorkerId worker, const ClassCounts& counts);
  /// What Counted stored, also before the coordinator was killed; empty: nothing.
  ClassCounts CountsOf(WorkerId worker);
  void Left(WorkerId worker, const std::string& reason);
  void Event(const std::string& kind, WorkerId worker, const std::string& text);

  /// The run goes on after so many rounds: the coordinator was started again.
  void Restored(uint32_t committed_rounds);
  /// Rounds up to this one may have spans.
  void RoundStarted(uint32_t round) { newest_ = round; }
  /// What a worker recorded, as it sent it; it is the worker's whatever it claims, and spans and
  /// stamps of rounds that have not started are dropped.
  void WorkerAccount(WorkerId worker, Account account);
  /// What the merge of a chunk did to each contributor.
  void Merged(uint32_t round, const std::vector<WorkerId>& contributors, const MergeReport& report);
  /// A second report of a worker for a round counts for nothing, and of one for a round that has
  /// ended only the account.
  void Report(WorkerId worker, RoundReportMessage report);

  /// Writes the round and returns its line for the observer.
  RunObserver::RoundLine EndRound(const RoundExchange& exchange, const Hash128& root,
                                  uint32_t rounds);
  void Evaluation(const EvaluationRecord& evaluation);
  /// Writes what is left over, and the final estimates of the workers' clocks; called when nobody
  /// records any more.
  void Close();

  bool failed() const { return failed_; }

 private:
  /// What the merges did to a worker's delta.
  struct MergedShare {
    uint32_t chunks = 0;
    uint32_t scaled_chunks = 0;
    double cut_shares = 0;  // sum over the chunks
  };
  struct OpenRound {
    std::vector<WorkerRoundRecord> workers;
    std::map<WorkerId, MergedShare> merged;
    Account account;
    double loss_sum = 0;  // over samples
  };
  void Check(const Status& status);
  void Sort(Account account);
  void StoreClocks(const RoundRecord& round, const std::vector<WorkerRoundRecord>& workers);

  const std::unique_ptr<RunDatabase> database_;
  Recorder& recorder_;
  const Clock& clock_;
  std::map<WorkerId, WorkerRecord> joined_;  // who is here
  std::map<uint32_t, OpenRound> open_;
  ClockBook clocks_;
  /// How much each worker has sent since a round ended last, and the most that is kept of it.
  static constexpr size_t kMostEntriesOfAWorker = 6 * kMaxStamps;
  std::map<WorkerId, size_t> taken_;
  uint32_t first_open_ = kFirstRound;
  uint32_t newest_ = kBeforeRounds;
  Account loose_;  // of no round, or of rounds that were written already
  bool failed_ = false;
};

}  // namespace interlude
