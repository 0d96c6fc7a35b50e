#include "analysis/run_clocks.h"

#include "analysis/run_paths.h"

namespace interlude {

RunClocks::RunClocks(const std::vector<ClockRecord>& records) {
  for (const ClockRecord& record : records)
    (record.round ? live_[*record.round] : final_).push_back(record);
}

std::vector<ClockEstimate> RunClocks::For(const RoundRecord& round) const {
  std::vector<ClockRecord> known = final_;
  if (const auto live = live_.find(round.round); live != live_.end())
    known.insert(known.end(), live->second.begin(), live->second.end());
  return ClocksFor(round, known);
}

}  // namespace interlude
