// Adds up the workers' parts of an evaluation. Owned by the round thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "base/status.h"
#include "ledger/run_database.h"
#include "protocol/types.h"
#include "wire/messages.h"

namespace interlude {

class EvaluationTally {
 public:
  /// An evaluation after `after_rounds` rounds begins; these workers each score a part, which
  /// together are all test samples, or not.
  void Begin(uint32_t after_rounds, const std::vector<WorkerId>& workers, bool are_all = true);
  /// Whether parts of it are awaited and none lacks.
  bool MayBecomeWhole(uint32_t after_rounds) const;
  /// FailedPrecondition when no part of this worker is awaited. Details (top 5, confused classes)
  /// are kept where all parts have them, of the same classes.
  Status Report(WorkerId worker, const EvaluationReportMessage& report);
  /// Its awaited parts will not come: the evaluation is completed without them.
  void WorkerLeft(WorkerId worker);
  struct Complete {
    EvaluationRecord record;
    bool whole = true;  // of all test samples
  };
  /// An evaluation whose parts are all in or given up, once each; without samples it is passed
  /// over.
  std::optional<Complete> TakeComplete();

 private:
  struct Open {
    std::set<WorkerId> awaited;
    bool whole = true;
    uint64_t correct = 0;
    uint64_t samples = 0;
    double loss_sum = 0;
    bool has_details = true;  // all parts told what follows
    uint32_t classes = 0;
    uint64_t top5 = 0;
    Confusion confusion;
  };
  static void AddDetails(const EvaluationReportMessage& report, Open& open);

  std::map<uint32_t, Open> open_;
};

}  // namespace interlude
