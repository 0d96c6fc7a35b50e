#include "analysis/run_clocks.h"

#include <map>
#include <optional>

#include "analysis/round_clock.h"

namespace interlude {
namespace {

/// Whether the two can both be right in this round.
bool Agree(const ClockEstimate& a, const ClockEstimate& b, const RoundRecord& round) {
  const std::optional<int64_t> shift_a = ShiftAt(a, round);
  const std::optional<int64_t> shift_b = ShiftAt(b, round);
  if (!shift_a || !shift_b) return shift_a.has_value();
  const auto apart = static_cast<__int128>(*shift_a) - *shift_b;
  return (apart < 0 ? -apart : apart) <= static_cast<__int128>(a.error_ns) + b.error_ns;
}

}  // namespace

std::vector<ClockEstimate> ClocksFor(const RoundRecord& round,
                                     const std::vector<ClockRecord>& clocks) {
  std::map<int32_t, ClockEstimate> then, final;
  for (const ClockRecord& clock : clocks) {
    if (!clock.round) final[clock.estimate.worker] = clock.estimate;
    if (clock.round == round.round) then[clock.estimate.worker] = clock.estimate;
  }
  std::vector<ClockEstimate> chosen;
  for (const auto& [worker, estimate] : final) {
    const auto live = then.find(worker);
    if (live != then.end() && !Agree(estimate, live->second, round)) continue;
    chosen.push_back(estimate);
    if (live != then.end()) then.erase(live);
  }
  for (const auto& [worker, estimate] : then) chosen.push_back(estimate);
  return chosen;
}

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
